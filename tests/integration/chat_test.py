"""`weft chat`, at a terminal and without: `chat_test.py --weft BINARY --model MODEL`."""

import contextlib
import glob
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import termios
import time
import unittest

from harness import ServedCase, main, options

GREEDY = ("--set", "temperature=0", "--set", "max_tokens=12")
LONG = ("--set", "min_tokens=900", "--set", "max_tokens=900")


def chat(*arguments, stdin="", **environment):
    """(exit status, stdout, stderr)"""
    done = subprocess.run([options.weft, "chat", *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def wait_for(condition, timeout_s=60):
    """Whether it came to be."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(found)


def children(process):
    """Ids of the processes that it has started."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            number, rest = path.split("/")[2], file.read().rpartition(")")[2]
            if int(rest.split()[1]) == process:
                found.append(int(number))
    return found


class Terminal:
    """`weft chat` with a terminal of its own."""

    def __init__(self, home, *arguments):
        self.process, self.handle = pty.fork()
        if self.process == 0:
            environment = {**os.environ, "HOME": home, "TERM": "xterm", "LC_ALL": "C.UTF-8", "TMPDIR": home}
            environment.pop("XDG_STATE_HOME", None)
            os.execve(options.weft, ["weft", "chat", *arguments], environment)
        self.text = ""

    def await_text(self, pattern, timeout_s=30):
        """What has been written up to where `pattern` ends; the next call looks behind it."""
        deadline = time.monotonic() + timeout_s
        while (found := re.search(pattern, self.text)) is None:
            if not select.select([self.handle], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise AssertionError(f"{pattern!r} did not come:\n{self.text!r}")
            try:
                self.text += os.read(self.handle, 65536).decode(errors="replace")
            except OSError as error:  # it has ended
                raise AssertionError(f"{pattern!r} did not come:\n{self.text!r}") from error
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def type(self, line):
        os.write(self.handle, (line + "\n").encode())

    def press(self, key):
        """Keys are keys once the line editor has the terminal, which is a moment after its prompt is there."""
        if not wait_for(lambda: not termios.tcgetattr(self.handle)[3] & termios.ICANON):
            raise AssertionError("no line is edited")
        os.write(self.handle, key.encode())

    def leave(self):
        """The exit status."""
        with contextlib.suppress(OSError):
            while os.read(self.handle, 65536):
                pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        os.close(self.handle)
        return status


class Once(unittest.TestCase):
    def test_a_message_is_answered(self):
        status, answer, said = chat("--model", options.model, *GREEDY, "Hello")
        self.assertEqual((status, said), (0, ""))
        self.assertRegex(answer, r"^\S.*\n$")
        self.assertEqual(chat("--model", options.model, *GREEDY, stdin="Hello"), (0, answer, ""))

    def test_what_is_wrong_is_one_line(self):
        for arguments, word in ((("--model", "/no/such/model", "Hi"), "ended"), (("--set", "tempo=1", "Hi"), "tempo"),
                                (("--set", "temperature=hot", "Hi"), "temperature"), (("--load", "/no/such/file", "Hi"), "/no/such/file"),
                                (("--url", "http://127.0.0.1:9", "Hi"), "127.0.0.1:9"), (("--url", "file:///etc/passwd", "Hi"), "file")):
            with self.subTest(arguments=arguments):
                status, out, err = chat(*arguments)
                self.assertEqual((status, out), (1, ""), err)
                self.assertIn(word, err.splitlines()[-1])

    def test_its_server_goes_with_it(self):
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                [options.weft, "chat", "--model", options.model], stdin=subprocess.PIPE, env={**os.environ, "TMPDIR": folder}) as process:
            self.assertTrue(wait_for(lambda: glob.glob(folder + "/weft-chat-*/socket") and children(process.pid)))
            self.assertEqual(os.stat(glob.glob(folder + "/weft-chat-*")[0]).st_mode & 0o777, 0o700)
            server = children(process.pid)[0]
            process.kill()
            self.assertTrue(wait_for(lambda: not os.path.exists(f"/proc/{server}")))


class WithAServer(ServedCase):
    serve_arguments = ("--api-key-file", "")

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        path = os.path.join(folder, "keys")
        with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write("me:0123456789abcdef\n")
        cls.serve_arguments = ("--api-key-file", path)
        super().setUpClass()
        cls.url = f"http://127.0.0.1:{cls.server.process_port}"

    def test_with_its_key(self):
        status, answer, said = chat("--url", self.url + "/", *GREEDY, "Hello", WEFT_API_KEY="0123456789abcdef")
        self.assertEqual((status, said), (0, ""))
        self.assertRegex(answer, r"^\S.*\n$")
        status, answer, said = chat("--url", self.url, "Hello", WEFT_API_KEY="0123456789abcdeg")
        self.assertEqual((status, answer, said.count("\n")), (1, "", 1))
        self.assertIn("401", said)


class AtATerminal(unittest.TestCase):
    def setUp(self):
        self.home = self.enterContext(tempfile.TemporaryDirectory())

    def start(self, *arguments):
        terminal = Terminal(self.home, "--model", options.model, *arguments)
        terminal.await_text(r"/help lists")
        terminal.await_text(r">>> ")
        return terminal

    def test_a_conversation(self):
        saved = os.path.join(self.home, "saved.json")
        terminal = self.start(*GREEDY)
        terminal.type("/system You are brief.")
        terminal.await_text(r">>> ")
        terminal.type("Hello")
        terminal.await_text(r"Hello\r\n\S.*\r\n.*>>> ")
        terminal.type("/set top_p 0.5")
        terminal.await_text(r">>> ")
        terminal.type('"""one')
        terminal.await_text(r"\.\.\. ")
        terminal.type('two"""')
        terminal.await_text(r"\r\n\S.*\r\n.*>>> ")
        terminal.type("/nonsense")
        terminal.await_text(r"no command /nonsense")
        terminal.type(f"/save {saved}")
        terminal.await_text(r">>> (?s:.*)>>> ")
        terminal.type("/bye")
        self.assertEqual(terminal.leave(), 0)
        with open(saved, encoding="utf-8") as file:
            conversation = json.load(file)
        self.assertEqual([message["role"] for message in conversation["messages"]], ["system", "user", "assistant", "user", "assistant"])
        self.assertEqual(conversation["messages"][3]["content"], "one\ntwo")
        self.assertEqual(conversation["settings"], {"temperature": 0, "max_tokens": 12, "top_p": 0.5})
        self.assertEqual(glob.glob(self.home + "/weft-chat-*"), [])
        self.assertEqual(os.stat(self.home + "/.local/state/weft/chat_history").st_mode & 0o777, 0o600)

        # It goes on from there, and knows what was typed.
        terminal = self.start("--load", saved)
        terminal.type("/undo")
        terminal.await_text(r">>> ")
        terminal.type(f"/save {saved}")
        terminal.await_text(r">>> ")
        terminal.press("\x1b[A\x1b[A")
        terminal.await_text(r"undo")
        terminal.press("\x03\x04")
        self.assertEqual(terminal.leave(), 0)
        with open(saved, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["messages"], conversation["messages"][:3])

    def test_ctrl_c_stops_an_answer_and_nothing_else(self):
        terminal = self.start(*LONG)
        for _ in range(5):  # the model is fast: it may have said all before it hears of it
            terminal.type("Go on and on")
            terminal.await_text(r"Go on and on\r\n\S{3}")
            os.kill(terminal.process, signal.SIGINT)
            if "(stopped)" in terminal.await_text(r">>> "):
                break
        else:
            self.fail("no answer was stopped")
        terminal.press("half a line\x03")
        terminal.await_text(r"half a line\r\n>>> ")
        for setting in ("min_tokens", "max_tokens 5"):
            terminal.type(f"/set {setting}")
            terminal.await_text(r">>> ")
        terminal.type("Again")
        terminal.await_text(r"Again\r\n(?s:.)*>>> ")
        terminal.press("\x04")
        self.assertEqual(terminal.leave(), 0)


if __name__ == "__main__":
    main("model")
