"""Prometheus and promtool out of Debian's package, unpacked and not installed: no service is started and nobody has to be root."""

import fcntl
import glob
import os
import shutil
import subprocess


def _apt(directory, *arguments):
    """apt-get with lists of its own, so that it works without root and on a machine whose lists are empty."""
    state, cache = os.path.join(directory, "state"), os.path.join(directory, "cache")
    os.makedirs(os.path.join(state, "lists", "partial"), exist_ok=True)
    os.makedirs(os.path.join(cache, "archives", "partial"), exist_ok=True)
    return subprocess.run(["apt-get", "-q", "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={cache}",
                           "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", *arguments],
                          cwd=directory, capture_output=True, text=True, check=False)


def _unpack(directory):
    """Why it cannot be had; empty: it is there."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "Prometheus comes from Debian's package, and this is no Debian"
    os.makedirs(directory, exist_ok=True)
    for step in (["update"], ["download", "prometheus"]):
        result = _apt(directory, *step)
        if result.returncode != 0:
            reason = (result.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            return f"apt-get {' '.join(step)}: {reason[-300:]}"
    package = glob.glob(os.path.join(directory, "prometheus_*.deb"))[0]
    unpacked = os.path.join(directory, "unpacking")
    shutil.rmtree(unpacked, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    os.rename(unpacked, os.path.join(directory, "root"))
    return ""


def find(directory):
    """((prometheus, promtool), ""): the installed ones, or those unpacked in `directory`. (None, why) if there are none."""
    installed = shutil.which("prometheus"), shutil.which("promtool")
    if all(installed):
        return installed, ""
    programs = tuple(os.path.join(directory, "root", "usr", "bin", name) for name in ("prometheus", "promtool"))
    os.makedirs(os.path.dirname(os.path.abspath(directory)), exist_ok=True)
    with open(os.path.abspath(directory) + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not all(map(os.path.exists, programs)):
            reason = _unpack(directory)
            if reason:
                return None, reason
    return programs, ""
