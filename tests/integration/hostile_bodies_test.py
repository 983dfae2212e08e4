"""Bodies that nobody should send, through the socket of a real server: `hostile_bodies_test.py --weft BINARY --model MODEL --venv DIRECTORY`.
What each field refuses is tested in tests/proto; here, that the answer is the error it should be and the server goes on."""

import http.client
import json

from harness import ServedCase, main


# Endpoint, what stands before the fields of a test, and where the text goes.
ENDPOINTS = {
    "/v1/completions": ('"prompt": "a"', '"prompt": %s'),
    "/v1/chat/completions": ('"messages": [{"role": "user", "content": "a"}]', '"messages": [{"role": "user", "content": %s}]'),
}

# Fields (a %s is where a text goes instead), and the code and param of the refusal; None: any path of the text.
REFUSED = [
    ('"temperature": NaN', "invalid_json", None), ('"temperature": Infinity', "invalid_json", None),
    ('"top_p": -Infinity', "invalid_json", None), ('"min_p": 1e999', "invalid_json", None),
    ('"temperature": "hot"', "invalid_value", "temperature"), ('"temperature": -0.001', "invalid_value", "temperature"),
    ('"n": 18446744073709551616', "invalid_value", "n"), ('"max_tokens": 1.5', "invalid_value", "max_tokens"),
    ('"seed": 1e30', "invalid_value", "seed"), ('"stop": [[]]', "invalid_value", "stop[0]"),
    ('"allowed_token_ids": []', "invalid_value", "allowed_token_ids"), ('"logit_bias": {"-1": 1}', "invalid_value", "logit_bias.-1"),
    ('"stop_token_ids": [99999999]', "invalid_value", "stop_token_ids[0]"),
    ('"x": {"y": [{"z": 1, "z": 2}]}', "duplicate_key", "x.y[0].z"), ('"n": 1, "n": 1', "duplicate_key", "n"),
    ('"user": "\\ud800"', "invalid_json", None), ('"user": "\\udc00\\ud800"', "invalid_json", None), ('"user": "\x01"', "invalid_json", None),
]


class HostileBodies(ServedCase):
    serve_arguments = ("--max-body", "128MiB")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.connection = http.client.HTTPConnection("127.0.0.1", cls.server.port, timeout=120)
        cls.addClassCleanup(cls.connection.close)

    def post(self, path, body):
        """(status, error or answer), all on one connection: no refusal of a body ends it."""
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        return response.status, answer.get("error", answer)

    def assert_refused(self, path, body, code, param=None):
        status, error = self.post(path, body)
        self.assertEqual((status, error.get("code"), error.get("type")), (400, code, "invalid_request_error"), error)
        if param is not None or code == "invalid_json":
            self.assertEqual(error["param"], param)
        self.assertLess(len(error["message"]), 500)

    def test_fields(self):
        for path, (base, _) in ENDPOINTS.items():
            for fields, code, param in REFUSED:
                with self.subTest(path=path, fields=fields):
                    self.assert_refused(path, f"{{{base}, {fields}}}".encode(), code, param)
            self.assertEqual(self.post(path, f'{{{base}, "max_tokens": 1}}'.encode())[0], 200)

    def test_bodies_that_are_no_object(self):
        for path in ENDPOINTS:
            for body in (b"[]", b"null", b"5", b'"prompt"'):
                self.assert_refused(path, body, "invalid_value")
            for body in (b"", b"{", b"{}x", b"\xff\xfe", b'{"user": "\xc0\xaf"}', b"\xef\xbb\xbf\xef\xbb\xbf{}", b"{\x00}"):
                self.assert_refused(path, body, "invalid_json")
            self.assert_refused(path, b"{}", "missing_required_parameter")

    def test_empty_lists(self):
        self.assert_refused("/v1/completions", b'{"prompt": []}', "invalid_value", "prompt")
        self.assert_refused("/v1/completions", b'{"prompt": [[1], []]}', "invalid_value", "prompt[1]")
        self.assert_refused("/v1/chat/completions", b'{"messages": []}', "invalid_value", "messages")
        self.assert_refused("/v1/chat/completions", b'{"messages": [{"role": "user", "content": []}]}', "invalid_value", "messages[0].content")

    def test_nesting(self):
        for path, (base, place) in ENDPOINTS.items():
            for opening in ("[", '{"a":'):
                self.assert_refused(path, f'{{{base}, "x": {opening * 10_000}'.encode(), "json_too_deep")
                self.assert_refused(path, ("{" + place % (opening * 10_000)).encode(), "json_too_deep")

    def test_a_hundred_megabytes_of_text(self):
        text = json.dumps("word " * 20_000_000)
        for path, (_, place) in ENDPOINTS.items():
            self.assert_refused(path, ("{" + place % text + "}").encode(), "context_length_exceeded", place.split('"')[1])
        self.assertEqual(self.post("/v1/completions", b'{"prompt": "a", "max_tokens": 1}')[0], 200)


if __name__ == "__main__":
    main("model", "venv", packages_required=False)
