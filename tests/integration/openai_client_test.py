"""The official OpenAI Python client against a weft process: `openai_client_test.py --weft BINARY --model MODEL --chat-model MODEL --venv DIRECTORY`.

The client is installed from PyPI (see client_packages.py). SIGTERM is tested here too, because it needs a process.
"""

import http.client
import json
import signal
import time
import unittest

from harness import OpenAiCase, main, options
from weft_server import WeftServer


class OpenAiClient(OpenAiCase):
    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["demo"])
        self.assertEqual(self.client.models.retrieve("demo").id, "demo")

    def test_whole_and_streamed(self):
        fields = {"model": "demo", "prompt": "Once", "max_tokens": 12, "temperature": 0, "extra_body": {"ignore_eos": True}}
        whole = self.client.completions.create(**fields)
        self.assertEqual(whole.usage.completion_tokens, 12)
        self.assertEqual(whole.choices[0].finish_reason, "length")
        stream = self.client.completions.create(**fields, stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
        self.assertEqual(text, whole.choices[0].text)
        self.assertEqual(chunks[-1].usage.completion_tokens, 12)

    def test_many_choices_with_logprobs(self):
        answer = self.client.completions.create(model="demo", prompt=["a", "b"], n=2, max_tokens=3, logprobs=2, echo=True, seed=5)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2, 3])
        logprobs = answer.choices[0].logprobs
        self.assertIsNone(logprobs.token_logprobs[0])
        self.assertEqual(len(logprobs.tokens), len(logprobs.text_offset))
        self.assertTrue(answer.choices[3].text.startswith("b"))

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(self.openai.NotFoundError) as missing:
            self.client.completions.create(model="other", prompt="a")
        self.assertEqual(missing.exception.code, "model_not_found")
        with self.assertRaises(self.openai.BadRequestError) as wrong:
            self.client.completions.create(model="demo", prompt="a", temperature=9)
        self.assertEqual(wrong.exception.param, "temperature")


WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


