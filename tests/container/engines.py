"""Who builds and runs the image: docker or podman where they run, else buildah, which needs no daemon, for the build, and
isolated.py for the run. All of them give the image as an archive."""

import os
import shutil
import subprocess
import time

from image_archive import ImageArchive
from isolated import PORT, IsolatedContainer, missing_tools

BASE = "debian:bookworm-slim"
TAG = "localhost/weft-container-test"
# What Debian's slim images leave out, and tell dpkg to leave out from then on.
SLIM_RULES = """path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/lintian/*
"""
SLIM_FOLDERS = ["usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "var/cache/apt", "var/lib/apt/lists",
                "var/log/apt"]


def say(line):
    print(f"  {time.strftime('%H:%M:%S')} {line}", flush=True)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def succeeds(*command):
    return shutil.which(command[0]) is not None and subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60).returncode == 0


def make_base(work):
    """A tar file with what the base image holds, from Debian's packages: for where no registry can be reached."""
    archive = os.path.join(work, "base.tar")
    if os.path.exists(archive):
        return archive
    say(f"no registry has {BASE} for us: making it with debootstrap")
    root, packages = os.path.join(work, "base"), os.path.join(work, "packages")
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(packages, exist_ok=True)
    run("debootstrap", "--variant=minbase", f"--cache-dir={packages}", "bookworm", root, stdout=subprocess.DEVNULL)
    with open(os.path.join(root, "etc/dpkg/dpkg.cfg.d/docker"), "w", encoding="ascii") as file:
        file.write(SLIM_RULES)
    with open(os.path.join(root, "etc/apt/sources.list"), "r+", encoding="ascii") as file:
        mirror = file.read().split()[1]  # debootstrap wrote: deb MIRROR bookworm main
        file.write(f"deb {mirror} bookworm-updates main\ndeb {mirror}-security bookworm-security main\n")
    for folder in SLIM_FOLDERS:
        shutil.rmtree(os.path.join(root, folder), ignore_errors=True)
        os.makedirs(os.path.join(root, folder))
    for folder, _, names in os.walk(os.path.join(root, "usr/share/doc")):
        for name in names:
            if name != "copyright":
                os.remove(os.path.join(folder, name))
    run("tar", "-C", root, "--numeric-owner", "-cf", archive + ".new", ".")
    os.rename(archive + ".new", archive)
    shutil.rmtree(root)
    return archive


class DockerLike:
    """docker or podman."""

    def __init__(self, command, work):
        self.name = command
        self._work = work

    def build(self, source, arguments):
        if not succeeds(self.name, "image", "inspect", BASE) and not succeeds(self.name, "pull", "-q", BASE):
            run(self.name, "import", make_base(self._work), BASE)
        run(self.name, "build", "-f", os.path.join(source, "docker/Dockerfile"), *format_option(self.name), *arguments, "-t", TAG,
            source)

    def archive(self, root):
        """The image, and what is in it unpacked at `root`."""
        path = os.path.join(self._work, "image.tar")
        if os.path.exists(path):
            os.remove(path)
        run(self.name, "save", "-o", path, TAG)
        archive = ImageArchive(path)
        archive.unpack(root)
        return archive

    def container(self, arguments=(), entrypoint=None, **options):
        return DockerContainer(self.name, arguments, entrypoint, **options)


def format_option(command):
    return ["--format", "docker"] if command == "podman" else []  # OCI's has no health check


