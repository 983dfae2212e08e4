#!/usr/bin/env python3
"""How long README's first screen takes somebody who has nothing yet: in fresh Debian systems, one with a clone of this
repository, one with the package, from the command until the page is there and until a chat has its first answer.

usage: measure_first_answer.py [--deb build/packages/weft_0.1.0_amd64.deb] [--folder build/first-answer]

Needs root, debootstrap, and for --deb what `./weft package` made. The systems are made anew, apart from the time that is
measured; what they download comes from Debian's mirror, so that its speed is part of the figures.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/packages"))
import fresh_system  # noqa: E402 pylint: disable=wrong-import-position
from fresh_system import FreshSystem  # noqa: E402 pylint: disable=wrong-import-position

PORT = 18088
URL = f"http://127.0.0.1:{PORT}"
TIMEOUT_S = 3600
QUESTION = {"messages": [{"role": "user", "content": "Tell me a tale about a fox."}]}
# What the launcher and the server say, by which the time is divided.
MARKS = ((r"^weft: installing ", "packages"), (r"^weft: configuring ", "configuring"), (r"^weft: building ", "building"))


def fetch(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "text/html"} if body is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, data, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def walk(system, directory, command):
    """Runs the command as a newcomer would, and asks as soon as somebody answers; prints the seconds."""
    begun = time.monotonic()
    log = system.path("/first-answer.log")
    with open(log, "w", encoding="utf-8") as output:
        with subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={system.path('/proc')}",
                               "chroot", system.root, *fresh_system.IN_ITS_ENVIRONMENT, "HOME=/root", "sh", "-c",
                               f"cd {directory} && {command}"], stdout=output, stderr=output) as process:
            try:
                marks = wait_for_page(process, log, begun)
                page_s = time.monotonic() - begun
                answer = json.loads(fetch("/v1/chat/completions", QUESTION))["choices"][0]["message"]["content"]
                answered_s = time.monotonic() - begun
            finally:
                process.kill()
    for name, at_s in marks:
        print(f"  {at_s:6.1f} s  {name} begins")
    print(f"  {page_s:6.1f} s  the page is there\n  {answered_s:6.1f} s  answered: {answer[:60]!r}...")


def wait_for_page(process, log, begun):
    """[(name, seconds)] of what the log has said until then."""
    marks = []
    while True:
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for pattern, name in MARKS:
            if re.search(pattern, text, re.MULTILINE) and name not in [known for known, _ in marks]:
                marks.append((name, time.monotonic() - begun))
        try:
            if "<title>Weft" in fetch("/"):
                return marks
        except (urllib.error.URLError, ConnectionError):
            pass
        if process.poll() is not None or time.monotonic() - begun > TIMEOUT_S:
            sys.exit(f"no page; the end of {log}:\n{text[-3000:]}")
        time.sleep(0.05)


def fresh(folder):
    return FreshSystem(fresh_system.make(folder, "bookworm"), os.path.join(folder, "system"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deb", help="the package; without it, only the clone is tried")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/first-answer"), help="where the systems lie")
    arguments = parser.parse_args()
    folder = os.path.abspath(arguments.folder)
    if arguments.deb:
        with fresh(folder) as system:
            subprocess.run(["cp", arguments.deb, system.path("/root/weft.deb")], check=True)
            subprocess.run(["cp", "/etc/resolv.conf", system.path("/etc/resolv.conf")], check=True)
            print("the package: apt-get update && apt-get install ./weft.deb && weft serve", flush=True)
            walk(system, "/root", "apt-get update -q && apt-get install -q -y --no-install-recommends ./weft.deb && "
                                  f"exec weft serve --port {PORT}")
    with fresh(folder) as system:
        subprocess.run(["git", "clone", "--quiet", ROOT, system.path("/root/weft")], check=True)
        subprocess.run(["cp", "/etc/resolv.conf", system.path("/etc/resolv.conf")], check=True)
        print("the clone: ./weft serve", flush=True)
        walk(system, "/root/weft", f"exec ./weft serve --port {PORT}")


if __name__ == "__main__":
    main()
