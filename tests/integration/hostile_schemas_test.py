"""Schemas, expressions and grammars that nobody should send, to a real server with a stream running beside them:
`hostile_schemas_test.py --weft BINARY --model MODEL --venv DIRECTORY`. Each is answered or refused (400) in bounded time and memory,
and the stream goes on. What is refused, and by which name, is tested in tests/grammar."""

import http.client
import json
import re
import struct
import subprocess
import sys
import threading
import time

from harness import ServedCase, main

ANSWER_S = 30  # many times what they take on a machine that does nothing else
GAP_S = 1
MEMORY_MIB = 400

# Prints the time after each token of endless streams.
STREAM = """
import http.client, json, struct, sys, time
while True:
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    body = json.dumps({"prompt": "a", "max_tokens": 900, "ignore_eos": True, "stream": True})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    for line in connection.getresponse():
        if line.startswith(b"data: {"):
            sys.stdout.buffer.write(struct.pack("d", time.monotonic()))
            sys.stdout.buffer.flush()
"""


def chain(keyword, length, last):
    """Definitions of which each has the next one twice."""
    schemas = {f"d{i}": {keyword: [{"required": [f"{name}{i}"], "$ref": f"#/$defs/d{i + 1}"} for name in "ab"]} for i in range(length)}
    return {"$defs": schemas | {f"d{length}": last}, "$ref": "#/$defs/d0"}


def alternatives(count):
    return "root ::= " + " | ".join(f'"a{i}"' for i in range(count)) + "\n"


PROPERTIES = {f"p{i}": {"type": "integer"} for i in range(20_000)}
SCHEMAS = {
    "10 MB": {"type": "object", "properties": {f"p{i}": {"type": "string", "description": "x" * 1000} for i in range(9_500)}},
    "10 MB in one string": {"const": "x" * 10_000_000},
    "10 MB of values": {"enum": [f"{i:06}" + "x" * 994 for i in range(10_000)]},
    "itself": {"$ref": "#"},
    "one another": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "no end": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "10,000 references": {"$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(10_000)} | {"d10000": {}}, "$ref": "#/$defs/d0"},
    "2^40 allOf": chain("allOf", 40, {"type": "object"}),
    "2^40 anyOf": chain("anyOf", 40, {"type": "object"}),
    "2^40 oneOf": chain("oneOf", 40, {"type": "object"}),
    "40 anyOf in allOf": {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(40)]},
    "20 patterns in allOf": {"type": "string", "allOf": [{"anyOf": [{"pattern": f"a.{{{i}}}b"}, {"pattern": f"c.{{{i}}}d"}]} for i in range(20)]},
    "100,000 values": {"enum": [f"value-{i * 7919 % 100003}" for i in range(100_000)]},
    "20,000 properties": {"type": "object", "properties": PROPERTIES, "required": list(PROPERTIES), "additionalProperties": False},
    "5,000 alternatives": {"anyOf": [{"type": "object", "properties": {f"a{i}": {}}, "required": [f"a{i}"]} for i in range(5_000)]},
}
EXPRESSIONS = {
    "counts of counts": "(a{1,1000}){1,1000}",
    "2^25 states": "(.*a){25}.{25}",
    "lookaheads": "".join(f"(?=.*{chr(97 + i)}.{{{i}}})" for i in range(20)) + ".*",
    "groups": "(" * 10_000 + "a" + ")" * 10_000,
    "10 MB": "a" * 10_000_000,
}
GRAMMARS = {
    "itself": "root ::= root\n",
    "left without end": 'root ::= root "a"\n',
    "in a circle": "root ::= a\na ::= b\nb ::= a\n",
    "ambiguous": 'root ::= root root | root root root | "a" | ""\n',
    "groups": "root ::= " + "(" * 10_000 + '"a"' + ")" * 10_000 + "\n",
    "60,000 alternatives": alternatives(60_000),
    "10 MB": alternatives(1_000_000),
    "Lark, itself": "start: start\n",
    "Lark, left without end": 'start: start "a"\n',
    "Lark, 10 MB": "start: " + " | ".join(f'"a{i}"' for i in range(1_000_000)) + "\n",
    "Lark, members twice": "start: %json {" + ", ".join('"a": {}' for _ in range(100_000)) + "}\n",
}


class HostileSchemas(ServedCase):
    serve_arguments = ("--max-body", "64MiB")

    def setUp(self):
        self.stream = subprocess.Popen([sys.executable, "-c", STREAM, str(self.server.process_port)], stdout=subprocess.PIPE)
        self.addCleanup(self.stream.stdout.close)
        self.addCleanup(self.stream.wait)
        self.addCleanup(self.stream.kill)
        self.tokens = [self.read_token()]
        # All the time: a pipe that is full would hold the stream up.
        threading.Thread(target=self.read_tokens, daemon=True).start()

    def read_token(self):
        time_of_token = self.stream.stdout.read(8)
        return struct.unpack("d", time_of_token)[0] if len(time_of_token) == 8 else None

    def read_tokens(self):
        while (token := self.read_token()) is not None:
            self.tokens.append(token)

    def memory_mib(self, name):
        with open(f"/proc/{self.server.process.pid}/status") as status:
            return int(re.search(name + r":\s+(\d+) kB", status.read())[1]) / 1024

    def forget_peak(self):
        with open(f"/proc/{self.server.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def ask(self, **fields):
        """The status; how long the answer took, and the worst gap of the stream meanwhile."""
        body = json.dumps({"prompt": "a", "max_tokens": 8, "temperature": 1, "seed": 1, **fields})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.process_port, timeout=2 * ANSWER_S)
        begin = time.monotonic()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        end = time.monotonic()
        connection.close()
        if response.status == 400:
            self.assertLess(len(json.loads(answer)["error"]["message"]), 1000)
        while self.tokens[-1] < end:
            time.sleep(0.001)
        worst = max(token - last for last, token in zip(self.tokens, self.tokens[1:]) if token > begin and last < end)
        return response.status, end - begin, worst

    def assert_withstood(self, name, **fields):
        with self.subTest(name):
            self.forget_peak()
            before = self.memory_mib("VmRSS")
            status, took, gap = self.ask(**fields)
            grown = self.memory_mib("VmHWM") - before
            print(f"{name}: {status} in {took:.2f} s, gap {1000 * gap:.0f} ms, {grown:.0f} MiB")
            self.assertIn(status, (200, 400))
            self.assertLess(took, ANSWER_S)
            self.assertLess(gap, GAP_S)
            self.assertLess(grown, MEMORY_MIB)

    def test_schemas(self):
        for name, schema in SCHEMAS.items():
            self.assert_withstood(name, structured_outputs={"json": schema})

    def test_expressions(self):
        for name, expression in EXPRESSIONS.items():
            self.assert_withstood(name, structured_outputs={"regex": expression})

    def test_grammars(self):
        for name, grammar in GRAMMARS.items():
            self.assert_withstood(name, structured_outputs={"grammar": grammar})

    def test_a_thousand_schemas(self):
        before = self.memory_mib("VmRSS")
        worst = 0
        for i in range(1000):
            status, _, gap = self.ask(json_schema={"type": "object", "properties": {f"a{i}": {"pattern": f"^{i}+$"}}, "required": [f"a{i}"]})
            self.assertEqual(status, 200)
            worst = max(worst, gap)
        grown = self.memory_mib("VmRSS") - before
        print(f"1,000 schemas: gap {1000 * worst:.0f} ms, {grown:.0f} MiB")
        self.assertLess(worst, GAP_S)
        self.assertLess(grown, 200)


if __name__ == "__main__":
    main("model", "venv", packages_required=False)
