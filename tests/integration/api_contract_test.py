"""proto/openapi.json is valid, what checks answers against it can say no, and every kind of answer passes:
`api_contract_test.py --weft BINARY --model MODEL --venv DIRECTORY`."""

import copy
import json
import re
import unittest

from harness import main, options
from weft_server import WeftServer
from wire_tap import Conversation


USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}}
COMPLETION = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "system_fingerprint": "fp_1",
              "choices": [{"index": 0, "text": "a", "logprobs": None, "finish_reason": "stop"}], "usage": USAGE}
CHUNK = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "system_fingerprint": "fp_1",
         "choices": [{"index": 0, "text": "a", "logprobs": None, "finish_reason": None}]}
ERROR = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": "invalid_value"}}
ANY_REQUEST = {"prompt": "a"}


def conversation(answer, status=200, kind="application/json", request=None, target="/v1/completions", headers="X-Request-Id: 1\r\n"):
    body = json.dumps(ANY_REQUEST if request is None else request).encode()
    answer = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return Conversation(
        bytearray(f"POST {target} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body),
        bytearray(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{headers}Content-Length: {len(answer)}\r\n\r\n".encode() + answer))


def stream(*events):
    return b"".join(b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n" for event in events)


def changed(value, change):
    value = copy.deepcopy(value)
    change(value)
    return value


class Checker(unittest.TestCase):
    """What is wrong is found: otherwise the other tests' answers would pass whatever they were."""

    def violations(self, *arguments, **named):
        from api_contract import Contract

        contract = Contract()
        contract.check(conversation(*arguments, **named))
        self.assertEqual(contract.answer_count, 1)
        return contract.violations

    def test_what_is_right_passes(self):
        self.assertEqual(self.violations(COMPLETION), [])
        self.assertEqual(self.violations(ERROR, 400), [])
        self.assertEqual(self.violations(stream(CHUNK, b"[DONE]"), kind="text/event-stream"), [])
        self.assertEqual(self.violations(stream(CHUNK, ERROR), kind="text/event-stream"), [])

    def test_lines(self):
        text = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "response": "a", "done": False}
        last = {**text, "done": True, "done_reason": "stop"}
        for lines, is_right in (([text, last], True), ([last], True), ([text, {"error": "no"}], True), ([text], False),
                                ([last, text], False), ([{**text, "surprise": 1}, last], False)):
            body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            found = self.violations(body, kind="application/x-ndjson", target="/api/generate", request={"prompt": "a"})
            self.assertEqual(not found, is_right, (lines, found))

    def test_wrong_bodies(self):
        for change in (lambda value: value.update(surprise=1), lambda value: value.pop("usage"),
                       lambda value: value["choices"][0].update(surprise=1), lambda value: value["choices"][0].pop("text"),
                       lambda value: value["choices"][0].update(finish_reason="length?"), lambda value: value.update(object="list"),
                       lambda value: value["usage"].update(total_tokens="2"), lambda value: value.update(id="chatcmpl-1")):
            self.assertNotEqual(self.violations(changed(COMPLETION, change)), [])
        for change in (lambda value: value["error"].pop("param"), lambda value: value["error"].update(code="oops"),
                       lambda value: value.update(detail="")):
            self.assertNotEqual(self.violations(changed(ERROR, change), 400), [])

    def test_wrong_answers(self):
        self.assertNotEqual(self.violations(ERROR, 200), [])
        self.assertNotEqual(self.violations(COMPLETION, 400), [])
        self.assertNotEqual(self.violations(ERROR, 402), [])
        self.assertNotEqual(self.violations(COMPLETION, kind="text/plain"), [])
        self.assertNotEqual(self.violations(COMPLETION, headers=""), [])
        self.assertNotEqual(self.violations(ERROR, 429), [])  # without Retry-After
        self.assertNotEqual(self.violations(COMPLETION, target="/v1/nothing"), [])
        self.assertNotEqual(self.violations(COMPLETION, request={"prompt": "a", "temperature": 3}), [])
        self.assertNotEqual(self.violations(COMPLETION, request={}), [])

    def test_wrong_streams(self):
        for events in (stream(CHUNK), stream(CHUNK, b"[DONE]", CHUNK), stream({**CHUNK, "object": "text"}, b"[DONE]"), stream(CHUNK, b"[DONE]") + b"data: ",
                       stream(changed(CHUNK, lambda value: value["choices"][0].update(x=1)), b"[DONE]")):
            self.assertNotEqual(self.violations(events, kind="text/event-stream"), [], events)


class Document(unittest.TestCase):
    def test_it_is_valid_openapi(self):
        from api_contract import Contract
        from openapi_spec_validator import OpenAPIV31SpecValidator

        document = Contract().document
        self.assertEqual([error.message for error in OpenAPIV31SpecValidator(document).iter_errors()], [])
        broken = changed(document, lambda value: value["paths"]["/health"]["get"].pop("responses"))
        broken["paths"]["/health"]["get"]["responses"] = {"two hundred": {}}
        self.assertNotEqual(list(OpenAPIV31SpecValidator(broken).iter_errors()), [])

    def test_every_field_of_a_request_is_in_the_docs(self):
        from api_contract import Contract

        with open(__file__.replace("tests/integration/api_contract_test.py", "docs/API.md"), encoding="utf-8") as file:
            text = file.read()
        missing = set()
        for name, schema in Contract().document["components"]["schemas"].items():
            if not name.endswith("Request") and name != "SamplingFields":
                continue
            for part in [schema, *schema.get("allOf", []), *schema.get("oneOf", [])]:
                missing |= {f"{name}.{field}" for field in part.get("properties", {}) if not re.search(rf"[`.]{field}[`.:]", text)}
        self.assertEqual(missing, set())

    def test_every_error_code_is_in_the_docs(self):
        from api_contract import Contract

        with open(__file__.replace("tests/integration/api_contract_test.py", "docs/API.md"), encoding="utf-8") as file:
            text = file.read()
        table = re.search(r"\n## Errors\n(.*?)\n## ", text, re.DOTALL).group(1)
        described = set(Contract().document["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"])
        written = {code for row in re.findall(r"^\| \d+ \| (.*?) \|", table, re.MULTILINE) for code in re.findall(r"`(\w+)`", row)}
        self.assertEqual(written - described, set())
        self.assertEqual({code for code in described if f"`{code}`" not in text}, set())

    def test_defaults_are_allowed_values(self):
        from api_contract import Contract

        contract = Contract()
        count = 0
        for name, schema in contract.document["components"]["schemas"].items():
            for part in [schema, *schema.get("allOf", [])]:
                for field, described in part.get("properties", {}).items():
                    if "default" in described:
                        count += 1
                        self.assertEqual(contract._errors(described, described["default"]), [], f"{name}.{field}")
        self.assertGreater(count, 30)


class Served(unittest.TestCase):
    """One answer at least of every route and kind; leaving the block checks them all."""

    def test_every_kind_of_answer(self):
        with WeftServer(options.weft, ["--model", options.model, "--max-body", "100000"]) as server:
            ask, chat = server.request, {"messages": [{"role": "user", "content": "Who are you?"}], "max_tokens": 5}
            for path in ("/health", "/ready", "/metrics", "/v1/models", "/v1/models/weft-demo", "/version", "/openapi.json",
                         "/api/tags", "/api/ps", "/api/version"):
                self.assertEqual(ask("GET", path)[0], 200, path)
                self.assertEqual(ask("HEAD", path)[0], 200, path)
            served = ask("GET", "/openapi.json")[1]
            with open(__file__.replace("tests/integration/api_contract_test.py", "proto/openapi.json"), encoding="utf-8") as file:
                written = json.load(file)
            self.assertRegex(served["info"]["version"], r"^\d+\.\d+\.\d+")
            written["info"]["version"] = served["info"]["version"]
            self.assertEqual(served, written)
            everything = {"prompt": ["a", "b"], "n": 2, "best_of": 3, "logprobs": 3, "echo": True, "prompt_logprobs": 2, "max_tokens": 4,
                          "unknown": 1}
            self.assertEqual(ask("POST", "/v1/completions", everything)[0], 200)
            self.assertEqual(ask("POST", "/v1/completions", {"prompt": [1, 2], "stream": True, "logprobs": 1})[0], 200)
            usage = {"stream": True, "stream_options": {"include_usage": True}}
            self.assertEqual(ask("POST", "/v1/completions", {"prompt": "a", **usage})[0], 200)
            self.assertEqual(ask("POST", "/v1/chat/completions", {**chat, "n": 2, "logprobs": True, "top_logprobs": 3})[0], 200)
            self.assertEqual(ask("POST", "/v1/chat/completions", {**chat, **usage, "logprobs": True})[0], 200)
            self.assertEqual(ask("POST", "/v1/messages", {**chat, "stop_sequences": ["x"], "metadata": {}})[0], 200)
            self.assertEqual(ask("POST", "/v1/messages", {**chat, "stream": True})[0], 200)
            self.assertEqual(ask("POST", "/v1/messages/count_tokens", {"messages": chat["messages"]})[0], 200)
            for path, body in (("chat", {"messages": chat["messages"]}), ("chat", {"messages": []}),
                               ("generate", {"prompt": "a", "logprobs": True}), ("embed", {"input": ["a", "b"]}),
                               ("embeddings", {"prompt": "a"}), ("show", {"verbose": True})):
                self.assertEqual(ask("POST", "/api/" + path, body)[0], 200, path)
            for body in ({"prompt": "a"}, {"prompt": "a", "return_token_strs": True}, {"content": "aé"},
                         {"content": "aé", "with_pieces": True}, {**chat, "add_special_tokens": True}):
                self.assertEqual(ask("POST", "/tokenize", body)[0], 200, body)
            self.assertEqual(ask("POST", "/detokenize", {"tokens": [1, 2]})[0], 200)
            self.assertEqual(ask("POST", "/apply-template", chat)[0], 200)
            for method, path, body, status in (
                    ("POST", "/v1/completions", {}, 400), ("POST", "/v1/chat/completions", chat | {"n": 0}, 400),
                    ("POST", "/v1/completions", {"prompt": "a", "model": "b"}, 404), ("GET", "/v1/models/other", None, 404),
                    ("GET", "/nothing", None, 404), ("POST", "/tokenize", {}, 400),
                    ("POST", "/v1/messages", chat | {"temperature": 2}, 400), ("POST", "/v1/messages", chat | {"model": "b"}, 404),
                    ("POST", "/v1/messages/count_tokens", {}, 400), ("POST", "/api/chat", chat | {"format": "x"}, 400),
                    ("POST", "/api/pull", {"model": "a"}, 403), ("POST", "/api/nothing", {}, 404), ("GET", "/api/chat", None, 405),
                    ("POST", "/detokenize", {"tokens": [-1]}, 400), ("POST", "/apply-template", {}, 400),
                    ("GET", "/v1/completions", None, 405), ("DELETE", "/health", None, 405),
                    ("POST", "/v1/completions", {"prompt": "a" * 200_000}, 413)):
                self.assertEqual(ask(method, path, body)[0], status, path)
            self.assertEqual(server.output().count(" ignored_fields=1"), 1)  # as the access log has it
        answers, _ = server.checked
        self.assertGreaterEqual(answers, 44)


if __name__ == "__main__":
    main("model", "venv")
