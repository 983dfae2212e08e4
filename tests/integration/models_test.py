"""Models that are loaded when requests name them: `models_test.py --weft BINARY --model MODEL --parity DIRECTORY`.

One folder has the bundled model twice, a small decoder, an encoder, and a decoder with a context so long that its streams last."""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import tempfile
import time
import unittest

from harness import main, options
from weft_server import WeftServer

CONTEXT = 1 << 17
OPERATOR = {"Authorization": "Bearer sk-operator-0123456789"}
USER = {"Authorization": "Bearer sk-somebody-0123456789"}


def make_folder(folder):
    folder = pathlib.Path(folder)
    parity = pathlib.Path(options.parity)
    for name in ("first", "second"):
        shutil.copy(options.model, folder / f"{name}.gguf")
    shutil.copy(parity / "qwen3" / "model.gguf", folder / "small.gguf")
    shutil.copytree(parity / "bert" / "hf", folder / "encoder")
    shutil.copytree(parity / "lfm2" / "hf", folder / "long")
    config = folder / "long" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_position_embeddings": CONTEXT}))
    (folder / "broken.gguf").write_bytes(b"GGUF and nothing else")
    (folder / "notes.txt").write_text("no model")


class ModelsCase(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        make_folder(self.folder)

    @contextlib.contextmanager
    def serving(self, *arguments):
        with WeftServer(options.weft, ["--models-dir", self.folder, *arguments]) as self.server:
            yield

    def ask(self, method, path, body=None, headers=None):
        """(status, parsed answer, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        with contextlib.closing(connection):
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            text = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(text) if is_json else text.decode(), response.headers

    def models(self):
        return {model["id"]: model for model in self.ask("GET", "/models")[1]["data"]}

    def loaded(self):
        return {name for name, model in self.models().items() if model["status"]["value"] == "loaded"}

    def await_loaded(self, names):
        deadline = time.monotonic() + 60
        while (there := self.loaded()) != names:
            self.assertLess(time.monotonic(), deadline, there)
            time.sleep(0.05)

    def complete(self, model, tokens=24):
        body = {"model": model, "prompt": "Once upon a time", "max_tokens": tokens, "temperature": 0, "logprobs": 1}
        status, answer, _ = self.ask("POST", "/v1/completions", body)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["model"], model)
        return answer["choices"]

    def error(self, *request):
        status, answer, headers = self.ask(*request)
        return status, answer["error"]["code"], answer["error"]["message"], headers

    @contextlib.contextmanager
    def streaming(self, model, tokens):
        """Another thread reads a stream of so many tokens: a future of how many it got; it has begun."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.process_port, timeout=300)
        body = {"model": model, "prompt": [5] * 8, "max_tokens": tokens, "ignore_eos": True, "stream": True,
                "stream_options": {"include_usage": True}}
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)

        def read():
            *_, last, end = [line.removeprefix(b"data: ") for line in response if line.startswith(b"data: ")]
            self.assertEqual(end, b"[DONE]\n")
            return json.loads(last)["usage"]["completion_tokens"]

        with contextlib.closing(connection), concurrent.futures.ThreadPoolExecutor(1) as pool:
            yield pool.submit(read)


