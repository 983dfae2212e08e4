"""A server under mixed load for a long time: nobody fails who should not, answers are the same in the crowd as alone, and what the
process holds does not grow: `soak_test.py --weft BINARY --model MODEL`. WEFT_SOAK_SECONDS says how long (1800)."""

import json
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import ServedCase, main, options  # noqa: E402

SOAK_S = float(os.environ.get("WEFT_SOAK_SECONDS", "1800"))
ROUND_S = 20
SETTLED_ROUNDS = 4  # until every pool and cache has been used
MAX_GROWTH_KIB = 12 * 1024

HOSTILE = "cancel=10%,stall=3%,malformed=5%,stall-time=1s"
LOADS = (
    ["--endpoint", "completions", "--shared-prefix-tokens", "64", "--hostile", HOSTILE],
    ["--endpoint", "chat", "--turns", "1-4"],
    ["--endpoint", "completions", "--no-stream", "--temperature", "1", "--extra-body", '{"n": 4, "logprobs": 3}'],
    ["--endpoint", "completions", "--ignore-eos", "--verify", "10"],
)
# What the load generator does not send.
POSTS = (
    ("/v1/embeddings", {"input": ["a tale of a fox"] * 64}),
    ("/v1/responses", {"input": "Tell me a tale.", "max_output_tokens": 16, "background": True}),
    ("/v1/responses", {"input": "Tell me a tale.", "max_output_tokens": 16, "stream": True}),
    ("/v1/messages", {"messages": [{"role": "user", "content": "Tell me a tale."}], "max_tokens": 16}),
    ("/v1/completions", {"prompt": "Once", "max_tokens": 16, "use_beam_search": True, "n": 4}),
    ("/tokenize", {"prompt": "Once upon a time " * 500}),
)


class Soak(ServedCase):
    # Stored responses are kept on purpose: of so few the room is used up before anything is settled.
    serve_arguments = ("--memory", "512MiB", "--response-store", "1MiB", "--log-level", "warning")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.port = cls.server.process_port  # not through the relay, which keeps every byte

    def status(self, field):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"^{field}:\s+(\d+)", file.read(), re.MULTILINE)[1])

    def held(self):
        """What the idle process holds."""
        return {"RSS in KiB": self.status("VmRSS"), "threads": self.status("Threads"),
                "descriptors": len(os.listdir(f"/proc/{self.server.process.pid}/fd"))}

    def gauge(self, name):
        return float(re.search(rf"^{name}(?:\{{.*\}})? (\S+)$", self.server.request("GET", "/metrics")[1], re.MULTILINE)[1])

    def await_idle(self):
        deadline = time.monotonic() + 60
        while self.gauge("vllm:num_requests_running") + self.gauge("vllm:num_requests_waiting") > 0:
            self.assertLess(time.monotonic(), deadline, "sequences are left when all clients have gone")
            time.sleep(0.1)
        time.sleep(1)  # connections close

    def post_all(self, until):
        while time.monotonic() < until:
            for path, body in POSTS:
                status, answer = self.server.request("POST", path, body)
                if status != 200:
                    self.failures.append(f"{path}: {status} {answer}")

    def run_round(self, number):
        self.failures = []
        poster = threading.Thread(target=self.post_all, args=(time.monotonic() + ROUND_S,))
        poster.start()
        load = subprocess.run(
            [options.weft, "loadtest", "--url", f"http://127.0.0.1:{self.server.port}", "--concurrency", "12", "--duration",
             f"{ROUND_S}s", "--prompt-tokens", "4-120", "--max-tokens", "1-48", "--seed", str(number), "--json", "--max-cpu", "1",
             "--max-lag", "60000", "--no-progress", *LOADS[number % len(LOADS)]], capture_output=True, text=True, check=False)
        poster.join()
        self.assertEqual(load.returncode, 0, load.stdout[-3000:] + load.stderr[-3000:])
        self.assertEqual(self.failures, [])
        return json.loads(load.stdout)

    def test_nothing_grows(self):
        started = time.monotonic()
        number = 0
        while time.monotonic() < started + SOAK_S or number <= SETTLED_ROUNDS:
            self.run_round(number)
            self.await_idle()
            now = self.held()
            print(f"round {number}, {time.monotonic() - started:.0f} s: {now}", flush=True)
            if number == SETTLED_ROUNDS:
                settled = now
            number += 1
        self.assertLessEqual(now["RSS in KiB"], settled["RSS in KiB"] + MAX_GROWTH_KIB)
        self.assertLessEqual(now["descriptors"], settled["descriptors"])
        self.assertEqual(now["threads"], settled["threads"])


if __name__ == "__main__":
    main("model")
