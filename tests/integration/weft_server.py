"""A weft server process for tests: started on a free port, awaited, spoken to with the standard library, stopped. What it
answered to anybody is held against proto/openapi.json, where the packages for that are installed (see client_packages.py)."""

import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from wire_tap import WireTap

try:
    from api_contract import Contract
except ModuleNotFoundError:  # no jsonschema
    Contract = None


class ProcessLog:
    """What a process writes: `file` is its stdout and stderr. Reading leaves the place alone at which the process goes on writing,
    which `file` shares with it."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()

    def text(self):
        handle = self.file.fileno()
        return os.pread(handle, os.fstat(handle).st_size, 0).decode(errors="replace")

    def close(self):
        self.file.close()


def await_match(process, log, pattern, timeout_s=120):
    """Where `pattern` matches what `process` writes to `log`; if it ends before or is too late, it is killed."""
    deadline = time.monotonic() + timeout_s
    while (found := re.search(pattern, log.text())) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise AssertionError(f"{process.args[0]} did not write {pattern!r}:\n{log.text()}")
        time.sleep(0.02)
    return found


def await_port(process, log):
    """The port that `weft serve --port 0` says it has taken; requests are answered from then on."""
    return int(await_match(process, log, r'(?: on |"address":")https?://127\.0\.0\.1:(\d+)[ "]')[1])


def check_contract(conversations):
    """How many answers and events were checked; raises if one was wrong."""
    contract = Contract()
    for conversation in conversations:
        contract.check(conversation)
    if contract.violations:
        faults = "\n".join(contract.violations[:20])
        raise AssertionError(f"{len(contract.violations)} times not what proto/openapi.json says:\n{faults}")
    print(f"{contract.answer_count} answers and {contract.event_count} events are what proto/openapi.json says")
    return contract.answer_count, contract.event_count


class WeftServer:
    """`with WeftServer(weft, ["--model", ...]) as server:` runs `weft serve` for the block; leaving it sends SIGTERM and
    requires a clean exit, and that all answers were what the API's description says. Clients use `port`, which keeps what is said;
    the process itself has `process_port`. Another binary than weft has another `command`."""

    def __init__(self, weft, arguments, environment=None, command="serve"):
        self.log = ProcessLog()
        self.process = subprocess.Popen([weft, command, "--port", "0", *arguments], stdout=self.log.file, stderr=subprocess.STDOUT,
                                        env={**os.environ, **(environment or {})})
        self.process_port = await_port(self.process, self.log)
        self.tap = WireTap(self.process_port)
        self.port = self.tap.port
        self.checked = None  # answers and events, once the server has been left

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"weft serve did not stop on SIGTERM:\n{self.output()}") from None
        if kind is None and code != 0:
            raise AssertionError(f"weft serve ended with {code}:\n{self.output()}")
        self.log.close()
        conversations = self.tap.close()
        if kind is None and Contract is not None:
            self.checked = check_contract(conversations)

    def output(self):
        return self.log.text()

    def request(self, method, path, body=None, timeout_s=300):
        """(status, parsed JSON or text) of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(text) if is_json and text else text
        finally:
            connection.close()

    def await_sequences(self, is_wanted):
        """Waits until so many sequences are being computed."""
        deadline = time.monotonic() + 300
        while True:
            _, metrics = self.request("GET", "/metrics")
            count = int(re.search(r"^weft_sequences_running\{.*\} (\d+)$", metrics, re.MULTILINE)[1])
            if is_wanted(count):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"{count} sequences run")
            time.sleep(0.1)

    def await_gone_client(self):
        """Waits until nothing is computed for a client that went away, and the log says so, a moment later."""
        self.await_sequences(lambda count: count == 0)
        await_match(self.process, self.log, "status=499", timeout_s=30)

    def complete(self, **fields):
        status, answer = self.request("POST", "/v1/completions", fields)
        if status != 200:
            raise AssertionError(f"status {status}: {answer}")
        return answer

    def stream(self, **fields):
        """The events of a streamed completion, in order, without the closing [DONE], which must be there."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/v1/completions", json.dumps({**fields, "stream": True}),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise AssertionError(f"status {response.status}: {response.read()}")
            body = response.read().decode()
        finally:
            connection.close()
        events = [line[len("data: "):] for line in body.split("\n\n") if line]
        if events[-1] != "[DONE]":
            raise AssertionError(f"the stream ends with {events[-1]!r}")
        return [json.loads(event) for event in events[:-1]]


def streamed_text(events, choice=0):
    return "".join(part["text"] for event in events for part in event["choices"] if part["index"] == choice)