class DockerContainer:
    def __init__(self, engine, arguments, entrypoint, memory_bytes=None, cpus=None, affinity=None, mounts=()):
        self._engine = engine
        command = [engine, "run", "--detach", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--no-healthcheck",
                   f"--publish=127.0.0.1::{PORT}"]
        command += [f"--memory={memory_bytes}"] if memory_bytes else []
        command += [f"--cpus={cpus}"] if cpus else []
        command += [f"--cpuset-cpus={affinity}"] if affinity else []
        command += [f"--volume={source}:{target}:ro" for source, target in mounts]
        command += [f"--entrypoint={entrypoint[0]}", TAG, *entrypoint[1:]] if entrypoint else [TAG]
        self._id = self._output(*command, *arguments).strip()

    @staticmethod
    def _output(*command):
        return run(*command, stdout=subprocess.PIPE, text=True).stdout

    @property
    def port(self):
        return int(self._output(self._engine, "port", self._id, str(PORT)).splitlines()[0].rsplit(":", 1)[1])

    def exec(self, *argv):
        done = subprocess.run([self._engine, "exec", self._id, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        return done.returncode, done.stdout

    def terminate(self):
        run(self._engine, "kill", "--signal=TERM", self._id, stdout=subprocess.DEVNULL)

    def wait(self, timeout_s):
        return int(run(self._engine, "wait", self._id, stdout=subprocess.PIPE, text=True, timeout=timeout_s).stdout)

    def log(self):
        return run(self._engine, "logs", self._id, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    def remove(self):
        run(self._engine, "rm", "--force", self._id, stdout=subprocess.DEVNULL)


class Buildah:
    """buildah in chroot isolation, with its images in `work`; containers are isolated.py's."""

    name = "buildah"

    def __init__(self, work):
        self._work = work
        self._root = ""
        self._config = None

    def _buildah(self, *arguments, **options):
        # Its cache mounts, what the last build compiled among them, lie in TMPDIR.
        temporary = os.path.join(self._work, "cache")
        os.makedirs(temporary, exist_ok=True)
        environment = {**os.environ, "TMPDIR": temporary, "BUILDAH_ISOLATION": "chroot"}
        return run("buildah", "--root", os.path.join(self._work, "images"), "--runroot", os.path.join(self._work, "run"),
                   "--storage-driver", "vfs", *arguments, env=environment, **options)

    def _has_base(self):
        try:
            self._buildah("inspect", "--type", "image", BASE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return True
        except subprocess.CalledProcessError:
            return False

    def _import_base(self):
        try:
            self._buildah("pull", "-q", BASE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
            return
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            archive = make_base(self._work)
        made = self._buildah("from", "scratch", stdout=subprocess.PIPE, text=True).stdout.strip()
        self._buildah("add", "-q", made, archive, "/", stdout=subprocess.DEVNULL)
        self._buildah("config", "--cmd", "bash", made)
        self._buildah("commit", "-q", "--rm", made, BASE, stdout=subprocess.DEVNULL)

    def build(self, source, arguments):
        if not self._has_base():
            self._import_base()
        self._buildah("bud", "--format", "docker", "--pull-never", "-f", os.path.join(source, "docker/Dockerfile"), *arguments,
                      "-t", TAG, source)

    def archive(self, root):
        """The image, and what is in it unpacked at `root`."""
        path = os.path.join(self._work, "image.tar")
        if os.path.exists(path):
            os.remove(path)
        self._buildah("push", "-q", TAG, f"docker-archive:{path}")
        archive = ImageArchive(path)
        archive.unpack(root)
        self._root = root
        self._config = archive.config
        return archive

    def container(self, arguments=(), entrypoint=None, **options):
        environment = dict(entry.split("=", 1) for entry in self._config["Env"])
        user = tuple(int(part) for part in self._config["User"].split(":"))
        argv = [*(entrypoint or self._config["Entrypoint"]), *arguments]
        return IsolatedContainer(self._root, argv, environment, user, **options)


def choose(wanted, work):
    """The engine, or why there is none."""
    for command in ("docker", "podman"):
        if wanted in ("auto", command) and succeeds(command, "ps"):
            return DockerLike(command, work), ""
    if wanted not in ("auto", "buildah"):
        return None, f"{wanted} does not run here"
    if os.geteuid() != 0:
        return None, "neither docker nor podman runs here, and buildah with namespaces of our own needs root"
    missing = [tool for tool in ("buildah", "debootstrap") if shutil.which(tool) is None] + missing_tools()
    return (None, f"not installed: {' '.join(missing)}") if missing else (Buildah(work), "")
