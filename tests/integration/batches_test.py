"""Files and batches: the official OpenAI client against a weft process, processes that are killed at any moment, and `weft batch`:
`batches_test.py --weft BINARY --model MODEL --parity DIRECTORY --venv DIRECTORY`."""

import io
import json
import os
import random
import stat
import subprocess
import tempfile
import time
import unittest

from harness import OpenAiCase, main, options
from weft_server import WeftServer

ENDED = ("completed", "failed", "expired", "cancelled")


def line(custom_id, body, url="/v1/completions"):
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def jsonl(lines):
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def by_id(text):
    """The lines of an output by their custom_id, each of which must be there once."""
    found = {}
    for each in text.splitlines():
        answer = json.loads(each)
        if answer["custom_id"] in found:
            raise AssertionError(f"twice: {answer['custom_id']}")
        found[answer["custom_id"]] = answer
    return found


def story_lines(count, max_tokens=24):
    """Requests with a system prompt of their group's, in no order."""
    lines = [line(f"story-{i}", {"prompt": f"Group {i % 5}. " * 12 + f"Story {i}", "max_tokens": max_tokens, "temperature": 1, "seed": i})
             for i in range(count)]
    random.Random(7).shuffle(lines)
    return lines


class FilesCase(OpenAiCase):
    """`client` speaks to a server that has files."""

    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.files = os.path.join(cls.directory, "files")
        cls.serve_arguments = ("--files-dir", cls.files)
        super().setUpClass()

    def upload(self, lines):
        return self.client.files.create(file=("input.jsonl", jsonl(lines)), purpose="batch")

    def await_end(self, batch):
        deadline = time.monotonic() + 120
        while batch.status not in ENDED:
            self.assertLess(time.monotonic(), deadline, batch)
            time.sleep(0.05)
            batch = self.client.batches.retrieve(batch.id)
        return batch

    def run_batch(self, lines, **fields):
        url = lines[0]["url"]
        batch = self.client.batches.create(input_file_id=self.upload(lines).id, endpoint=url, completion_window="24h", **fields)
        self.assertEqual(batch.status, "validating")
        return self.await_end(batch)

    def output(self, file_id):
        return by_id(self.client.files.content(file_id).text)


class Files(FilesCase):
    def test_a_file_from_beginning_to_end(self):
        path = os.path.join(self.directory, "input.jsonl")
        with open(path, "wb") as file:
            file.write(jsonl(story_lines(2)))
        with open(path, "rb") as file:
            made = self.client.files.create(file=file, purpose="batch", expires_after={"anchor": "created_at", "seconds": 3600})
        self.assertEqual((made.filename, made.purpose, made.bytes), ("input.jsonl", "batch", os.path.getsize(path)))
        self.assertEqual(made.expires_at, made.created_at + 3600)
        self.assertEqual(self.client.files.retrieve(made.id), made)
        with open(path, "rb") as file:
            self.assertEqual(self.client.files.content(made.id).read(), file.read())
        self.assertTrue(self.client.files.delete(made.id).deleted)
        with self.assertRaises(self.openai.NotFoundError) as missing:
            self.client.files.retrieve(made.id)
        self.assertEqual(missing.exception.code, "file_not_found")

    def test_lists_have_pages(self):
        made = [self.upload(story_lines(1)).id for _ in range(5)]
        listed = [file.id for file in self.client.files.list(limit=2, order="asc")]  # as many pages as there are
        self.assertEqual([file for file in listed if file in made], made)
        self.assertEqual(len(self.client.files.list(limit=2).data), 2)
        for file in made:
            self.client.files.delete(file)

    def test_a_large_file_is_never_in_memory(self):
        def peak_kib():
            with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as status:
                return next(int(each.split()[1]) for each in status if each.startswith("VmHWM"))

        before = peak_kib()
        content = os.urandom(1 << 20) * 100
        made = self.client.files.create(file=("large", io.BytesIO(content)), purpose="batch")
        self.assertEqual(self.client.files.content(made.id).read(), content)
        self.assertLess(peak_kib() - before, 20 << 10)
        self.client.files.delete(made.id)

    def test_nobody_else_reads_the_directory(self):
        self.upload(story_lines(1))
        for folder, _, names in os.walk(self.files):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
            for name in names:
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600, name)


