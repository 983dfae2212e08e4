"""Front ends that are no packages to be installed beside a test: `front_ends_test.py --weft BINARY --model MODEL --venv DIRECTORY`.
What their servers send is sent here, as it stands in their source."""

import datetime
import json
import time

from harness import ServedCase, main

QUESTION = {"role": "user", "content": "What is the weather in Paris?"}
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


class OpenWebUi(ServedCase):
    """Open WebUI 0.12.4: routers/openai.py, routers/ollama.py, utils/payload.py, retrieval/utils.py."""

    @classmethod
    def tearDownClass(cls):
        assert "ignored_fields" not in cls.server.output(), cls.server.output()

    def post(self, path, body, expected=200):
        status, answer = self.server.request("POST", path, body)
        self.assertEqual(status, expected, answer)
        return answer

    def events(self, text):
        lines = text.split("\n\n")
        self.assertEqual(lines[-2:], ["data: [DONE]", ""])
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def lines(self, text):
        return [json.loads(line) for line in text.splitlines()]

    def test_a_connection_is_verified_and_its_models_listed(self):
        status, models = self.server.request("GET", "/v1/models")
        self.assertEqual((status, [model["id"] for model in models["data"]]), (200, ["demo"]))
        self.assertEqual(self.server.request("GET", "/api/version"), (200, {"version": "0.13.0"}))
        _, tags = self.server.request("GET", "/api/tags")
        # It tells models apart by "model", shows "name", and takes the rest into its own answers.
        self.assertEqual([(each["model"], each["name"]) for each in tags["models"]], [("demo:latest", "demo:latest")])
        _, loaded = self.server.request("GET", "/api/ps")
        self.assertEqual([each["model"] for each in loaded["models"]], ["demo:latest"])
        self.assertGreater(int(datetime.datetime.fromisoformat(loaded["models"][0]["expires_at"]).timestamp()), time.time())
        self.assertIn("tools", self.post("/api/show", {"model": "demo:latest"})["capabilities"])

    def test_openai_chats(self):
        body = {"stream": True, "model": "demo", "messages": [QUESTION], "stream_options": {"include_usage": True}, "tools": [WEATHER],
                "temperature": 0.0, "top_p": 1.0, "min_p": 0.0, "max_tokens": 100, "frequency_penalty": 0.0, "presence_penalty": 0.0,
                "reasoning_effort": "low", "seed": 1, "stop": ["###"]}
        events = self.events(self.post("/v1/chat/completions", body))
        calls = [call for event in events for choice in event["choices"] for call in choice["delta"].get("tool_calls", [])]
        self.assertEqual((calls[0]["index"], calls[0]["function"]["name"]), (0, "get_weather"))
        arguments = "".join(call["function"].get("arguments", "") for call in calls)
        self.assertEqual(json.loads(arguments), {"city": "Paris"})
        self.assertGreater(events[-1]["usage"]["completion_tokens"], 0)

        call = {"index": 0, "id": calls[0]["id"], "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
        result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
        body["messages"] += [{"role": "assistant", "content": "", "tool_calls": [call]}, result]
        events = self.events(self.post("/v1/chat/completions", body))
        self.assertEqual([choice["finish_reason"] for event in events for choice in event["choices"]][-1], "stop")

    def test_what_it_asks_besides(self):
        """Titles, tags and questions to go on with are chats of their own."""
        answer = self.post("/v1/chat/completions", {"model": "demo", "messages": [QUESTION], "stream": False})
        self.assertTrue(answer["choices"][0]["message"]["content"])

    def test_ollama_chats(self):
        body = {"model": "demo:latest", "messages": [QUESTION], "options": {"temperature": 0.0, "num_predict": 100}, "stream": True,
                "tools": [WEATHER]}
        lines = self.lines(self.post("/api/chat", body))
        call, = [call for line in lines for call in line["message"].get("tool_calls", [])]
        self.assertEqual((call["function"]["name"], call["function"]["arguments"]), ("get_weather", {"city": "Paris"}))
        sent = {"index": 0, "id": "call_1", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
        body["messages"] += [{"role": "assistant", "tool_calls": [sent], "content": ""},
                             {"role": "tool", "content": "sunny", "tool_call_id": "call_1"}]
        lines = self.lines(self.post("/api/chat", body))
        self.assertEqual((lines[-1]["done"], lines[-1]["done_reason"]), (True, "stop"))
        for count in ("total_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration"):
            self.assertGreater(lines[-1][count], 0)

    def test_vectors(self):
        vectors = self.post("/v1/embeddings", {"input": ["a", "b"], "model": "demo"})["data"]
        self.assertEqual([len(vectors), vectors[1]["index"]], [2, 1])
        self.assertEqual(len(self.post("/api/embed", {"input": ["a", "b"], "model": "demo:latest", "truncate": True})["embeddings"]), 2)

    def test_errors(self):
        """It shows its users "error" of Ollama's, "error.message" of OpenAI's."""
        error = self.post("/v1/chat/completions", {"model": "demo", "messages": [QUESTION], "temperature": 9.0}, expected=400)["error"]
        self.assertIn("'temperature'", error["message"])
        error = self.post("/api/chat", {"model": "demo", "messages": [QUESTION], "options": {"top_p": 9.0}}, expected=400)["error"]
        self.assertIn("'options.top_p'", error)
        for path in ("/api/pull", "/api/push"):
            self.assertIn("is not offered", self.post(path, {"model": "demo"}, expected=403)["error"])


if __name__ == "__main__":
    main("model", "venv", packages_required=False)
