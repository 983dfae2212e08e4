"""Fresh Debian systems, made by debootstrap and kept in a folder; a copy of one that programs run in by chroot, or that systemd
boots in a container of systemd-nspawn's, without a network. Needs root."""

import os
import shutil
import signal
import subprocess
import time

IN_ITS_ENVIRONMENT = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                      "DEBIAN_FRONTEND=noninteractive"]
BOOT_TIMEOUT_S = 60


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def make(folder, release, packages=()):
    """The path of a system that nothing has been done to; made the first time."""
    root = os.path.join(folder, release)
    if not os.path.exists(root):
        shutil.rmtree(root + ".new", ignore_errors=True)
        os.makedirs(folder, exist_ok=True)
        include = [f"--include={','.join(packages)}"] if packages else []
        run("debootstrap", "--variant=minbase", *include, release, root + ".new", stdout=subprocess.DEVNULL)
        os.rename(root + ".new", root)
    return root


class FreshSystem:
    """A copy of `template`, at `root`, for a `with` block."""

    def __init__(self, template, root):
        self.root = root
        self._nspawn = None
        self._leader = None  # its process 1, as this machine sees it
        shutil.rmtree(root, ignore_errors=True)
        run("cp", "-a", "--reflink=auto", template, root)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._nspawn is not None:
            if self._leader:
                os.kill(int(self._leader), signal.SIGKILL)  # and the kernel all that is in it
            else:
                self._nspawn.kill()
            self._nspawn.wait()  # which waits for all of it
        shutil.rmtree(self.root)

    def path(self, inside):
        return os.path.join(self.root, inside.lstrip("/"))

    def chroot(self, *command):
        """(exit status, output) of a command that sees these files and no others, with this machine's network."""
        shutil.copy("/etc/resolv.conf", self.path("/etc/resolv.conf"))
        return finished(["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.path('/proc')}",
                         "chroot", self.root, *IN_ITS_ENVIRONMENT, *command])

    def boot(self):
        """Starts systemd; returns once it says that the system has come up."""
        inside_a_unit = [] if os.path.exists("/run/systemd/system") else ["--keep-unit"]
        self._nspawn = subprocess.Popen(
            ["systemd-nspawn", "--quiet", f"--directory={self.root}", "--boot", "--register=no", *inside_a_unit,
             "--private-network", "--console=pipe"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + BOOT_TIMEOUT_S
        while True:
            children = f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children"
            with open(children, encoding="ascii") as file:
                found = file.read().split()
            self._leader = found[0] if found else None
            if self._leader and self.booted("systemctl", "is-system-running")[1].strip() in ("running", "degraded"):
                return
            if time.monotonic() > deadline or self._nspawn.poll() is not None:
                raise AssertionError(f"{self.root} does not boot within {BOOT_TIMEOUT_S} s")
            time.sleep(0.2)

    def booted(self, *command):
        """(exit status, output) of a command in the system that runs."""
        return finished(["nsenter", f"--target={self._leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup",
                         "--root", "--wd=/", *IN_ITS_ENVIRONMENT, *command])


    def beside(self, *command):
        """Starts a program of this machine in the network of the system that runs; it ends with its standard input."""
        return subprocess.Popen(["nsenter", f"--target={self._leader}", "--net", *command], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)


def finished(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=300)
    return done.returncode, done.stdout


def missing_tools():
    tools = ("debootstrap", "systemd-nspawn", "nsenter", "unshare")
    return [tool for tool in tools if shutil.which(tool) is None]