class Chat(OpenAiCase):
    """The bundled model: it greets and calls tools."""

    model_option = "chat_model"

    def ask(self, text, **fields):
        return self.client.chat.completions.create(
            model="demo", messages=[{"role": "user", "content": text}], **{"temperature": 0, **fields})

    def test_whole_and_streamed(self):
        whole = self.ask("Who are you?")
        self.assertIn("Weft", whole.choices[0].message.content)
        self.assertEqual(whole.choices[0].message.role, "assistant")
        self.assertEqual(whole.choices[0].finish_reason, "stop")
        self.assertEqual(whole.usage.completion_tokens_details.reasoning_tokens, 0)
        chunks = list(self.ask("Who are you?", stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)

    def test_the_second_turn_finds_the_first_in_the_cache(self):
        messages = [{"role": "system", "content": "Answer in one sentence, and be polite. " * 20},
                    {"role": "user", "content": "Who are you?"}]
        def reply(**fields):
            return self.client.chat.completions.create(model="demo", messages=messages, temperature=0, max_tokens=20, **fields)
        first = reply(extra_body={"cache_salt": "nobody else's"})
        self.assertEqual(first.usage.prompt_tokens_details.cached_tokens, 0)
        again = reply(extra_body={"cache_salt": "nobody else's"})
        self.assertGreater(again.usage.prompt_tokens_details.cached_tokens, first.usage.prompt_tokens // 2)
        self.assertEqual(again.choices[0].message.content, first.choices[0].message.content)
        alone = reply(extra_body={"cache_prompt": False})
        self.assertEqual(alone.usage.prompt_tokens_details.cached_tokens, 0)
        self.assertEqual(alone.choices[0].message.content, first.choices[0].message.content)
        messages += [{"role": "assistant", "content": first.choices[0].message.content},
                     {"role": "user", "content": "And what can you do?"}]
        turn = reply(extra_body={"cache_salt": "nobody else's"})
        self.assertGreaterEqual(turn.usage.prompt_tokens_details.cached_tokens, again.usage.prompt_tokens_details.cached_tokens)

    def test_a_tool_is_called_and_its_answer_taken(self):
        question = "What is the weather in Paris?"
        whole = self.ask(question, tools=[WEATHER])
        self.assertEqual(whole.choices[0].finish_reason, "tool_calls")
        call = whole.choices[0].message.tool_calls[0]
        self.assertEqual(call.function.name, "get_weather")
        self.assertEqual(json.loads(call.function.arguments), {"city": "Paris"})
        with self.client.beta.chat.completions.stream(
                model="demo", messages=[{"role": "user", "content": question}], tools=[WEATHER], temperature=0) as stream:
            final = stream.get_final_completion()
        streamed = final.choices[0].message.tool_calls[0].function
        self.assertEqual((streamed.name, streamed.arguments), (call.function.name, call.function.arguments))
        answer = self.client.chat.completions.create(model="demo", temperature=0, tools=[WEATHER], messages=[
            {"role": "user", "content": question}, whole.choices[0].message,
            {"role": "tool", "tool_call_id": call.id, "content": '{"weather": "sunny"}'}])
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertTrue(answer.choices[0].message.content)

    def test_a_named_function_is_called(self):
        choice = {"type": "function", "function": {"name": "get_weather"}}
        answer = self.ask("What is the weather in Paris?", tools=[WEATHER], tool_choice=choice, max_tokens=60)
        self.assertEqual(answer.choices[0].message.tool_calls[0].function.name, "get_weather")

    def test_a_call_names_a_tool_that_was_offered(self):
        # The model knows get_weather, which nobody offers here.
        names = ["get", "get_time", "book_flight"]
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        called, answers = set(), 0
        for seed in range(30):
            answer = self.client.chat.completions.create(
                model="demo", messages=[{"role": "user", "content": "What is the weather in Paris?"}], tools=tools,
                tool_choice="required", temperature=1, seed=seed, max_tokens=120)
            calls = answer.choices[0].message.tool_calls or []
            called.update(call.function.name for call in calls)
            answers += bool(calls)
        self.assertLessEqual(called, set(names))
        self.assertEqual(answers, 30)

    def test_decisions(self):
        decision = self.client.decisions.create(model="demo", input="What is the weather in Paris?", questions=[
            {"type": "predicate", "name": "weather", "instructions": "Is it about the weather?"},
            {"type": "choice", "instructions": "Which city?", "choices": [{"value": "Paris"}, {"value": False}]},
            {"type": "score", "instructions": "How polite is it?", "levels": [{"label": "rude"}, {"label": "so-so"}, {"label": "kind"}]}])
        predicate, choice, score = decision.answers
        self.assertEqual((predicate.type, predicate.name), ("predicate", "weather"))
        self.assertTrue(0 <= predicate.probability <= 1)
        self.assertIn(choice.choice, ("Paris", False))
        self.assertAlmostEqual(sum(each.probability for each in choice.probabilities), 1)
        self.assertAlmostEqual(score.score, sum(each.value * each.probability for each in score.probabilities))
        self.assertEqual(decision.usage.output_tokens, 0)

    def test_a_stream_that_is_left(self):
        def leave():
            stream = self.ask("Who are you?", stream=True, extra_body={"ignore_eos": True})
            next(iter(stream))
            stream.close()

        self.assert_noticed(leave)

    def test_choices_and_logprobs(self):
        answer = self.ask("Hello!", n=3, temperature=1, seed=1, logprobs=True, top_logprobs=2, max_tokens=8)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2])
        for choice in answer.choices:
            for entry in choice.logprobs.content:
                self.assertEqual(len(entry.top_logprobs), 2)
                self.assertLessEqual(entry.logprob, 0)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(self.openai.BadRequestError) as image:
            self.client.chat.completions.create(model="demo", messages=[
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}])
        self.assertEqual(image.exception.param, "messages[0].content[0].type")
        with self.assertRaises(self.openai.BadRequestError) as schema:
            self.ask("Hi", response_format={"type": "xml"})
        self.assertEqual(schema.exception.code, "unsupported_value")
        with self.assertRaises(self.openai.BadRequestError) as long:
            self.ask("a " * 5000)
        self.assertEqual(long.exception.code, "context_length_exceeded")
        with self.assertRaises(self.openai.NotFoundError):
            self.client.chat.completions.create(model="other", messages=[{"role": "user", "content": "a"}])


class Signals(unittest.TestCase):
    def start_long_stream(self, server):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = {"prompt": "a", "max_tokens": 60, "ignore_eos": True, "stream": True, "n": 16}
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.readline()
        return response

    def test_sigterm_finishes_what_runs(self):
        with WeftServer(options.weft, ["--model", options.model]) as server:
            response = self.start_long_stream(server)
            server.process.send_signal(signal.SIGTERM)
            self.assertTrue(response.read().endswith(b"data: [DONE]\n\n"))
            self.assertEqual(server.process.wait(timeout=60), 0)

    def test_a_second_signal_stops_at_once(self):
        server = WeftServer(options.weft, ["--model", options.chat_model, "--shutdown-timeout", "600"])
        # Work for seconds keeps the first signal's shutdown waiting.
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = {"prompt": ["a"] * 64, "n": 8, "max_tokens": 400, "ignore_eos": True}
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        self.assertIsNone(server.process.poll())
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=10), 128 + signal.SIGTERM)
        connection.close()
        server.log.close()


if __name__ == "__main__":
    main("model", "chat-model", "venv")
