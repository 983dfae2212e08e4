"""From socket to token and back, with real models: `serve_test.py --weft BINARY --model MODEL --shared DIRECTORY --venv DIRECTORY`."""

import concurrent.futures
import json
import os
import random
import socket
import subprocess
import tempfile
import unittest

from harness import main, options
from weft_server import WeftServer, streamed_text


class Stories(unittest.TestCase):
    """A real Llama in float32 gives an independent engine's text."""

    def test_greedy_text_streamed_and_not(self):
        model = os.path.join(options.shared, "models/stories260K.gguf")
        if not os.path.exists(model):
            self.skipTest(f"{model} is absent: the data set lies beside the project, not in it")
        with open(os.path.join(options.shared, "models/stories260K.expected.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        self.assertGreater(len(cases), 0)
        with WeftServer(options.weft, ["--model", model, "--compute", "f32"]) as server:
            for case in cases:
                with self.subTest(prompt=case["prompt"]):
                    fields = {"prompt": case["prompt"], "max_tokens": len(case["tokens"]), "temperature": 0, "ignore_eos": True}
                    whole = server.complete(**fields)
                    self.assertEqual(whole["choices"][0]["text"], case["text"])
                    self.assertEqual(whole["usage"]["prompt_tokens"], len(case["prompt_tokens"]))
                    self.assertEqual(whole["usage"]["completion_tokens"], len(case["tokens"]))
                    self.assertEqual(streamed_text(server.stream(**fields)), case["text"])
                    by_ids = server.complete(**{**fields, "prompt": case["prompt_tokens"]})
                    self.assertEqual(by_ids["choices"][0]["text"], case["text"])


class ServiceManager(unittest.TestCase):
    """What systemd hears of a service of Type=notify."""

    def notified(self, address):
        """The messages of a server's life, as {name: value}; those after the first that says READY came when requests were answered."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(address.replace("@", "\0"))
            manager.settimeout(60)
            messages = []

            def hear_until(name):
                while not messages or name not in messages[-1]:
                    messages.append(dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines()))

            with WeftServer(options.weft, ["--model", options.model, "--shutdown-timeout", "77"], {"NOTIFY_SOCKET": address}) as server:
                hear_until("READY")
                self.assertEqual(server.request("GET", "/ready")[0], 200)
            hear_until("STOPPING")
        return messages

    def test_ready_and_stopping(self):
        with tempfile.TemporaryDirectory() as folder:
            first, *_, ready, stopping = self.notified(os.path.join(folder, "notify"))
        self.assertEqual(first, {"STATUS": "looking for the models", "EXTEND_TIMEOUT_USEC": "300000000"})
        self.assertEqual(ready, {"READY": "1", "STATUS": "1 models, 1 loaded"})
        self.assertEqual(stopping, {"STOPPING": "1", "STATUS": "running requests end", "EXTEND_TIMEOUT_USEC": "87000000"})

    def test_over_an_abstract_address(self):
        self.assertEqual(self.notified(f"@weft-test-{os.getpid()}")[-2]["READY"], "1")

    def test_nobody_listens(self):
        for address in ("/nowhere/notify", "notify", "/" + 200 * "x"):
            with WeftServer(options.weft, ["--model", options.model], {"NOTIFY_SOCKET": address}) as server:
                self.assertEqual(server.request("GET", "/ready")[0], 200)
                self.assertIn("NOTIFY_SOCKET", server.output())


class Crowd(unittest.TestCase):
    """A request's answer is the same bytes alone and in a crowd."""

    def requests(self, count):
        draw = random.Random(7)
        words = "once upon a time there was an old king who had three clever daughters and a golden bird".split()
        for i in range(count):
            prompt = " ".join(draw.choices(words, k=draw.choice([1, 3, 20, 120])))
            fields = {"prompt": prompt, "max_tokens": draw.randint(1, 64), "ignore_eos": draw.random() < 0.5}
            if i % 2 == 0:
                fields.update(temperature=0)
            else:
                fields.update(temperature=1.0, top_p=0.95, top_k=50, seed=i, n=draw.choice([1, 1, 2]))
            yield fields

    def test_32_streams_equal_the_same_requests_alone(self):
        requests = list(self.requests(32))
        with WeftServer(options.weft, ["--model", options.model, "--max-batch-tokens", "64"]) as server:
            alone = [server.complete(**fields) for fields in requests]
            with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
                crowd = list(pool.map(lambda fields: server.stream(**fields), requests))
        for fields, single, events in zip(requests, alone, crowd):
            for choice in single["choices"]:
                with self.subTest(fields=fields, choice=choice["index"]):
                    self.assertEqual(streamed_text(events, choice["index"]), choice["text"])
                    reasons = [part["finish_reason"] for event in events for part in event["choices"]
                               if part["index"] == choice["index"] and part["finish_reason"]]
                    self.assertEqual(reasons, [choice["finish_reason"]])


def parity_model(name):
    return os.path.join(os.path.dirname(__file__), "../model/fixtures/parity", name, "model.gguf")


class SeveralModels(unittest.TestCase):
    """Two models are two engines in one process: requests go by name."""

    CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "temperature": 0}

    def test_a_chat_with_one_and_embeddings_of_the_other(self):
        models = ["--model", options.model, "--model", parity_model("bert"), "--served-model-name", "writer",
                  "--served-model-name", "encoder", "--memory", "512MiB"]
        with WeftServer(options.weft, ["--model", options.model]) as server:
            alone = server.request("POST", "/v1/chat/completions", self.CHAT)[1]["choices"]
        with WeftServer(options.weft, models) as server:
            self.assertEqual([model["id"] for model in server.request("GET", "/v1/models")[1]["data"]], ["writer", "encoder"])
            for chat in (self.CHAT, {**self.CHAT, "model": "writer"}):
                status, answer = server.request("POST", "/v1/chat/completions", chat)
                self.assertEqual((status, answer["model"], answer["choices"]), (200, "writer", alone))
            status, answer = server.request("POST", "/v1/embeddings", {"model": "encoder", "input": "hello"})
            self.assertEqual((status, answer["model"]), (200, "encoder"))
            status, answer = server.request("POST", "/v1/chat/completions", {**self.CHAT, "model": "encoder"})
            self.assertEqual(status, 400)
            self.assertIn("'encoder' is an encoder, which generates no text", answer["error"]["message"])
            status, answer = server.request("POST", "/v1/embeddings", {"model": "nobody", "input": "hello"})
            self.assertEqual((status, answer["error"]["code"]), (404, "model_not_found"))
            metrics = server.request("GET", "/metrics")[1]
            self.assertRegex(metrics, r'weft_prompt_tokens_total\{model="encoder"\} [1-9]')
            self.assertRegex(metrics, r'weft_prompt_tokens_total\{model="writer"\} [1-9]')

    def test_answers_are_the_same_while_the_other_model_is_busy(self):
        draw = random.Random(3)
        texts = [" ".join(draw.choices("the old king had three golden birds".split(), k=draw.randint(1, 12))) for _ in range(200)]
        embedding = {"model": "model", "input": texts}
        chats = [{"model": "weft-demo", "prompt": text, "max_tokens": 40, "ignore_eos": True, "seed": i} for i, text in enumerate(texts[:8])]
        with WeftServer(options.weft, ["--model", options.model, "--model", parity_model("bert"), "--memory", "512MiB"]) as server:
            vectors = server.request("POST", "/v1/embeddings", embedding)[1]["data"]
            alone = [server.complete(**chat)["choices"] for chat in chats]
            with concurrent.futures.ThreadPoolExecutor(2 * len(chats)) as pool:
                busy = [pool.submit(server.request, "POST", "/v1/embeddings", embedding) for _ in chats]
                crowd = [pool.submit(server.complete, **chat) for chat in chats]
                self.assertEqual([answer.result()["choices"] for answer in crowd], alone)
                for answer in busy:
                    self.assertEqual(answer.result()[1]["data"], vectors)

    def test_what_two_models_cannot_have_is_said_at_the_start(self):
        def refusal(*arguments):
            ended = subprocess.run([options.weft, "serve", "--port", "0", "--log-level", "error", *arguments], capture_output=True,
                                   text=True, timeout=120)
            self.assertNotEqual(ended.returncode, 0)
            return ended.stderr

        bert = parity_model("bert")
        both = ["--model", options.model, "--model", bert]
        self.assertIn("would both be called 'model'", refusal("--model", bert, "--model", parity_model("llama2")))
        self.assertIn("would both be called 'a'", refusal(*both, "--served-model-name", "a", "--served-model-name", "a"))
        self.assertIn("--served-model-name is there 1 times, for 2 models", refusal(*both, "--served-model-name", "a"))
        self.assertIn("--task summarization: no model here has this task", refusal(*both, "--task", "summarization"))
        self.assertIn("--task summarization: the model is no encoder-decoder", refusal(*both, "--task", "model=summarization"))
        self.assertIn("--context 100000 is more than", refusal(*both, "--context", "100000"))
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write("{{ messages[0].content }}")
            template.flush()
            self.assertIn("the model 'model' holds no conversations", refusal(*both, "--chat-template", f"model={template.name}"))
            with WeftServer(options.weft, [*both, "--chat-template", template.name, "--context", "600"]) as server:
                status, answer = server.request("POST", "/apply-template", self.CHAT)
                self.assertEqual((status, answer["prompt"]), (200, "Hi"))
                contexts = {model["id"]: model["max_model_len"] for model in server.request("GET", "/v1/models")[1]["data"]}
                self.assertEqual(contexts["weft-demo"], 600)
                self.assertLess(contexts["model"], 600)


class ChatTemplates(unittest.TestCase):
    """A model whose template is missing or at fault is served, and the log says so."""

    CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}

    def test_a_model_without_a_template_gets_chatml(self):
        with WeftServer(options.weft, ["--model", parity_model("llama2")]) as server:
            self.assertRegex(server.output(), r"warning the model brings no chat template: chats are written as ChatML")
            status, answer = server.request("POST", "/apply-template", self.CHAT)
            self.assertEqual((status, answer["prompt"]), (200, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"))
            self.assertEqual(server.request("POST", "/v1/chat/completions", self.CHAT)[0], 200)

    def test_a_template_that_cannot_render_a_plain_chat_is_named_at_the_start(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write("{{ raise_exception('tell me of a system first') }}")
            template.flush()
            with WeftServer(options.weft, ["--model", options.model, "--chat-template", template.name]) as server:
                self.assertRegex(server.output(), r"warning the chat template cannot render a plain chat, "
                                                  r"one message of the user: tell me of a system first;")
                status, answer = server.request("POST", "/v1/chat/completions", self.CHAT)
                self.assertEqual((status, answer["error"]["message"]), (400, "tell me of a system first"))


if __name__ == "__main__":
    main("model", "shared", "venv", packages_required=False)
