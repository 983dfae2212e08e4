"""What many clients together make a real server take: `memory_test.py --weft BINARY --model MODEL`."""

import concurrent.futures
import http.client
import json
import re

from harness import ServedCase, main

LIMIT_MIB = 192


class MemoryCase(ServedCase):
    serve_arguments = ("--memory", f"{LIMIT_MIB}MiB")

    def peak_mib(self):
        with open(f"/proc/{self.server.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1024

    def forget_peak(self):
        with open(f"/proc/{self.server.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def ask(self, path, body, count):
        """The statuses of `count` requests, all on one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.process_port, timeout=300)
        connection.connect()
        socket = connection.sock
        statuses = []
        for _ in range(count):
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
            self.assertIs(connection.sock, socket, "a refusal ended the connection")
        connection.close()
        return statuses

    def ask_together(self, path, body, clients):
        """The statuses that there were."""
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            asked = [pool.submit(self.ask, path, body, 3) for _ in range(clients)]
            return {status for each in asked for status in each.result()}


class Embeddings(MemoryCase):
    def test_many_inputs(self):
        body = json.dumps({"input": ["word"] * 2048})
        statuses = self.ask_together("/v1/embeddings", body, 24)
        self.assertLess(self.peak_mib(), LIMIT_MIB)
        self.assertEqual(statuses, {200, 503})
        self.assertEqual(self.ask("/v1/embeddings", body, 1), [200])


class Values(MemoryCase):
    def test_what_takes_many_times_its_text(self):
        """An eighth of the limit is for requests; where it is spent to the last byte, malloc needs some more."""
        request = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 1}
        path = "/v1/chat/completions"
        self.assertEqual(self.ask(path, json.dumps(request), 3), [200] * 3)
        self.forget_peak()
        before_mib = self.peak_mib()
        nested = []
        for _ in range(58):
            nested = [nested]
        for values, expected in (([{"": 0}] * 25_000, {200, 503}), ([{"": 0}] * 65_000, {400}), ([nested] * 2_200, {400})):
            body = json.dumps(request | {"metadata": {"a": values}}, separators=(",", ":"))
            self.assertLessEqual(self.ask_together(path, body, 4), expected)
            self.assertLess(self.peak_mib() - before_mib, 1.5 * LIMIT_MIB / 8)
        self.assertEqual(self.ask(path, json.dumps(request), 1), [200])


if __name__ == "__main__":
    main("model")
