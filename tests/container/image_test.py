#!/usr/bin/env python3
"""usage: image_test.py [--engine auto|docker|podman|buildah] [--work DIRECTORY] [--no-build]
Builds the image of docker/Dockerfile, runs it and tries what docs/OPERATIONS.md says about it. A line for each check, and exit
status 1 if one failed."""

import argparse
import gzip
import hashlib
import http.client
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import engines
import sbom_checks
from isolated import NoLimits, StartFailed

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
LARGEST_BYTES = 60_000_000  # compressed, without the model
MODEL = "usr/share/weft/weft-demo.gguf"
MIB = 1 << 20


class Failure(Exception):
    pass


class NotHere(Exception):
    """What cannot be checked on this machine, and why."""


def require(condition, message):
    if not condition:
        raise Failure(message)


def git_revision():
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def wait_until(condition, what, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not condition():
        require(time.monotonic() < deadline, f"not within {timeout_s} s: {what}")
        time.sleep(0.05)


def fetch(port, path, body=None):
    """(status, text)"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None,
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class ImageTest:
    def __init__(self, engine, scratch, revision):
        self.engine = engine
        self.revision = revision  # a pattern
        self.root = os.path.join(scratch, "rootfs")  # the image unpacked, for a look from outside
        self.archive = engine.archive(self.root)
        self.config = self.archive.config
        self.scratch = scratch
        self.version = ""

    # ---- what the image is ----

    def check_configuration(self):
        user = self.config["User"]
        require(re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), f"the user is {user!r}, not two numbers that are not root's")
        require(self.config["Entrypoint"] == ["weft", "serve", "--host", "0.0.0.0"], f"entry point {self.config['Entrypoint']}")
        require(self.config.get("StopSignal") == "SIGTERM", "the stop signal is not SIGTERM")
        require("8080/tcp" in self.config["ExposedPorts"], "port 8080 is not exposed")
        require(self.config.get("Healthcheck", {}).get("Test") == ["CMD", "weft", "health"], "no health check")
        return f"user {user}, SIGTERM, health check"

    def check_labels(self):
        labels = {name.removeprefix("org.opencontainers.image."): value for name, value in self.config["Labels"].items()
                  if name.startswith("org.opencontainers.image.")}
        require(labels["version"] == self.version, f"version {labels['version']}, but the binary is {self.version}")
        require(re.fullmatch(self.revision, labels["revision"]), f"revision {labels['revision']}, not {self.revision}")
        require(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", labels["created"]), f"created {labels['created']!r}")
        for name, value in (("title", "Weft"), ("licenses", "Apache-2.0")):
            require(labels[name] == value, f"{name} is {labels[name]!r}")
        require(labels["description"] and labels["base.name"], "no description, or no base")
        return f"version {labels['version']}, revision {labels['revision'][:12]}"

    def check_size(self):
        with open(os.path.join(self.root, MODEL), "rb") as file:
            model_bytes = len(gzip.compress(file.read(), compresslevel=6))
        other_bytes = sum(self.archive.layer_sizes()) - model_bytes
        require(other_bytes <= LARGEST_BYTES, f"{other_bytes / 1e6:.1f} MB compressed without the model, more than "
                                              f"{LARGEST_BYTES / 1e6:.0f} MB")
        return f"{other_bytes / 1e6:.1f} MB compressed without the model, {(other_bytes + model_bytes) / 1e6:.1f} MB with it"

    def check_certificates(self):
        with open(os.path.join(self.root, "etc/ssl/certs/ca-certificates.crt"), encoding="ascii") as file:
            count = file.read().count("-----BEGIN CERTIFICATE-----")
        require(count > 50, f"{count} certificates of authorities")
        return f"{count} authorities that `weft pull` trusts"

    def check_sbom(self):
        def read(path):
            with open(os.path.join(self.root, path), "rb") as file:
                return file.read()
        wrong, count = sbom_checks.check(read("usr/share/weft/sbom.spdx.json").decode(), read("var/lib/dpkg/status").decode(),
                                         self.version, hashlib.sha256(read("usr/bin/weft")).hexdigest())
        require(not wrong, "; ".join(wrong))
        return f"SPDX 2.3, {count} components"

    def check_any_x86(self):
        if shutil.which("qemu-x86_64") is None:
            raise NotHere("qemu-x86_64 is not installed")
        arguments = ["generate", "--prompt", "Once", "-n", "8", "--temperature", "0", "--log-level", "warning"]
        with self.running(entrypoint=["weft", *arguments]) as box:
            require(box.wait(60) == 0, "weft generate failed")
            here = box.log()
        emulator = ["qemu-x86_64", "-L", self.root, "-cpu", "Nehalem"]  # with the libraries of the image
        done = subprocess.run([*emulator, os.path.join(self.root, "usr/bin/weft"), *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
                              env={"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"})
        require(done.returncode == 0 and len(here) > 8 and done.stdout == here,
                f"exit status {done.returncode}, {done.stdout!r}, and here {here!r}")
        return "the same text on an emulated processor of 2008"

    # ---- how it runs ----

    def running(self, *arguments, **options):
        return Running(self.engine.container(arguments, **options))

    def check_version(self):
        with self.running(entrypoint=["weft", "--version"]) as box:
            require(box.wait(60) == 0, "weft --version failed")
            self.version = box.log().strip().removeprefix("weft ")
        return f"weft {self.version}"

    def check_user(self):
        with self.running() as box:
            box.await_ready()
            status = box.exec("cat", "/proc/1/status")[1]
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            require(fields["Name"] == "weft", f"PID 1 is {fields['Name']}")
            require(set(fields["Uid"].split()) == {self.config["User"].split(":")[0]}, f"uid {fields['Uid']}")
            require(int(fields["CapEff"], 16) == 0, f"capabilities {fields['CapEff']}")
            mounts = box.exec("cat", "/proc/1/mounts")[1]
            at_root = [line.split() for line in mounts.splitlines() if line.split()[1] == "/"]
            require("ro" in at_root[-1][3].split(","), f"the root file system is {at_root}")
        return "PID 1 is weft, as a user without capabilities, on a read-only root"

    def check_health(self):
        with self.running(entrypoint=["sleep", "60"]) as box:
            code, output = box.exec("weft", "health")
            require(code == 1 and "no 'weft serve'" in output, f"without a server: {code} {output}")
        said = []
        loading = ""
        if self.engine.name == "buildah":  # its containers can be stopped before they have loaded anything
            with self.running() as box:
                box.pause()
                code, output = box.exec("weft", "health")
                require(code == 1 and output == "weft health: http://127.0.0.1:8080: Connection refused\n", f"{code} {output}")
                box.go_on()
                wait_until(lambda: box.exec("weft", "health")[0] == 0, "healthy once it has loaded")
            loading = " and while it loads"
        with self.running() as box:
            box.await_ready()
            require(box.exec("weft", "health") == (0, "http://127.0.0.1:8080 is ready\n"), f"{box.exec('weft', 'health')}")
        with self.running("--port", "9000") as box:
            wait_until(lambda: box.exec("weft", "health")[0] == 0, "healthy on another port")
            said.append("another port")
        certificate = self.make_certificate()
        with self.running("--tls-cert", "/mnt/tls.pem", "--tls-key", "/mnt/tls.pem", mounts=[(certificate, "/mnt")]) as box:
            wait_until(lambda: box.exec("weft", "health") == (0, "https://127.0.0.1:8080 is ready\n"), "healthy with TLS")
            said.append("TLS")
        with self.running("--unix-socket", "/dev/shm/weft.sock") as box:
            wait_until(lambda: box.exec("weft", "health")[0] == 0, "healthy beside a Unix socket")
        return f"fails without a server{loading}, succeeds once it is ready; {', '.join(said)}"

    def make_certificate(self):
        folder = tempfile.mkdtemp(dir=self.scratch)
        os.chmod(folder, 0o755)
        pem = os.path.join(folder, "tls.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                        "1", "-subj", "/CN=weft", "-keyout", pem, "-out", pem + ".cert"], check=True, capture_output=True)
        with open(pem, "ab") as file, open(pem + ".cert", "rb") as certificate:
            file.write(certificate.read())
        os.chmod(pem, 0o644)
        return folder

    def check_generation(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            lines = re.findall(r"^curl -s http://127\.0\.0\.1:8080/\S+ -H.*\\\n.*$", file.read(), re.MULTILINE)
        require(len(lines) >= 2, "README.md has no curl lines")
        said = []
        with self.running() as box:
            box.await_ready()
            for line in lines:
                here = line.replace("127.0.0.1:8080", f"127.0.0.1:{box.port}")
                done = subprocess.run(["bash", "-c", here], stdout=subprocess.PIPE, text=True, check=False, timeout=120)
                answer = json.loads(done.stdout)
                choice = answer["choices"][0]
                text = choice.get("text") or choice["message"]["content"]
                require(len(text) > 20, f"{here}: {answer}")
                said.append(shlex.split(here)[2].partition("/v1/")[2])
        return f"README.md's curl lines through the published port: {', '.join(said)}"

    def check_drain(self):
        with self.running() as box:
            box.await_ready()
            connection = http.client.HTTPConnection("127.0.0.1", box.port, timeout=120)
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "Once upon a time", "max_tokens": 600,
                                                                      "stream": True, "ignore_eos": True}),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            first = response.readline()
            box.terminate()
            wait_until(lambda: box.exec("weft", "health")[0] != 0, "unhealthy while draining")
            rest = response.read().decode()
            require(first.startswith(b"data: {") and rest.endswith("data: [DONE]\n\n"), f"the stream ends with {rest[-200:]!r}")
            require('"finish_reason":"length"' in rest, "the stream did not come to its end")
            code = box.wait(40)
            require(code == 0, f"exit status {code}")
            require("shut down" in box.log(), "the log does not say so")
        return "SIGTERM to PID 1: unhealthy at once, the running stream comes to its end, exit status 0"

    def check_limits(self):
        try:
            limited = self.running(memory_bytes=256 * MIB, cpus=1)
        except NoLimits as error:
            raise NotHere(f"limits of memory and CPU: this process may not make control groups ({error})") from error
        with limited as box:
            box.await_ready()
            log = box.log()
            require("of 256.0 MiB allowed" in log, f"a limit of 256 MiB, but:\n{log}")
            require(re.search(r"\b1 threads?\b", log), f"one CPU, but:\n{log}")
        with self.running(memory_bytes=16 * MIB) as box:
            code = box.wait(60)
            line = box.log().strip().splitlines()[-1]
            require(code == 1 and re.match(r"weft serve: 16\.0 MiB of memory do not hold weights .*; raise --memory", line),
                    f"in 16 MiB: exit status {code}, {line}")
        return "256 MiB and one CPU decide memory and threads; 16 MiB are refused with what they lack"

    def check_cpuset(self):
        first = min(os.sched_getaffinity(0))
        with self.running(affinity=str(first)) as box:
            box.await_ready()
            require(re.search(r"\b1 threads?\b", box.log()), f"one CPU of the affinity mask, but:\n{box.log()}")
        return "one CPU of the mask, one thread"


class Running:
    """A container for a `with` block."""

    def __init__(self, box):
        self._box = box

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(f"---- log\n{self._box.log()}----", flush=True)
        self._box.remove()

    def __getattr__(self, name):
        return getattr(self._box, name)

    def await_ready(self):
        def is_ready():
            try:
                return fetch(self._box.port, "/ready")[0] == 200
            except OSError:
                return False
            except http.client.HTTPException:
                return False
        wait_until(is_ready, "ready")


def build(engine, revision):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    engines.say(f"building with {engine.name}; the first time it compiles everything")
    started = time.monotonic()
    engine.build(ROOT, ["--build-arg", f"REVISION={revision}", "--build-arg", f"CREATED={created}"])
    engines.say(f"built in {time.monotonic() - started:.0f} s")


def check_all(test):
    checks = [test.check_version, test.check_configuration, test.check_labels, test.check_size, test.check_certificates,
              test.check_sbom, test.check_user, test.check_health, test.check_generation, test.check_drain, test.check_limits, test.check_cpuset, test.check_any_x86]
    failed, left_out = [], []
    for check in checks:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            print(f"PASS {name}: {check()}", flush=True)
        except NotHere as reason:
            print(f"NOT CHECKED {name}: {reason}", flush=True)
            left_out.append(name)
        except (Failure, StartFailed, OSError, KeyError, ValueError, subprocess.SubprocessError, http.client.HTTPException) as error:
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
            failed.append(name)
    return failed, left_out


def main():
    parser = argparse.ArgumentParser(description="Builds the container's image and tries it.")
    parser.add_argument("--engine", default="auto", choices=["auto", "docker", "podman", "buildah"])
    parser.add_argument("--work", default=os.path.join(ROOT, "build/container"), help="for the base, images and what is kept")
    parser.add_argument("--no-build", action="store_true", help="checks the image that the last run built")
    arguments = parser.parse_args()
    work = os.path.abspath(arguments.work)
    os.makedirs(work, exist_ok=True)
    engine, reason = engines.choose(arguments.engine, work)
    if engine is None:
        print(f"FAIL: no container engine: {reason}")
        return 1
    try:
        revision = "[0-9a-f]{40}" if arguments.no_build else git_revision()
        if not arguments.no_build:
            build(engine, revision)
        with tempfile.TemporaryDirectory(dir=work) as scratch:
            os.chmod(scratch, 0o755)
            failed, left_out = check_all(ImageTest(engine, scratch, revision))
    except subprocess.CalledProcessError as error:
        print(f"FAIL build: {shlex.join(error.cmd)[:300]}: exit status {error.returncode}")
        return 1
    verdict = f"failed: {', '.join(failed)}" if failed else "passed"
    print(f"test-container: {verdict}" + (f"; not checked: {', '.join(left_out)}" if left_out else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
