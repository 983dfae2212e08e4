"""Python packages of tests, from PyPI, every version pinned: those of the clients in requirements.txt, one virtual environment for
all their tests, made on the first run; those that cannot stand beside them in agent_requirements.txt. Without a registry a test is
skipped (exit status 77) and says so."""

import fcntl
import hashlib
import os
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "requirements.txt")
AGENT_REQUIREMENTS = os.path.join(HERE, "agent_requirements.txt")
SKIPPED = 77


def skip(reason):
    """Ends the test; ./weft test repeats the reason at its end."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def make_venv(directory, requirements=REQUIREMENTS):
    """The environment's Python; None, and why, if it cannot be made."""
    with open(requirements, "rb") as file:
        stamp = os.path.join(directory, "installed-" + hashlib.sha256(file.read()).hexdigest()[:16])
    python = os.path.join(directory, "bin", "python")
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    with open(directory + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if os.path.exists(stamp):
            return python, ""
        venv.create(directory, with_pip=True, clear=True)
        install = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements],
                                 capture_output=True, text=True, check=False)
        if install.returncode != 0:
            reason = (install.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            return None, f"pip could not install what {os.path.relpath(requirements)} lists: {reason[-300:]}"
        with open(stamp, "w", encoding="utf-8"):
            pass
    return python, ""


def enter_venv(directory, required=True, requirements=REQUIREMENTS):
    """Runs this script again inside the environment at `directory`, which has the `requirements`. Where that cannot be had the test
    is skipped or, if the packages are not `required`, goes on without them and says so."""
    if os.path.realpath(sys.prefix) == os.path.realpath(directory):
        return
    python, reason = make_venv(os.path.abspath(directory), requirements)
    if python is not None:
        os.execv(python, [python, *sys.argv])
    if required:
        skip(reason)
    print(f"skipped: the check against proto/openapi.json: {reason}")
