#!/usr/bin/env python3
"""usage: package_test.py [--packages DIRECTORY]
Tries the packages that `./weft package` made: Debian's lintian reads the .deb, a fresh system installs, runs and removes it, and an
older system runs the archive. A line for each check, and exit status 1 if one failed. Needs root."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import fresh_system
from fresh_system import FreshSystem

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
UNIT = "usr/lib/systemd/system/weft.service"
DROP_IN = "etc/systemd/system/weft.service.d"
STAFF = 50  # the number that Debian gives the group
GENERATE = ("generate", "--prompt", "Once upon a time", "-n", "16", "--temperature", "0")
# A Hub with one model; the first argument is where small_hub.py is, the second the model's file.
HUB = """import sys
sys.path.insert(0, sys.argv[1])
from small_hub import SmallHub
with open(sys.argv[2], "rb") as file, SmallHub({"test/tale": {"tale.gguf": file.read()}}) as hub:
    print(hub.endpoint, flush=True)
    sys.stdin.read()
"""
# What systemd and dpkg write down of every service and package, and do not take back.
LOGS_AND_NOTES = re.compile(r"/(var/(log|cache|tmp|lib/(dpkg|apt|systemd))|run|tmp|proc|sys|dev)(/|$)")


class Failure(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Failure(message)


def succeed(result):
    code, output = result
    require(code == 0, f"exit status {code}: {output}")
    return output


def wait_until(condition, what, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not condition():
        require(time.monotonic() < deadline, f"not within {timeout_s} s: {what}")
        time.sleep(0.1)


class PackageTest:
    def __init__(self, packages, scratch, weft):
        self.systems = os.path.join(packages, "systems")
        self.scratch = scratch
        self.weft = weft  # the binary that the packages have
        self.deb = self.only(packages, "weft_*_amd64.deb")
        self.archive = self.only(packages, "weft-*-linux-x86_64.tar.gz")

    @staticmethod
    def only(folder, pattern):
        found = glob.glob(os.path.join(folder, pattern))
        require(len(found) == 1, f"expected one {pattern} in {folder}, found {found}")
        return found[0]

    def here(self):
        """What the binary says without any package."""
        return subprocess.run([self.weft, *GENERATE], stdout=subprocess.PIPE, check=True, text=True).stdout

    # ---- the .deb ----

    def check_lintian(self):
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", self.deb], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        require(done.returncode == 0 and not re.search("^[EW]:", done.stdout, re.MULTILINE), done.stdout)
        return "no error, no warning"

    def check_contents(self):
        listing = subprocess.run(["dpkg-deb", "--contents", self.deb], stdout=subprocess.PIPE, text=True, check=True).stdout
        files = [line.split(None, 5) for line in listing.splitlines()]
        for mode, owner, _, _, _, path in files:
            programs = path.startswith("./usr/bin/") and not path.endswith("/")
            expected = "drwxr-xr-x" if path.endswith("/") else "-rwxr-xr-x" if programs else "-rw-r--r--"
            require((mode, owner) == (expected, "root/root"), f"{path}: {mode} {owner}")
        paths = {path for *_, path in files}
        for path in ("usr/bin/weft", "usr/bin/weft-loadtest", "usr/share/weft/weft-demo.gguf", UNIT, "etc/default/weft",
                     "usr/share/man/man1/weft-serve.1.gz", "usr/share/doc/weft/docs/OPERATIONS.md"):
            require("./" + path in paths, f"{path} is not there")
        return f"{len(files)} files and folders, of root, none that others may write"

    def check_service(self):
        template = fresh_system.make(self.systems, "bookworm", ["systemd", "systemd-sysv"])
        with FreshSystem(template, os.path.join(self.scratch, "bookworm")) as system:
            depends = subprocess.run(["dpkg-deb", "--field", self.deb, "Depends"], stdout=subprocess.PIPE, text=True, check=True)
            needed = [name.split()[0] for name in depends.stdout.split(",")]
            succeed(system.chroot("apt-get", "update"))
            succeed(system.chroot("apt-get", "install", "-y", "--no-install-recommends", *needed))
            before = files_of(system.root)
            os.link(self.deb, system.path("/root/weft.deb"))
            system.boot()
            said = []
            for part in (self.installed, self.confined, self.reconfigured, self.reloaded, self.fetches):
                try:
                    said.append(part(system))
                except Failure as error:
                    raise Failure(f"{error}; the service's log:\n{journal(system)}") from error
            succeed(system.booted("dpkg", "--remove", "weft"))
            require(system.booted("systemctl", "is-active", "weft")[0] != 0, "the service runs on, removed")
            require(os.path.exists(system.path("/etc/default/weft")), "dpkg --remove took the settings")
            require(not os.path.exists(system.path("/usr/share/weft")), "dpkg --remove left the model")
            succeed(system.booted("dpkg", "--purge", "weft"))
            os.remove(system.path("/root/weft.deb"))
            left = files_of(system.root) - before - {"/var/lib/private"}  # where systemd keeps what is of such users
            require(not left, f"left behind: {sorted(left)}")
        return "; ".join([*said, "removed and purged without a trace"])

    def installed(self, system):
        output = succeed(system.booted("dpkg", "--install", "/root/weft.deb"))
        require(not re.search("warning|error|failed", output, re.IGNORECASE), output)
        require(succeed(system.booted("systemctl", "is-enabled", "weft")) == "enabled\n", "not enabled")
        wait_until(lambda: is_ready(system), "ready once it is installed")
        text = succeed(system.booted("weft", *GENERATE))
        require(len(text) > 20 and text == self.here(), f"weft generate: {text!r}, and here {self.here()!r}")
        faults = succeed(system.booted("systemd-analyze", "verify", "--man=no", "/" + UNIT))
        require(faults == "", faults)
        return "installed, it serves, and generates the same text"

    def confined(self, system):
        pid = main_pid(system)
        status = succeed(system.booted("cat", f"/proc/{pid}/status"))
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        require(int(fields["Uid"].split()[0]) != 0 and int(fields["CapBnd"], 16) == 0 and fields["NoNewPrivs"] == "1"
                and fields["Seccomp"] == "2", status)
        environment = succeed(system.booted("cat", f"/proc/{pid}/environ"))
        require("HF_HOME=/var/lib/weft\0" in environment, environment)
        state = os.stat(system.path("/var/lib/private/weft"))
        require(state.st_uid == int(fields["Uid"].split()[0]), f"the state directory is of {state.st_uid}")
        return "as a user of its own, without capabilities"

    def reconfigured(self, system):
        with open(system.path("/etc/keys"), "w", encoding="ascii") as file:
            file.write("someone:secret-of-someone\n")
        os.chmod(system.path("/etc/keys"), 0o640)
        os.chown(system.path("/etc/keys"), 0, STAFF)
        os.makedirs(system.path(DROP_IN))
        with open(system.path(DROP_IN + "/here.conf"), "w", encoding="ascii") as file:
            file.write("[Service]\nSupplementaryGroups=staff\n")
        succeed(system.booted("systemctl", "daemon-reload"))
        restart_with(system, "--port 8090 --api-key-file /etc/keys --unix-socket /run/weft/socket")
        wait_until(lambda: system.booted("weft", "health") == (0, "http://127.0.0.1:8090 is ready\n"), "ready on its new port")
        succeed(system.booted("test", "-S", "/run/weft/socket"))
        return "it takes its arguments from /etc/default/weft, and reads what its group may"

    def reloaded(self, system):
        pid = main_pid(system)
        succeed(system.booted("systemctl", "reload", "weft"))
        wait_until(lambda: journal(system).count(" from /etc/keys") == 2, "the keys read again")
        require(main_pid(system) == pid, "a reload with keys restarted the server")
        os.remove(system.path("/etc/keys"))
        shutil.rmtree(system.path(DROP_IN))
        succeed(system.booted("systemctl", "daemon-reload"))
        restart_with(system, "")
        wait_until(lambda: is_ready(system), "ready without keys")
        pid = main_pid(system)
        succeed(system.booted("systemctl", "reload", "weft"))
        wait_until(lambda: main_pid(system) not in ("0", pid) and is_ready(system), "restarted by a reload")
        restart_with(system, "--no-such-flag")
        wait_until(lambda: system.booted("systemctl", "is-failed", "weft")[1] == "failed\n", "given up with a wrong flag")
        restart_with(system, "")
        wait_until(lambda: is_ready(system), "ready again")
        return "reloads with keys, restarts without, and gives up where a flag is wrong"

    def fetches(self, system):
        with system.beside(sys.executable, "-c", HUB, os.path.join(ROOT, "tests/integration"),
                           os.path.join(ROOT, "model/demo/weft-demo.gguf")) as hub:
            with open(system.path("/etc/default/weft"), "a", encoding="ascii") as file:
                file.write(f"HF_ENDPOINT={hub.stdout.readline()}")
            restart_with(system, "--model hf:test/tale:tale.gguf")
            wait_until(lambda: is_ready(system), "ready with a model of the Hub's")
            hub.stdin.close()
        models = succeed(system.booted("env", "HF_HOME=/var/lib/weft", "weft", "models"))
        require("test/tale" in models, models)
        with open(system.path("/etc/default/weft"), "a", encoding="ascii") as file:
            file.write("HF_HUB_OFFLINE=1\n")
        restart_with(system, "--model hf:test/tale:tale.gguf")
        wait_until(lambda: is_ready(system), "ready with what was fetched")
        return "it fetches a model into /var/lib/weft, and needs no Hub the next time"

    # ---- the archive ----

    def check_archive(self):
        template = fresh_system.make(self.systems, "bullseye")
        with FreshSystem(template, os.path.join(self.scratch, "bullseye")) as system:
            os.makedirs(system.path("/opt"), exist_ok=True)
            subprocess.run(["tar", "-C", system.path("/opt"), "-xzf", self.archive], check=True)
            folder = "/opt/" + os.path.basename(self.archive).removesuffix(".tar.gz")
            os.symlink(folder + "/bin/weft", system.path("/usr/bin/weft"))
            text = succeed(system.chroot("weft", *GENERATE))
            require(text == self.here(), f"weft generate: {text!r}, and here {self.here()!r}")
            script = ("weft serve --unix-socket /run/weft.sock --log-level warning >/dev/null & "
                      "for i in $(seq 300); do [ -S /run/weft.sock ] && break; sleep 0.1; done; "
                      "cat /proc/$!/comm; weft health; kill $!; wait $!")
            served = system.chroot("sh", "-c", script)
            require(served == (0, "weft\n/run/weft.sock is ready\n"), f"{served}")
            version = succeed(system.chroot("ldd", "--version")).splitlines()[0]
        return f"beside {version}: the same text, and weft health finds the server"


def files_of(root):
    """What a system has, but for what it notes down as it runs."""
    found = set()
    for folder, folders, names in os.walk(root):
        inside = "/" + os.path.relpath(folder, root)
        folders[:] = [name for name in folders if not LOGS_AND_NOTES.match(os.path.join(inside, name))]
        found.update(os.path.join(inside, name) for name in [*folders, *names])
    return found


def restart_with(system, arguments):
    with open(system.path("/etc/default/weft"), "a", encoding="ascii") as file:
        file.write(f"WEFT_ARGUMENTS={arguments}\n")
    system.booted("systemctl", "restart", "weft")


def is_ready(system):
    return system.booted("weft", "health")[0] == 0


def main_pid(system):
    return succeed(system.booted("systemctl", "show", "--property=MainPID", "--value", "weft")).strip()


def journal(system):
    return succeed(system.booted("journalctl", "--unit=weft", "--no-pager", "--output=cat"))


def check_all(test):
    failed = []
    for check in (test.check_lintian, test.check_contents, test.check_archive, test.check_service):
        name = check.__name__.removeprefix("check_")
        try:
            print(f"PASS {name}: {check()}", flush=True)
        except (Failure, AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
            failed.append(name)
    return failed


def main():
    parser = argparse.ArgumentParser(description="Tries the packages that ./weft package made.")
    parser.add_argument("--packages", default=os.path.join(ROOT, "build/packages"))
    parser.add_argument("--weft", default=os.path.join(ROOT, "build/release/bin/weft"), help="the binary that they were made of")
    arguments = parser.parse_args()
    missing = fresh_system.missing_tools()
    if os.geteuid() != 0 or missing:
        print(f"FAIL: {'not installed: ' + ' '.join(missing) if missing else 'fresh systems need root'}")
        return 1
    packages = os.path.abspath(arguments.packages)
    with tempfile.TemporaryDirectory(dir=packages) as scratch:
        os.chmod(scratch, 0o755)
        failed = check_all(PackageTest(packages, scratch, arguments.weft))
    print(f"test-package: {'failed: ' + ', '.join(failed) if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
