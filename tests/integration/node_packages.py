"""npm's packages of tests, every version pinned by a package-lock.json. Without node or a registry a test is skipped."""

import fcntl
import hashlib
import os
import shutil
import subprocess

from client_packages import skip

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST_NODE = 18


def node_version():
    """The first number of it."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.lstrip("v").split(".")[0])


def find_node():
    for name in ("node", "npm"):
        if shutil.which(name) is None:
            skip(f"there is no {name} on the path; Debian's packages nodejs and npm have it")
    if node_version() < OLDEST_NODE:
        skip(f"node is {node_version()}, but the packages need {OLDEST_NODE} or newer")


def install(folder, directory):
    """What the lock file in `folder`, one of this folder's, lists, into `directory`, beside copies of all that `folder` has: modules
    are looked for from where a script lies."""
    find_node()
    sources = os.path.join(HERE, folder)
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        with open(os.path.join(sources, name), "rb") as file:
            digest.update(file.read())
    stamp = os.path.join(directory, "installed-" + digest.hexdigest()[:16])
    os.makedirs(directory, exist_ok=True)
    with open(directory + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in os.listdir(sources):
            shutil.copy(os.path.join(sources, name), directory)
        if os.path.exists(stamp):
            return
        npm = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                             cwd=directory, capture_output=True, text=True, check=False)
        if npm.returncode != 0:
            reason = " ".join((npm.stderr.strip() or "it gave no reason").split())
            skip(f"npm could not install what tests/integration/{folder}/package-lock.json lists: {reason[:300]}")
        with open(stamp, "w", encoding="utf-8"):
            pass
