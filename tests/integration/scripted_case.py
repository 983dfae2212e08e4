"""What tests of agents share: a scripted model behind the real server (see scripted_runner.h), a folder with a file to be mended, an
empty home, and no network but the loopback."""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import options
from weft_server import WeftServer

TASK = "Mend add.py"  # what agents are asked, and where scenes begin
BROKEN = "def add(a, b):\n    return a - b\n"
MENDED = "def add(a, b):\n    return a + b\n"
LAST_WORDS = "add.py is mended."
BLOCK = 32  # tokens of a block of the prefix cache
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def isolate():
    """Runs this script again in a network of its own, where nothing can be reached but this machine's loopback; where the kernel
    does not allow that, goes on and says so."""
    if "WEFT_TEST_ISOLATED" not in os.environ:
        own_network = ["unshare", "--map-root-user", "--net"]
        if shutil.which("unshare") is None or subprocess.run([*own_network, "true"], check=False, capture_output=True).returncode != 0:
            print("agents run with the network that there is: unshare cannot make one of their own")
            return
        os.environ["WEFT_TEST_ISOLATED"] = "1"
        os.execvp("unshare", [*own_network, sys.executable, *sys.argv])
    with socket.socket() as any_socket:
        request = b"lo".ljust(16, b"\0") + IFF_UP.to_bytes(2, sys.byteorder) + bytes(14)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)


def call(name, **arguments):
    """A tool call, as the demo's template has it."""
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


class Exchange:
    """One request of an agent and its answer. Tokens are None where the answer does not say."""

    def __init__(self, request, response):
        self.path = request.first_line.split()[1].partition("?")[0]
        self.body = json.loads(request.body) if request.body else None
        self.status = int(response.first_line.split()[1])
        self.is_streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        self.text = response.body.decode(errors="replace")
        self.prompt_tokens = self.cached_tokens = None
        for value in self._answers():
            self._take_usage(value)

    def _answers(self):
        if not self.is_streamed:
            return [json.loads(self.text)] if self.text.startswith("{") else []
        lines = (line.removeprefix("data: ") for line in self.text.split("\n") if line.startswith("data: {"))
        return [json.loads(line) for line in lines if line.endswith("}")]

    def _take_usage(self, value):
        if value.get("type") == "message_start":
            usage = value["message"]["usage"]
            self.cached_tokens = usage["cache_read_input_tokens"]
            self.prompt_tokens = usage["input_tokens"] + self.cached_tokens
            return
        usage = value.get("usage") or (value.get("response") or {}).get("usage") or {}
        if "prompt_tokens" in usage:
            self.prompt_tokens, self.cached_tokens = usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
        elif "input_tokens_details" in usage:
            self.prompt_tokens, self.cached_tokens = usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"]


class ScriptedCase(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.home, self.work = os.path.join(folder, "home"), os.path.join(folder, "work")
        os.mkdir(self.home)
        os.mkdir(self.work)
        self.file = os.path.join(self.work, "add.py")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(BROKEN)
        self.script = os.path.join(folder, "script.json")

    def serve(self, *scenes, context=131072, flags=()):
        """The server of a model that says the turns of the first of the scenes, (needs, turns), that fits, and otherwise little."""
        with open(self.script, "w", encoding="utf-8") as file:
            json.dump([{"needs": needs, "turns": turns} for needs, turns in (*scenes, ((), ["Very well."]))], file)
        return self.enterContext(WeftServer(
            options.weft, ["--model", options.model, "--served-model-name", "demo", "--context", str(context), *flags],
            command=self.script))

    def exchanges(self, server):
        """All so far that were answered, in the order of their connections."""
        from api_contract import exchanges

        return [Exchange(request, response) for conversation in server.tap.conversations
                for request, response in exchanges(conversation)]

    def file_text(self):
        with open(self.file, encoding="utf-8") as file:
            return file.read()

    def assert_only_new_is_computed(self, exchanges):
        """These go on from each other, and of each but the first the prefix cache had all that the one before it had."""
        for before, after in zip(exchanges, exchanges[1:]):
            self.assertGreater(after.prompt_tokens, before.prompt_tokens)
            self.assertGreater(after.cached_tokens, before.prompt_tokens - BLOCK)
