"""A log that nobody reads holds nobody up: `log_test.py --weft BINARY --model MODEL`."""

import fcntl
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest

from harness import main, options
from weft_server import ProcessLog, await_port

REQUEST_COUNT = 6000  # with 200 bytes of path each: more than pipe and queue hold
TIMEOUT_S = 30
LOST = re.compile(r" warning (\d+) lines of the log are lost")


class UnreadLog(unittest.TestCase):
    """`weft serve` with a small pipe as stderr that nobody reads until the test does."""

    def setUp(self):
        self.stdout = ProcessLog()
        self.addCleanup(self.stdout.close)
        self.read_end, write_end = os.pipe()
        self.addCleanup(os.close, self.read_end)
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
        self.process = subprocess.Popen([options.weft, "serve", "--port", "0", "--model", options.model], stdout=self.stdout.file,
                                        stderr=write_end)
        os.close(write_end)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.port = await_port(self.process, self.stdout)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        self.addCleanup(self.connection.close)

    def request(self, method, path, body=None):
        payload = None if body is None else json.dumps(body)
        self.connection.request(method, path, payload, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read().decode()
        self.assertEqual(response.status, 200, text)
        return text

    def fill(self):
        for i in range(REQUEST_COUNT):
            self.request("GET", f"/version?{i:0200}")

    def dropped(self):
        return int(re.search(r"^weft_log_lines_dropped_total (\d+)$", self.request("GET", "/metrics"), re.MULTILINE)[1])

    def read_into(self, lines):
        with os.fdopen(os.dup(self.read_end), encoding="utf-8") as log:
            lines.extend(log)

    def test_the_server_answers_and_says_what_is_missing(self):
        self.fill()
        self.request("GET", "/health")
        completion = json.loads(self.request("POST", "/v1/completions", {"prompt": "Once", "max_tokens": 8, "ignore_eos": True}))
        self.assertEqual(completion["usage"]["completion_tokens"], 8)
        dropped = self.dropped()
        self.assertGreater(dropped, 0)

        lines = []
        reader = threading.Thread(target=self.read_into, args=(lines,))
        reader.start()
        deadline = time.monotonic() + TIMEOUT_S
        while not any(LOST.search(line) for line in lines) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=TIMEOUT_S), 0)
        reader.join(TIMEOUT_S)
        self.assertFalse(reader.is_alive())
        written = sum(" info request " in line for line in lines)
        self.assertEqual(sum(int(found[1]) for line in lines if (found := LOST.search(line))), dropped)
        # The completion has a line of its own.
        self.assertEqual(written, REQUEST_COUNT + 1 - dropped)
        self.assertIn("info model ", lines[0])
        self.assertTrue(lines[-1].endswith("info shut down\n"), lines[-1])

    def test_it_ends_without_the_last_lines(self):
        self.fill()
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=TIMEOUT_S), 0)


if __name__ == "__main__":
    main("model")
