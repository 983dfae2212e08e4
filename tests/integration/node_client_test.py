"""The official packages of OpenAI and Ollama for Node, and Vercel's AI SDK, against a weft process:
`node_client_test.py --weft BINARY --model MODEL --modules DIRECTORY --venv DIRECTORY`.

The packages are installed with npm, pinned by node/package-lock.json, into DIRECTORY on the first run. The test is skipped where
there is no node, or no registry."""

import fcntl
import hashlib
import os
import shutil
import subprocess

from client_packages import skip
from harness import ServedCase, main, options

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node")
OLDEST_NODE = 18


def find_node():
    for name in ("node", "npm"):
        if shutil.which(name) is None:
            skip(f"there is no {name} on the path; Debian's packages nodejs and npm have it")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        skip(f"node is {version}, but the packages need {OLDEST_NODE} or newer")


def install(directory):
    """Beside the tests' copies, because modules are looked for from where a script lies."""
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        with open(os.path.join(SOURCES, name), "rb") as file:
            digest.update(file.read())
    stamp = os.path.join(directory, "installed-" + digest.hexdigest()[:16])
    os.makedirs(directory, exist_ok=True)
    with open(directory + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in os.listdir(SOURCES):
            shutil.copy(os.path.join(SOURCES, name), directory)
        if os.path.exists(stamp):
            return
        npm = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                             cwd=directory, capture_output=True, text=True, check=False)
        if npm.returncode != 0:
            reason = " ".join((npm.stderr.strip() or "it gave no reason").split())
            skip(f"npm could not install what tests/integration/node/package-lock.json lists: {reason[:300]}")
        with open(stamp, "w", encoding="utf-8"):
            pass


class NodeClient(ServedCase):
    def run_tests(self, script):
        environment = {**os.environ, "WEFT_URL": f"http://127.0.0.1:{self.server.port}"}
        done = subprocess.run(["node", "--test", script], cwd=options.modules, env=environment,
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])

    def test_openai(self):
        self.run_tests("openai.test.mjs")

    def test_ollama(self):
        self.run_tests("ollama.test.mjs")

    def test_ai_sdk(self):
        self.run_tests("ai-sdk.test.mjs")


def prepare():
    find_node()
    install(os.path.abspath(options.modules))


if __name__ == "__main__":
    main("model", "modules", "venv", packages_required=False, prepare=prepare)
