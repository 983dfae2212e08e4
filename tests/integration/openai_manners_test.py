"""What the official OpenAI Python client does around its requests: retries, timeouts, cancellation, asyncio, raw responses and keys.
`openai_manners_test.py --weft BINARY --model MODEL --venv DIRECTORY`."""

import asyncio
import signal
import socket
import tempfile
import time
import unittest

from harness import main, options
from weft_server import WeftServer


HELLO = [{"role": "user", "content": "Who are you?"}]
LONG = {"model": "demo", "prompt": "Once", "max_tokens": 900, "extra_body": {"ignore_eos": True}}


def start(*arguments):
    return WeftServer(options.weft, ["--model", options.model, "--served-model-name", "demo", *arguments])


def client_of(server, **named):
    import openai

    return openai.OpenAI(**{"base_url": f"http://127.0.0.1:{server.port}/v1", "api_key": "none", "max_retries": 0, **named})


class Case(unittest.TestCase):
    def assert_idle_soon(self, server):
        """Nothing is computed any more, within some seconds."""
        deadline = time.monotonic() + 10
        while 'weft_sequences_running{model="demo"} 0\n' not in server.request("GET", "/metrics")[1]:
            self.assertLess(time.monotonic(), deadline, "sequences still run")
            time.sleep(0.02)


class Retries(Case):
    """A refusal that says when to come back is no failure: the client comes back, and is served."""

    def retried(self, server, wanted_status, make_room, **fields):
        """Makes a request that is refused until `make_room` has been called; returns the answer."""
        import openai

        statuses = []

        def look(response):
            statuses.append((response.status_code, response.headers.get("retry-after")))
            if response.status_code == wanted_status:
                make_room()

        http_client = openai.DefaultHttpxClient(event_hooks={"response": [look]})
        with client_of(server, max_retries=4, http_client=http_client) as client:
            answer = client.completions.create(**{"model": "demo", "prompt": "a", "max_tokens": 1, **fields})
        self.assertEqual(statuses[0][0], wanted_status)
        self.assertIn(int(statuses[0][1]), range(1, 61))
        self.assertEqual(statuses[-1], (200, None))
        return answer

    def test_429_when_the_queue_is_full(self):
        import openai

        with start("--max-sequences", "1", "--max-waiting", "64") as server, client_of(server) as client:
            many = {**LONG, "prompt": ["Once"] * 64}
            crowd = client.completions.create(**many, stream=True)
            next(iter(crowd))
            with self.assertRaises(openai.RateLimitError) as full:
                client.completions.create(**many)
            self.assertEqual((full.exception.code, full.exception.type), ("queue_full", "rate_limit_error"))
            answer = self.retried(server, 429, crowd.close, prompt=["a"] * 64)
            self.assertEqual(len(answer.choices), 64)

    def test_503_when_there_are_too_many_connections(self):
        with start("--max-connections", "1") as server:
            idle = socket.create_connection(("127.0.0.1", server.port))
            idle.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(idle.recv(100).startswith(b"HTTP/1.1 200"))
            self.retried(server, 503, idle.close)


class Waiting(Case):
    @classmethod
    def setUpClass(cls):
        import openai

        cls.openai = openai
        cls.server = cls.enterClassContext(start())

    def test_timeouts(self):
        with client_of(self.server, timeout=0.1) as client:
            with self.assertRaises(self.openai.APITimeoutError):
                client.completions.create(**LONG, n=16)
            self.assert_idle_soon(self.server)
            self.assertTrue(client.with_options(timeout=60).completions.create(model="demo", prompt="a", max_tokens=1).choices)

    def test_a_stream_that_is_left(self):
        with client_of(self.server) as client, client.completions.create(**LONG, n=8, stream=True) as stream:
            next(iter(stream))
        self.assert_idle_soon(self.server)

    def test_choices_of_a_stream_are_told_apart(self):
        with client_of(self.server) as client:
            fields = {"model": "demo", "messages": HELLO, "n": 3, "seed": 2, "max_tokens": 12}
            whole = client.chat.completions.create(**fields)
            texts = [""] * 3
            for chunk in client.chat.completions.create(**fields, stream=True):
                for choice in chunk.choices:
                    texts[choice.index] += choice.delta.content or ""
            self.assertEqual(texts, [choice.message.content for choice in whole.choices])

    def test_raw_responses(self):
        with client_of(self.server) as client:
            fields = {"model": "demo", "messages": HELLO, "temperature": 0}
            raw = client.chat.completions.with_raw_response.create(**fields, extra_headers={"X-Request-Id": "my-own.1"})
            self.assertEqual(raw.headers["x-request-id"], "my-own.1")
            answer = raw.parse()
            self.assertEqual(answer._request_id, "my-own.1")
            with client.chat.completions.with_streaming_response.create(**fields, stream=True) as response:
                self.assertTrue(response.headers["content-type"].startswith("text/event-stream"))
                self.assertEqual([line for line in response.iter_lines() if line][-1], "data: [DONE]")

    def test_asyncio(self):
        async def run():
            async with self.openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none", max_retries=0) as client:
                ask = {"model": "demo", "messages": HELLO, "temperature": 0, "max_tokens": 16}
                replies = await asyncio.gather(*[client.chat.completions.create(**ask) for _ in range(8)])
                text = ""
                async for chunk in await client.chat.completions.create(**ask, stream=True):
                    text += "".join(choice.delta.content or "" for choice in chunk.choices)
                long = asyncio.create_task(client.completions.create(**LONG, n=16))
                await asyncio.sleep(0.1)
                long.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await long
            self.assertEqual({reply.choices[0].message.content for reply in replies}, {text})

        asyncio.run(run())
        self.assert_idle_soon(self.server)