class Batches(FilesCase):
    def test_lines_get_what_requests_get(self):
        lines = story_lines(30)
        batch = self.run_batch(lines, metadata={"night": "first"})
        self.assertEqual((batch.status, batch.metadata), ("completed", {"night": "first"}))
        self.assertEqual((batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed), (30, 30, 0))
        answers = self.output(batch.output_file_id)
        self.assertEqual(len(answers), 30)
        for each in lines:
            alone = self.client.completions.create(model="demo", **each["body"])
            answer = answers[each["custom_id"]]["response"]
            self.assertEqual(answer["status_code"], 200)
            self.assertEqual(answer["body"]["choices"][0]["text"], alone.choices[0].text)
        output = self.client.files.retrieve(batch.output_file_id)
        self.assertEqual((output.purpose, output.expires_at - output.created_at), ("batch_output", 30 * 24 * 3600))

    def test_chats_and_responses(self):
        chat = {"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0}
        batch = self.run_batch([line("a", chat, "/v1/chat/completions")],
                               extra_body={"output_expires_after": {"anchor": "created_at", "seconds": 3600}})
        self.assertIn("Weft", self.output(batch.output_file_id)["a"]["response"]["body"]["choices"][0]["message"]["content"])
        output = self.client.files.retrieve(batch.output_file_id)
        self.assertEqual(output.expires_at - output.created_at, 3600)
        batch = self.run_batch([line("a", {"input": "Who are you?", "temperature": 0}, "/v1/responses"),
                                line("b", {"input": "Who are you?", "background": True}, "/v1/responses")])
        body = self.output(batch.output_file_id)["a"]["response"]["body"]
        self.assertEqual(self.client.responses.retrieve(body["id"]).output_text, body["output"][0]["content"][0]["text"])
        refused = self.output(batch.error_file_id)["b"]["response"]
        self.assertEqual((refused["status_code"], refused["body"]["error"]["param"]), (400, "background"))

    def test_what_is_wrong_is_said_by_line(self):
        batch = self.run_batch([line("a", {"prompt": "x"}), line("a", {"prompt": "y"}), line("b", {"stream": True})])
        self.assertEqual(batch.status, "failed")
        self.assertEqual([(error.code, error.line) for error in batch.errors.data],
                         [("duplicate_custom_id", 2), ("stream_not_supported", 3)])

    def test_a_batch_is_cancelled_and_listed(self):
        lines = story_lines(500, max_tokens=200)
        batch = self.client.batches.create(input_file_id=self.upload(lines).id, endpoint="/v1/completions", completion_window="24h")
        while self.client.batches.retrieve(batch.id).request_counts.completed == 0:
            time.sleep(0.02)
        self.assertIn(self.client.batches.cancel(batch.id).status, ("cancelling", "cancelled"))
        batch = self.await_end(batch)
        self.assertEqual(batch.status, "cancelled")
        self.assertLess(batch.request_counts.completed, 500)
        self.assertEqual(len(self.output(batch.output_file_id)), batch.request_counts.completed)
        self.assertEqual(self.client.batches.list(limit=1).data[0].id, batch.id)
        with self.assertRaises(self.openai.BadRequestError) as ended:
            self.client.batches.cancel(batch.id)
        self.assertEqual(ended.exception.code, "batch_has_ended")


class Pooling(unittest.TestCase):
    def test_embeddings_and_rankings(self):
        import openai

        for name, url, body in (
                ("bert", "/v1/embeddings", {"input": ["the loom", "the weft"]}),
                ("jina_reranker_v2", "/v1/rerank", {"query": "what crosses", "documents": ["the warp", "the weft crosses"]})):
            with self.subTest(url), tempfile.TemporaryDirectory() as directory, WeftServer(options.weft, [
                    "--model", os.path.join(options.parity, name, "hf"), "--files-dir", os.path.join(directory, "files"), "--memory",
                    "1GiB"]) as server:
                client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
                status, alone = server.request("POST", url, body)
                self.assertEqual(status, 200)
                file = client.files.create(file=("input.jsonl", jsonl([line("a", body, url)])), purpose="batch")
                batch = client.batches.create(input_file_id=file.id, endpoint=url, completion_window="24h")
                while batch.status not in ENDED:
                    time.sleep(0.05)
                    batch = client.batches.retrieve(batch.id)
                answer = by_id(client.files.content(batch.output_file_id).text)["a"]["response"]["body"]
                key = "data" if "data" in alone else "results"
                self.assertEqual(answer[key], alone[key])


class Killed(unittest.TestCase):
    """Processes that get no chance to leave anything in order."""

    COUNT = 300

    def serve(self, files):
        return WeftServer(options.weft, ["--model", options.model, "--served-model-name", "demo", "--files-dir", files,
                                         "--batch-lines", "4"])

    def kill(self, server):
        server.process.kill()
        server.process.wait()
        server.tap.close()
        server.log.close()

    def test_no_line_is_lost_and_none_is_there_twice(self):
        import openai

        seed = random.randrange(1 << 30)
        print(f"moments of seed {seed}")
        moments = random.Random(seed)
        lines = story_lines(self.COUNT, max_tokens=48)
        with tempfile.TemporaryDirectory() as directory:
            files = os.path.join(directory, "files")
            server = self.serve(files)
            client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
            file = client.files.create(file=("input.jsonl", jsonl(lines)), purpose="batch")
            batch = client.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
            counts = []
            for _ in range(8):
                time.sleep(moments.uniform(0, 0.5))
                self.kill(server)
                server = self.serve(files)
                client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
                counts.append(client.batches.retrieve(batch.id).request_counts.completed)
            print(f"lines done when it came back: {counts}")
            self.assertEqual(counts, sorted(counts))
            with server:
                deadline = time.monotonic() + 200
                while (batch := client.batches.retrieve(batch.id)).status not in ENDED:
                    self.assertLess(time.monotonic(), deadline, batch)
                    time.sleep(0.1)
                self.assertEqual((batch.status, batch.request_counts.completed), ("completed", self.COUNT))
                answers = by_id(client.files.content(batch.output_file_id).text)
                self.assertEqual(set(answers), {each["custom_id"] for each in lines})
                for each in random.Random(seed).sample(lines, 20):
                    alone = client.completions.create(model="demo", **each["body"])
                    self.assertEqual(answers[each["custom_id"]]["response"]["body"]["choices"][0]["text"], alone.choices[0].text)
                self.assertEqual(len(client.files.list().data), 2)
            self.assertEqual(os.listdir(os.path.join(files, "incoming")), [])
            self.assertEqual(len(os.listdir(os.path.join(files, "content"))), 2)


class Command(unittest.TestCase):
    def batch(self, *arguments):
        return subprocess.run([options.weft, "batch", "--model", options.model, *arguments], capture_output=True, text=True, check=False)

    def test_a_run_that_was_killed_goes_on(self):
        lines = story_lines(400, max_tokens=48)
        lines.append(line("wrong", {"prompt": "a", "temperature": 9}))
        with tempfile.TemporaryDirectory() as directory:
            source, output = os.path.join(directory, "in.jsonl"), os.path.join(directory, "out.jsonl")
            with open(source, "wb") as file:
                file.write(jsonl(lines))
            process = subprocess.Popen([options.weft, "batch", "--model", options.model, source, "-o", output],
                                       stderr=subprocess.DEVNULL)
            while not os.path.exists(output) or os.path.getsize(output) == 0:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.kill()
            process.wait()
            with open(output, encoding="utf-8") as file:
                before = file.read()
            self.assertLess(len(before.splitlines()), len(lines))
            with open(output, "a", encoding="utf-8") as file:
                file.write('{"id":"batch_req_cut","custom_id":"st')  # as a kill in the middle of a write leaves it
            done = self.batch(source, "-o", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(" lines of ", done.stderr)
            self.assertIn("1 of the lines were refused", done.stderr)
            with open(output, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith(before[:before.rfind("\n") + 1]))
            answers = by_id(text)
            self.assertEqual(set(answers), {each["custom_id"] for each in lines})
            self.assertEqual(answers["wrong"]["response"]["status_code"], 400)
            with WeftServer(options.weft, ["--model", options.model]) as server:
                for each in lines[:10]:
                    self.assertEqual(answers[each["custom_id"]]["response"]["body"]["choices"], server.complete(**each["body"])["choices"])
            again = self.batch(source, "-o", output, "--quiet")
            self.assertEqual((again.returncode, again.stderr), (0, ""))

    def test_what_it_does_not_take(self):
        with tempfile.TemporaryDirectory() as directory:
            source, output = os.path.join(directory, "in.jsonl"), os.path.join(directory, "out.jsonl")
            with open(source, "wb") as file:
                file.write(jsonl([line("a", {"prompt": "x"}), line("a", {"prompt": "y"})]))
            refused = self.batch(source, "-o", output)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"{source}:2: another line has the 'custom_id' 'a', too", refused.stderr)
            with open(source, "wb") as file:
                file.write(jsonl([line("a", {"prompt": "x"})]))
            with open(output, "wb") as file:
                file.write(b'{"custom_id":"other"}\n')
            refused = self.batch(source, "-o", output)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("1 of its lines answer none of", refused.stderr)
            with open(output, "rb") as file:
                self.assertEqual(file.read(), b'{"custom_id":"other"}\n')


if __name__ == "__main__":
    main("model", "parity", "venv")
