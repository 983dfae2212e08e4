"""llama-server's API as its clients use it, over plain HTTP: `llama_server_test.py --weft BINARY --model MODEL --venv DIRECTORY`.

MODEL is the bundled one. llama.vim's request is as its plugin sends it (autoload/llama.vim)."""

import json
import os
import shutil
import tempfile
import unittest

from harness import ServedCase, main, options
from weft_server import WeftServer

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "model", "fixtures", "parity", "qwen2", "hf")
STORY = "Once upon a time"
GREEDY = {"temperature": 0, "n_predict": 12, "ignore_eos": True}
VIM_FIELDS = {"n_predict": 8, "n_indent": 4, "top_k": 40, "top_p": 0.90, "stream": False, "samplers": ["top_k", "top_p", "infill"],
              "cache_prompt": True, "t_max_prompt_ms": 500, "t_max_predict_ms": 1000,
              "response_fields": ["content", "timings/prompt_n", "timings/prompt_ms", "timings/predicted_n", "truncated", "tokens_cached"]}


class LlamaServer(ServedCase):
    def post(self, path, status=200, **body):
        found, answer = self.server.request("POST", path, body)
        self.assertEqual(found, status, answer)
        return answer

    def test_whole_and_streamed(self):
        whole = self.post("/completion", prompt=STORY, **GREEDY)
        self.assertEqual((whole["tokens_predicted"], whole["stop_type"], whole["truncated"]), (12, "limit", False))
        text = self.server.request("POST", "/completion", {"prompt": STORY, "stream": True, **GREEDY})[1]
        events = [json.loads(event.removeprefix("data: ")) for event in text.strip().split("\n\n")]
        self.assertEqual("".join(event["content"] for event in events), whole["content"])
        self.assertEqual([event["stop"] for event in events], [False] * (len(events) - 1) + [True])

    def test_prompts_of_all_kinds(self):
        tokens = self.post("/tokenize", content=STORY, add_special=True)["tokens"]
        answers = self.post("/completion", prompt=[STORY, tokens, {"prompt_string": STORY}, [*tokens[:2], *tokens[2:]]], **GREEDY)
        self.assertEqual({answer["content"] for answer in answers}, {answers[0]["content"]})
        self.post("/completion", prompt=[*tokens, STORY], **GREEDY)

    def test_the_short_path_is_of_both(self):
        self.assertIn("content", self.post("/completions", prompt=STORY, n_predict=1))
        self.assertIn("choices", self.post("/completions", prompt=STORY, model="demo", max_tokens=1))
        self.assertEqual(len(self.post("/embeddings", content=["a", "b"])), 2)
        self.assertIn("data", self.post("/embeddings", input="a", model="demo"))

    def test_what_is_refused(self):
        for path in ("/props", "/lora-adapters", "/slots/0?action=erase"):
            self.assertIn("is not offered", self.post(path, 405)["error"]["message"])
        self.assertEqual(self.post("/infill", 400, input_prefix="a", input_suffix="b")["error"]["code"], 400)
        error = self.post("/chat/completions", 400, messages=[{"role": "user", "content": "a " * 5000}])["error"]
        self.assertEqual((error["type"], error["n_ctx"]), ("exceed_context_size_error", 1024))
        self.assertGreater(error["n_prompt_tokens"], 1024)
        self.assertEqual(self.post("/completion", 400, prompt="a", temperature=3)["error"]["param"], "temperature")

    def test_what_there_is(self):
        props = self.server.request("GET", "/props")[1]
        slots = self.server.request("GET", "/slots")[1]
        self.assertEqual(props["total_slots"], len(slots))
        self.assertTrue(props["model_path"].endswith(".gguf"))
        self.assertEqual(self.server.request("GET", "/v1/health")[1], {"status": "ok"})
        chat = {"messages": [{"role": "user", "content": "Hi"}]}
        counted = self.post("/v1/chat/completions/input_tokens", **chat)["input_tokens"]
        self.assertEqual(self.post("/v1/chat/completions", max_tokens=1, **chat)["usage"]["prompt_tokens"], counted)


class Vim(unittest.TestCase):
    """What llama.vim asks, of a model with tokens for filling in: a fixture, of whose tokens three are called otherwise."""

    def test_infill(self):
        with tempfile.TemporaryDirectory() as directory:
            model = os.path.join(directory, "fim")
            shutil.copytree(FIXTURE, model)
            path = os.path.join(model, "tokenizer.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for filler, name in (("<filler0>", "<|fim_prefix|>"), ("<filler1>", "<|fim_suffix|>"), ("<filler2>", "<|fim_middle|>")):
                text = text.replace(filler, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with WeftServer(options.weft, ["--model", model]) as server:
                extra = [{"filename": "a.h", "text": "int a();\n" * 40, "time": 0}]
                body = {"input_prefix": "int b() {\n", "input_suffix": "\n}\n", "input_extra": extra, "prompt": "  ret", **VIM_FIELDS}
                status, answer = server.request("POST", "/infill", body)
                self.assertEqual(status, 200, answer)
                self.assertEqual(set(answer), {field for field in VIM_FIELDS["response_fields"]})
                self.assertLessEqual(answer["timings/predicted_n"], 8)
                # While nobody types it has the server read what will be needed.
                ahead = {**body, "n_predict": 0, "samplers": [], "response_fields": [""]}
                self.assertEqual(server.request("POST", "/infill", ahead), (200, {}))


if __name__ == "__main__":
    main("model", "venv")