class Listing(ModelsCase):
    def test_what_is_on_disk_and_what_is_loaded(self):
        with self.serving():
            models = self.models()
            self.assertEqual(set(models), {"first", "second", "small", "encoder", "long", "broken"})
            self.assertEqual({model["status"]["value"] for model in models.values()}, {"unloaded"})
            self.assertEqual(models["encoder"]["weft"]["kind"], "safetensors")
            self.assertEqual(models["first"]["weft"]["size_bytes"], pathlib.Path(options.model).stat().st_size)
            status, code, message, _ = self.error("POST", "/v1/completions", {"prompt": "a"})
            self.assertEqual((status, code), (400, "model_required"))
            self.assertIn("'first'", message)
            self.complete("small")
            self.assertEqual(self.loaded(), {"small"})
            self.assertGreater(self.models()["small"]["weft"]["memory"]["kv_bytes"], 0)
            status, answer, _ = self.ask("POST", "/v1/embeddings", {"model": "encoder", "input": "a text"})
            self.assertEqual((status, len(answer["data"])), (200, 1))
            self.assertEqual(self.loaded(), {"small", "encoder"})
            shutil.copy(pathlib.Path(self.folder) / "small.gguf", pathlib.Path(self.folder) / "new.gguf")
            self.complete("new")
            status, code, message, _ = self.error("POST", "/v1/completions", {"prompt": "a", "model": "../first"})
            self.assertEqual((status, code), (404, "model_not_found"))
            _, metrics, _ = self.ask("GET", "/metrics")
            self.assertIn("weft_models_loaded 3\n", metrics)
            self.assertIn('weft_model_loads_total{result="loaded"} 3\n', metrics)
            self.assertIn('weft_model_info{model="new",', metrics)

    def test_what_cannot_be_loaded_says_why(self):
        with self.serving():
            for _ in range(2):
                status, code, message, _ = self.error("POST", "/v1/completions", {"prompt": "a", "model": "broken"})
                self.assertEqual((status, code), (500, "model_not_loadable"))
                self.assertIn("broken.gguf", message)
            self.assertEqual(self.models()["broken"]["status"]["value"], "failed")
            shutil.copy(pathlib.Path(self.folder) / "small.gguf", pathlib.Path(self.folder) / "broken.gguf")
            self.complete("broken")

    def test_beside_models_that_stay(self):
        with self.serving("--model", options.model, "--served-model-name", "demo", "--memory", "1GiB"):
            self.assertEqual(self.loaded(), {"demo"})
            fixed = self.models()["demo"]["weft"]["memory"]
            unnamed = self.ask("POST", "/v1/completions", {"prompt": "a", "max_tokens": 1})[1]
            self.assertEqual(unnamed["model"], "demo")
            self.complete("small")
            self.assertEqual(self.models()["demo"]["weft"]["memory"], fixed)
            self.assertEqual(self.error("POST", "/models/unload", {"model": "demo"})[:2], (400, "model_is_fixed"))


class Room(ModelsCase):
    LIMIT_MIB = 45
    # 15.7 MiB are left for models, of which one of the larger ones takes 9.8 at least.
    sizes = ("--max-batch-tokens", "64", "--max-sequences", "4")
    limit = (*sizes, "--memory", f"{LIMIT_MIB}MiB")

    def test_models_take_each_others_place(self):
        with self.serving(*self.limit):
            process = f"/proc/{self.server.process.pid}"
            pathlib.Path(process, "clear_refs").write_text("5")  # the peak of the start, which has measured the machine
            first = self.complete("first")
            self.assertEqual(self.loaded(), {"first"})
            self.assertEqual(self.complete("second"), first)
            self.assertEqual(self.loaded(), {"second"})
            # The same bits, loaded once more.
            self.assertEqual(self.complete("first"), first)
            _, metrics, _ = self.ask("GET", "/metrics")
            self.assertIn('weft_models_left_total{reason="room"} 2\n', metrics)
            peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(process, "status").read_text())[1])
            self.assertLess(peak_kib, self.LIMIT_MIB * 1024)

    def test_never_under_a_stream(self):
        with self.serving(*self.limit, "--load-timeout", "0.2"), self.streaming("long", 40_000) as stream:
            status, code, _, headers = self.error("POST", "/v1/completions", {"prompt": "a", "model": "first"})
            self.assertEqual((status, code), (503, "models_busy"))
            self.assertIn("Retry-After", headers)
            self.assertEqual(self.loaded(), {"long"})
            self.assertEqual(stream.result(), 40_000)

    def test_who_waits_comes_when_the_stream_has_ended(self):
        with self.serving(*self.limit), self.streaming("long", 20_000) as stream:
            self.complete("first")
            self.assertEqual(self.loaded(), {"first"})
            self.assertEqual(stream.result(timeout=10), 20_000)

    def test_what_never_fits(self):
        with self.serving(*self.sizes, "--memory", "38MiB", "--context", str(CONTEXT)):
            self.complete("first")
            status, code, message, _ = self.error("POST", "/v1/completions", {"prompt": "a", "model": "long"})
            self.assertEqual((status, code), (400, "model_too_large"), message)
            self.assertFalse(self.models()["long"]["weft"]["fits"])
            self.assertEqual(self.loaded(), {"first"})


