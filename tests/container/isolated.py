"""Runs a program in an unpacked image as a container engine would, on machines that have none: PID 1 of its own namespaces
(processes, files, network, IPC), on a read-only root file system, as a user without capabilities, in a control group with limits.
Needs root. As a script it is the container's init: it reads what to run as JSON on its command line."""

import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PORT = 8080  # what the image exposes
DEVICES = ["null", "zero", "full", "random", "urandom"]


def checked(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source, target, kind=None, flags=0, data=None):
    checked(LIBC.mount(source.encode(), target.encode(), kind and kind.encode(), flags, data and data.encode()))


def bind(source, target, read_only=False):
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        mount(source, target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


# ---- inside ----

def mount_files(root, spec):
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    bind(root, root)
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("sysfs", root + "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY)
    mount("tmpfs", root + "/sys/fs/cgroup", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for controller, folder in spec["cgroups"]:
        target = os.path.join(root, "sys/fs/cgroup", controller)
        os.makedirs(target, exist_ok=True)
        bind(folder, target, read_only=True)
    mount("tmpfs", root + "/dev", "tmpfs", MS_NOSUID, "mode=755")
    for name in DEVICES:
        with open(f"{root}/dev/{name}", "w", encoding="ascii"):
            pass
        bind(f"/dev/{name}", f"{root}/dev/{name}")
    os.mkdir(root + "/dev/shm")
    mount("tmpfs", root + "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777")
    for source, target in spec["mounts"]:
        bind(source, root + target, read_only=True)
    mount(root, root, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def bring_up_loopback():
    with socket.socket() as any_socket:
        request = b"lo".ljust(16, b"\0") + IFF_UP.to_bytes(2, sys.byteorder) + bytes(14)
        import fcntl  # pylint: disable=import-outside-toplevel
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)


def become(spec):
    for _, folder in spec["cgroups"]:
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")
    bring_up_loopback()
    mount_files(spec["root"], spec)
    os.chroot(spec["root"])
    os.chdir("/")
    os.setgroups([])
    os.setgid(spec["gid"])
    os.setuid(spec["uid"])  # leaves no capabilities
    checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def main():
    spec = json.loads(sys.argv[1])
    checked(LIBC.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET))
    begun, beginning = os.pipe()  # closed when the program begins
    child = os.fork()
    if child == 0:
        os.close(spec["pid_to"])
        become(spec)
        os.execvpe(spec["argv"][0], spec["argv"], spec["environment"])
    os.close(beginning)
    os.read(begun, 1)
    with os.fdopen(spec["pid_to"], "w") as pipe:
        pipe.write(str(child))
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status) % 256 if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


# ---- outside ----

class NoLimits(Exception):
    """This process may not make control groups, and why."""


class CgroupLimits:
    """A control group of its own with limits, of version 1 or 2; `folders` are (place below /sys/fs/cgroup, folder) for the
    container. Raises NoLimits."""

    def __init__(self, memory_bytes=None, cpus=None):
        self.folders = []
        name = f"weft-container-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            if memory_bytes is not None:
                self._limit("memory", name, {"memory.limit_in_bytes": memory_bytes, "memory.max": memory_bytes})
            if cpus is not None:
                quota = int(cpus * 100000)
                self._limit("cpu", name, {"cpu.cfs_quota_us": quota, "cpu.max": f"{quota} 100000"})
        except OSError as error:
            self.remove()
            raise NoLimits(str(error)) from error

    def _limit(self, controller, name, values):
        is_v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        place = "" if is_v2 else controller
        folder = os.path.join("/sys/fs/cgroup", place, name)
        if not os.path.isdir(os.path.join("/sys/fs/cgroup", place)):
            raise OSError(errno.ENOENT, f"there is no cgroup controller '{controller}'")
        os.makedirs(folder, exist_ok=True)
        if (place, folder) not in self.folders:
            self.folders.append((place, folder))
        files = [file for file in values if os.path.exists(os.path.join(folder, file))]
        if not files:
            raise OSError(errno.ENOENT, f"{folder} has no file for limits of {controller}")
        with open(os.path.join(folder, files[0]), "w", encoding="ascii") as file:
            file.write(str(values[files[0]]))

    def remove(self):
        for _, folder in self.folders:
            os.rmdir(folder)
        self.folders = []


class PublishedPort:
    """Relays a port of this machine to PORT in the namespace of process `pid`, as an engine's proxy does. Connects to an
    address that a server on 127.0.0.1 alone would not answer."""

    def __init__(self, pid):
        self._namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        os.close(self._namespace)

    def _accept(self):
        checked(LIBC.setns(self._namespace, CLONE_NEWNET))  # of this thread
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.2", PORT))
            except OSError:
                client.close()
                continue
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    @staticmethod
    def _pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()


class StartFailed(Exception):
    """There is no container, and why."""


class IsolatedContainer:
    """One container over the unpacked image at `root`. Raises StartFailed and NoLimits."""

    def __init__(self, root, argv, environment, user, memory_bytes=None, cpus=None, affinity=None, mounts=()):
        self._limits = CgroupLimits(memory_bytes, cpus)
        self._published = None
        self._log = tempfile.TemporaryFile()
        self._user = user
        self._environment = environment
        read_end, write_end = os.pipe()
        spec = {"root": root, "argv": argv, "environment": environment, "uid": user[0], "gid": user[1],
                "cgroups": self._limits.folders, "mounts": list(mounts), "pid_to": write_end}
        taskset = ["taskset", "--cpu-list", affinity] if affinity else []
        self._process = subprocess.Popen([*taskset, sys.executable, os.path.abspath(__file__), json.dumps(spec)],
                                         stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, pass_fds=[write_end])
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            pid = pipe.read()
        if not pid:  # init has failed: there is no program, and 0 as a target of signals means this process and its group
            code = self._process.wait()
            self._limits.remove()
            raise StartFailed(f"the container's init ended with {code}:\n{self.log()}")
        self.pid = int(pid)  # as this machine sees it

    @property
    def port(self):
        if self._published is None:
            self._published = PublishedPort(self.pid)
        return self._published.port

    def exec(self, *argv):
        """(exit status, output) of a program beside the first one."""
        command = ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd",
                   f"--setuid={self._user[0]}", f"--setgid={self._user[1]}", "--", *argv]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env=self._environment)
        return done.returncode, done.stdout

    def terminate(self):
        os.kill(self.pid, signal.SIGTERM)

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, timeout_s):
        return self._process.wait(timeout=timeout_s)

    def log(self):
        handle = self._log.fileno()  # at an offset that the container shares: reading must not move it
        return os.pread(handle, os.fstat(handle).st_size, 0).decode(errors="replace")

    def remove(self):
        if self._process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait()
        if self._published:
            self._published.close()
        self._limits.remove()


def missing_tools():
    return [tool for tool in ("nsenter", "taskset") if shutil.which(tool) is None]


if __name__ == "__main__":
    main()