class Room(Case):
    """What does not fit is refused in OpenAI's words, which clients match, or clamped."""

    def ask(self, client, tokens):
        yield lambda: client.chat.completions.create(model="demo", messages=HELLO, max_completion_tokens=tokens)
        yield lambda: client.chat.completions.create(model="demo", messages=HELLO, max_tokens=tokens)
        yield lambda: client.completions.create(model="demo", prompt="Once", max_tokens=tokens)
        yield lambda: client.responses.create(model="demo", input="Who are you?", max_output_tokens=tokens)

    def test_more_tokens_than_the_context_has(self):
        import openai

        with start() as server, client_of(server) as client:
            for create in self.ask(client, 100_000):
                with self.assertRaises(openai.BadRequestError) as wide:
                    create()
                self.assertEqual(wide.exception.code, "context_length_exceeded")
                self.assertRegex(wide.exception.body["message"],
                                 r"^This model's maximum context length is \d+ tokens\. However, you requested \d+ tokens "
                                 r"\(\d+ in the \w+, 100000 in the completion\)\. Please reduce the length of the \w+ or completion\.$")
            for create in list(self.ask(client, -1))[:2]:
                self.assertEqual(create().choices[0].finish_reason, "stop")
        with start("--clamp-max-tokens") as server, client_of(server) as client:
            for create in self.ask(client, 100_000):
                self.assertTrue(create())


class Names(Case):
    """Servers are called as their clients have been told, whatever that was."""

    def test_names_paths_and_defaults(self):
        arguments = ["--served-model-name", "gpt-4o", "--any-model-name", "--default", "temperature=0", "--default", "seed=5"]
        with start(*arguments) as server:
            with client_of(server) as client, client_of(server, base_url=f"http://127.0.0.1:{server.port}") as short:
                self.assertEqual([model.id for model in client.models.list()], ["demo", "gpt-4o"])
                answers = [client.chat.completions.create(model=name, messages=HELLO) for name in ("demo", "gpt-4o", "o9")]
                answers.append(short.chat.completions.create(model="demo", messages=HELLO))
                self.assertEqual(len({answer.choices[0].message.content for answer in answers}), 1)
                self.assertEqual({answer.model for answer in answers}, {"demo"})
                self.assertEqual(short.models.retrieve("gpt-4o").id, "gpt-4o")
                completion = short.completions.create(model="demo", prompt="Once", max_tokens=3)
                self.assertEqual({answer.system_fingerprint for answer in answers}, {completion.system_fingerprint})
            self.assertEqual(server.request("GET", "/"), (200, "Weft is running\n"))
            status, props = server.request("GET", "/props")
            self.assertEqual((status, props["default_generation_settings"]["params"]["temperature"]), (200, 0))

    def test_hints(self):
        with start() as server, client_of(server) as client:
            plain = client.chat.completions.create(model="demo", messages=HELLO, temperature=0)
            hinted = client.chat.completions.create(
                model="demo", messages=HELLO, temperature=0, verbosity="low", service_tier="flex", store=True, metadata={"a": "b"},
                prediction={"type": "content", "content": "x"}, safety_identifier="s", prompt_cache_key="k", user="u",
                prompt_cache_retention="24h", web_search_options={"search_context_size": "low"})
            self.assertEqual(hinted.choices, plain.choices)


class Keys(Case):
    def test_keys(self):
        import openai

        with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
            file.write("alice:sk-alice-0123456789abcdef\n")
            file.flush()
            with start("--api-key-file", file.name) as server:
                with client_of(server) as client, self.assertRaises(openai.AuthenticationError) as unknown:
                    client.models.list()
                self.assertEqual((unknown.exception.status_code, unknown.exception.code), (401, "invalid_api_key"))
                with client_of(server, api_key="sk-alice-0123456789abcdef") as client:
                    self.assertEqual([model.id for model in client.models.list()], ["demo"])
                    file.seek(0)
                    file.write("bob:sk-bob-0123456789abcdef01\n")
                    file.truncate()
                    file.flush()
                    server.process.send_signal(signal.SIGHUP)
                    deadline = time.monotonic() + 10
                    with self.assertRaises(openai.AuthenticationError):
                        while time.monotonic() < deadline:
                            client.models.list()
                            time.sleep(0.02)


if __name__ == "__main__":
    main("model", "venv")