class Batches(ModelsCase):
    def await_end(self, batch):
        deadline = time.monotonic() + 60
        while batch["status"] in ("validating", "in_progress", "finalizing"):
            self.assertLess(time.monotonic(), deadline, batch)
            time.sleep(0.05)
            batch = self.ask("GET", f"/v1/batches/{batch['id']}")[1]
        self.assertEqual(batch["status"], "completed", batch)
        return batch

    def run_batch(self, bodies):
        """({custom_id: body of the answer}, {custom_id: code of the error})"""
        lines = "".join(json.dumps({"custom_id": name, "method": "POST", "url": "/v1/completions", "body": body}) + "\n"
                        for name, body in bodies.items())
        form = ('--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; '
                f'name="file"; filename="in.jsonl"\r\n\r\n{lines}\r\n--b--\r\n')
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/files", form, {"Content-Type": "multipart/form-data; boundary=b"})
            file = json.loads(connection.getresponse().read())["id"]
        batch = self.await_end(self.ask("POST", "/v1/batches", {"input_file_id": file, "endpoint": "/v1/completions",
                                                                "completion_window": "24h"})[1])
        answers, errors = ({answer["custom_id"]: answer["response"]["body"] for answer in self.lines(batch[kind])}
                           for kind in ("output_file_id", "error_file_id"))
        return answers, {name: body["error"]["code"] for name, body in errors.items()}

    def lines(self, file):
        return [json.loads(line) for line in self.ask("GET", f"/v1/files/{file}/content")[1].splitlines()] if file else []

    def test_a_line_has_its_model_loaded(self):
        files = self.enterContext(tempfile.TemporaryDirectory())
        # Of the larger models there is room for one.
        with self.serving(*Room.limit, "--files-dir", str(pathlib.Path(files, "files"))):
            alone = self.complete("first")
            body = {"prompt": "Once upon a time", "max_tokens": 24, "temperature": 0, "logprobs": 1}
            bodies = {f"{model} {i}": body | {"model": model} for i in range(3) for model in ("second", "first", "small")}
            answers, errors = self.run_batch(bodies | {name: body | {"model": name} for name in ("broken", "nobody")})
            self.assertEqual(set(answers), set(bodies))
            for name, answer in answers.items():
                self.assertEqual(answer["model"], name.split()[0])
                if "small" not in name:
                    self.assertEqual(answer["choices"], alone)
            self.assertEqual(errors, {"broken": "model_not_loadable", "nobody": "model_not_found"})
            self.assertIn('weft_models_left_total{reason="room"}', self.ask("GET", "/metrics")[1])


class Leaving(ModelsCase):
    def test_idle_models_leave(self):
        with self.serving("--keep-alive", "1s"):
            self.complete("small")
            self.assertIsNotNone(self.models()["small"]["weft"]["expires_at"])
            self.await_loaded(set())
            self.complete("small")

    def test_ollamas_clients(self):
        with self.serving("--keep-alive", "-1"):
            names = {model["name"] for model in self.ask("GET", "/api/tags")[1]["models"]}
            self.assertIn("small:latest", names)
            self.assertEqual(self.ask("GET", "/api/ps")[1]["models"], [])
            loaded = self.ask("POST", "/api/generate", {"model": "small", "stream": False})[1]
            self.assertEqual(loaded["done_reason"], "load")
            (running,) = self.ask("GET", "/api/ps")[1]["models"]
            self.assertTrue(running["expires_at"].startswith("9999"))
            self.ask("POST", "/api/embed", {"model": "small:latest", "input": "a", "keep_alive": "1h"})
            (running,) = self.ask("GET", "/api/ps")[1]["models"]
            self.assertFalse(running["expires_at"].startswith("9999"))
            status, shown, _ = self.ask("POST", "/api/show", {"model": "encoder"})
            self.assertEqual((status, shown["details"]["format"]), (200, "safetensors"))
            self.assertEqual(self.loaded(), {"small"})
            left = self.ask("POST", "/api/generate", {"model": "small", "keep_alive": 0, "stream": False})[1]
            self.assertEqual(left["done_reason"], "unload")
            self.await_loaded(set())

    def test_operators(self):
        keys = pathlib.Path(self.folder) / "keys"
        keys.write_text("somebody:sk-somebody-0123456789\n")
        operators = pathlib.Path(self.folder) / "operators"
        operators.write_text("operator:sk-operator-0123456789\n")
        for file in (keys, operators):
            file.chmod(0o600)
        with self.serving("--api-key-file", str(keys), "--operator-key-file", str(operators)):
            command = {"model": "small"}
            self.assertEqual(self.error("POST", "/models/load", command, USER)[:2], (403, "operator_key_required"))
            self.assertEqual(self.ask("POST", "/models/load", command, OPERATOR)[:2], (200, {"success": True}))
            status = self.ask("GET", "/models", None, USER)[1]["data"]
            self.assertEqual([model["id"] for model in status if model["status"]["value"] == "loaded"], ["small"])
            self.assertEqual(self.ask("POST", "/models/unload", command, OPERATOR)[:2], (200, {"success": True}))
            # To name a model is everybody's.
            body = {"model": "small", "prompt": "a", "max_tokens": 1}
            self.assertEqual(self.ask("POST", "/v1/completions", body, USER)[0], 200)
            self.assertIn('key="somebody"', self.ask("GET", "/metrics", None, OPERATOR)[1])


if __name__ == "__main__":
    main("model", "parity", "venv", packages_required=False)
