"""What the comparison is made with: peers in environments of their own, llama.cpp's programs, model files. All of it is made once and
kept in a cache folder."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.dirname(HERE)
sys.path[:0] = [TOOLS, os.path.join(TOOLS, "..", "integration")]

import llama_cpp_sources  # noqa: E402
from client_packages import make_venv  # noqa: E402

REQUIREMENTS = {"tools": "requirements-dequantize.txt", "openvino": "requirements-peer-openvino.txt",
                "vllm": "requirements-peer-vllm.txt"}


class Unavailable(Exception):
    """An engine, or a model for it, that cannot be had; the message is what a table's note says."""


def say(text):
    print(f"compare-peers: {text}", file=sys.stderr, flush=True)


def make_environment(cache, name):
    """The Python of the environment that has what REQUIREMENTS[name] lists."""
    directory = os.path.join(cache, f"{name}-environment")
    if not os.path.exists(directory):
        say(f"installing {REQUIREMENTS[name]} in {directory}")
    python, reason = make_venv(directory, os.path.join(TOOLS, REQUIREMENTS[name]))
    if python is None:
        raise Unavailable(reason)
    return python


def run_quietly(command, log):
    """Runs it with what it says in the file `log`, whose end is the reason if it fails."""
    with open(log, "w", encoding="utf-8") as file:
        try:
            status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
        except OSError as error:
            raise Unavailable(str(error)) from error
    if status != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            said = [line.strip() for line in file if line.strip()]
        raise Unavailable(f"{os.path.basename(command[0])} failed ({log}): {said[-1] if said else 'it gave no reason'}")


def build_llama_cpp(cache):
    """The folder of its programs, built for this processor."""
    directory = os.path.join(cache, "llama.cpp")
    build = os.path.join(directory, "build")
    programs = ("llama-bench", "llama-batched-bench")
    if not all(os.path.exists(os.path.join(build, "bin", program)) for program in programs):
        try:
            sources = llama_cpp_sources.fetch(make_environment(cache, "tools"), directory)
        except OSError as error:
            raise Unavailable(str(error)) from error
        say(f"building llama.cpp in {build}")
        run_quietly(["cmake", "-S", sources, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON",
                     "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF"],
                    os.path.join(directory, "configure.log"))
        run_quietly(["cmake", "--build", build, "--target", *programs], os.path.join(directory, "build.log"))
    return os.path.join(build, "bin")


class ModelFiles:
    """Models in the cache, made when they are asked for first."""

    def __init__(self, cache):
        self.cache = cache

    def _make(self, script, arguments, path):
        """Runs the script, which writes what its last argument names."""
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            python = make_environment(self.cache, "tools")
            say(f"making {path}")
            run_quietly([python, script, *arguments, path + ".part"], path + ".log")
            os.rename(path + ".part", path)
        return path

    def gguf(self, model):
        """A GGUF file with random weights."""
        path = os.path.join(self.cache, "models", model.name + ".gguf")
        return self._make(os.path.join(TOOLS, "make_random_model.py"), [model.shape, model.quantisation], path)

    def directory(self, model):
        """The same weights as a Hugging Face directory, for engines that read no GGUF."""
        if model.quantisation != "bf16":
            raise Unavailable("reads no GGUF; only BF16 weights are written as a Hugging Face directory")
        path = os.path.join(self.cache, "models", model.name)
        return self._make(os.path.join(HERE, "hugging_face.py"), [self.gguf(model)], path)
