"""curl, as people type it: `curl_test.py --weft BINARY --model MODEL --venv DIRECTORY`."""

import json
import shutil
import signal
import subprocess
import tempfile

from client_packages import skip
from harness import ServedCase, main

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


class Curl(ServedCase):
    def curl(self, path, *arguments, expected=0):
        done = subprocess.run(["curl", "-sS", "--max-time", "60", *arguments, f"http://127.0.0.1:{self.server.port}{path}"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done.stdout

    def test_get_and_head(self):
        self.assertEqual(self.curl("/health"), '{"status":"ok"}')
        self.assertIn("HTTP/1.1 200 OK", self.curl("/v1/models", "-I"))
        self.assertEqual(json.loads(self.curl("/v1/models"))["data"][0]["id"], "demo")
        self.assertIn("weft_connections ", self.curl("/metrics"))

    def test_post(self):
        body = '{"model": "demo", "messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0}'
        for arguments in (["-H", "Content-Type: application/json", "-d", body], ["--json", body], ["--http1.0", "--json", body]):
            answer = json.loads(self.curl("/v1/chat/completions", *arguments))
            self.assertIn("Weft", answer["choices"][0]["message"]["content"])

    def test_a_tool_is_called_and_its_answer_taken(self):
        def ask(messages):
            body = {"model": "demo", "messages": messages, "tools": [WEATHER], "temperature": 0}
            return json.loads(self.curl("/v1/chat/completions", "--json", json.dumps(body)))["choices"][0]

        question = {"role": "user", "content": "What is the weather in Paris?"}
        called = ask([question])
        call, = called["message"]["tool_calls"]
        self.assertEqual((called["finish_reason"], call["function"]["name"]), ("tool_calls", "get_weather"))
        self.assertEqual(json.loads(call["function"]["arguments"]), {"city": "Paris"})
        result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
        self.assertEqual(ask([question, called["message"], result])["finish_reason"], "stop")

    def test_a_form_is_told_what_to_send(self):
        error = json.loads(self.curl("/v1/completions", "-d", '{"prompt": "a"}'))["error"]
        self.assertIn("Content-Type: application/json", error["message"])

    def test_stream(self):
        text = self.curl("/v1/completions", "-N", "--json", '{"prompt": "Once", "max_tokens": 5, "stream": true}')
        self.assertTrue(text.startswith('data: {"id":"cmpl-'))
        self.assertTrue(text.endswith("data: [DONE]\n\n"))

    def test_a_stream_that_is_interrupted(self):
        body = '{"prompt": "Once", "max_tokens": 1000, "ignore_eos": true, "stream": true}'

        def leave():
            command = ["curl", "-sSN", "--json", body, f"http://127.0.0.1:{self.server.port}/v1/completions"]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as curl:
                curl.stdout.readline()
                curl.send_signal(signal.SIGINT)

        self.assert_noticed(leave)

    def test_a_long_body_waits_for_100_continue(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"prompt": "word " * 300_000}, file)
            file.flush()
            answer = self.curl("/v1/completions", "-v", "-H", "Expect: 100-continue", "--json", f"@{file.name}")
        self.assertEqual(json.loads(answer)["error"]["code"], "context_length_exceeded")

    def test_a_hundred_megabytes_are_refused_before_they_are_read(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.truncate(100_000_000)
            answer = self.curl("/v1/completions", "-w", " %{http_code} %{size_upload}", "-H", "Expect: 100-continue", "--json",
                               f"@{file.name}")
        error, status, sent = answer.rsplit(" ", 2)
        self.assertEqual((json.loads(error)["error"]["code"], status, int(sent)), ("body_too_large", "413", 0))

    def test_status_decides_the_exit_code(self):
        self.curl("/v1/nothing", "--fail", expected=22)
        self.curl("/v1/models/other", "--fail", expected=22)


def find_curl():
    if shutil.which("curl") is None:
        skip("there is no curl on the path")


if __name__ == "__main__":
    main("model", "venv", packages_required=False, prepare=find_curl)
