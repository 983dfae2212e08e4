"""What many clients together make a real server take: `memory_test.py --weft BINARY --model MODEL`."""

import collections
import concurrent.futures
import http.client
import json
import re

from harness import ServedCase, main

LIMIT_MIB = 192
CLIENTS = 24


class Memory(ServedCase):
    serve_arguments = ("--memory", f"{LIMIT_MIB}MiB")

    def peak_mib(self):
        with open(f"/proc/{self.server.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1024

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

    def test_embeddings(self):
        body = json.dumps({"input": ["word"] * 2048})
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            asked = [pool.submit(self.ask, "/v1/embeddings", body, 3) for _ in range(CLIENTS)]
            statuses = collections.Counter(status for each in asked for status in each.result())
        self.assertLess(self.peak_mib(), LIMIT_MIB)
        self.assertEqual(set(statuses), {200, 503})
        self.assertEqual(self.ask("/v1/embeddings", body, 1), [200])


if __name__ == "__main__":
    main("model")
