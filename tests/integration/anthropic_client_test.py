"""Anthropic's official Python client against a weft process: `anthropic_client_test.py --weft BINARY --model MODEL --venv DIRECTORY`.

The client is installed from PyPI (see client_packages.py). MODEL is the bundled one, which greets and calls tools.
"""

import re
import socket
import threading
import unittest

from harness import ServedCase, main, options
from weft_server import WeftServer


WEATHER = {"name": "get_weather", "description": "The weather in a city", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
WHO = [{"role": "user", "content": "Who are you?"}]
PARIS = [{"role": "user", "content": "What is the weather in Paris?"}]


class Messages(ServedCase):
    @classmethod
    def setUpClass(cls):
        import anthropic

        super().setUpClass()
        cls.anthropic = anthropic
        cls.client = cls.enterClassContext(
            anthropic.Anthropic(base_url=f"http://127.0.0.1:{cls.server.port}", api_key="none", max_retries=0))

    def fields(self, messages, temperature=0, **fields):
        body = {"temperature": temperature}  # the client has no parameter for it any more
        return {"model": "demo", "max_tokens": 100, "messages": messages, "extra_body": body, **fields}

    def create(self, messages, **fields):
        return self.client.messages.create(**self.fields(messages, **fields))

    def test_whole_and_streamed(self):
        whole = self.create(WHO)
        self.assertEqual((whole.type, whole.role, whole.model), ("message", "assistant", "demo"))
        self.assertIn("Weft", whole.content[0].text)
        self.assertEqual((whole.stop_reason, whole.stop_sequence), ("end_turn", None))
        self.assertGreater(whole.usage.input_tokens, 0)
        self.assertGreater(whole.usage.output_tokens, 0)
        with self.client.messages.stream(**self.fields(WHO)) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual([(block.type, block.text) for block in final.content], [("text", text)])
        self.assertEqual((final.stop_reason, final.usage), (whole.stop_reason, whole.usage))

    def test_the_raw_events(self):
        kinds = [event.type for event in self.create(WHO, stream=True)]
        self.assertEqual(kinds[0:2], ["message_start", "content_block_start"])
        self.assertEqual(set(kinds[2:-3]), {"content_block_delta"})
        self.assertEqual(kinds[-3:], ["content_block_stop", "message_delta", "message_stop"])

    def test_system_blocks_and_stop_sequences(self):
        blocks = [{"role": "user", "content": [{"type": "text", "text": "Who are you?", "cache_control": {"type": "ephemeral"}}]}]
        plain = self.create(WHO, system="You are kind.")
        self.assertEqual(self.create(blocks, system=[{"type": "text", "text": "You are kind."}]).content, plain.content)
        stopped = self.create(WHO, stop_sequences=["Weft"])
        self.assertEqual((stopped.stop_reason, stopped.stop_sequence), ("stop_sequence", "Weft"))
        self.assertNotIn("Weft", "".join(block.text for block in stopped.content))
        cut = self.create(WHO, max_tokens=2)
        self.assertEqual((cut.stop_reason, cut.usage.output_tokens), ("max_tokens", 2))

    def test_what_the_assistant_has_begun_is_continued(self):
        begun = self.create(WHO).content[0].text[:8].rstrip()
        goes_on = self.create([*WHO, {"role": "assistant", "content": begun}])
        self.assertTrue(goes_on.content[0].text)
        self.assertFalse(goes_on.content[0].text.startswith(begun))

    def test_a_tool_is_called_and_its_answer_taken(self):
        whole = self.create(PARIS, tools=[WEATHER])
        self.assertEqual(whole.stop_reason, "tool_use")
        call = whole.content[-1]
        self.assertEqual((call.type, call.name, call.input), ("tool_use", "get_weather", {"city": "Paris"}))
        with self.client.messages.stream(**self.fields(PARIS, tools=[WEATHER])) as stream:
            final = stream.get_final_message()
        self.assertEqual((final.content[-1].name, final.content[-1].input, final.stop_reason), (call.name, call.input, "tool_use"))
        result = {"type": "tool_result", "tool_use_id": call.id, "content": '{"weather": "sunny"}'}
        answer = self.create([*PARIS, {"role": "assistant", "content": whole.content}, {"role": "user", "content": [result]}],
                             tools=[WEATHER])
        self.assertEqual(answer.stop_reason, "end_turn")
        self.assertTrue(answer.content[0].text)

    def test_tool_choice(self):
        named = self.create(PARIS, tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"})
        self.assertEqual(named.content[0].name, "get_weather")
        none = self.create(PARIS, tools=[WEATHER], tool_choice={"type": "none"})
        self.assertEqual([block.type for block in none.content], ["text"])

    def test_the_clients_tool_runner(self):
        @self.anthropic.beta_tool
        def get_weather(city: str) -> str:
            """The weather in a city

            Args:
                city: which
            """
            asked.append(city)
            return "sunny"

        asked = []
        final = self.client.beta.messages.tool_runner(**self.fields(PARIS, tools=[get_weather])).until_done()
        self.assertEqual(asked, ["Paris"])
        self.assertEqual(final.stop_reason, "end_turn")

    def test_count_tokens(self):
        for fields in ({"messages": WHO}, {"messages": PARIS, "tools": [WEATHER], "system": "Be kind."}):
            counted = self.client.messages.count_tokens(model="demo", **fields).input_tokens
            self.assertEqual(self.create(**fields).usage.input_tokens, counted)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(self.anthropic.BadRequestError) as wrong:
            self.create(WHO, temperature=2)
        self.assertEqual(wrong.exception.body["error"]["type"], "invalid_request_error")
        self.assertIn("'temperature' must be a number from 0 to 1", wrong.exception.body["error"]["message"])
        self.assertEqual(wrong.exception.request_id, wrong.exception.body["request_id"])
        with self.assertRaises(self.anthropic.NotFoundError) as missing:
            self.create(WHO, model="other")
        self.assertEqual(missing.exception.body["error"]["type"], "not_found_error")
        with self.assertRaises(self.anthropic.BadRequestError) as image:
            self.create([{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://a"}}]}])
        self.assertIn("messages[0].content[0].type", str(image.exception))
        with self.assertRaises(self.anthropic.BadRequestError) as search:
            self.create(WHO, tools=[SEARCH], tool_choice={"type": "tool", "name": "web_search"})
        self.assertIn("tool_choice.name", str(search.exception))

    def test_the_room_is_told_in_anthropics_words(self):
        """Agents ask for a fixed number of tokens, and match these sentences."""
        with self.assertRaises(self.anthropic.BadRequestError) as wide:
            self.create(WHO, max_tokens=20000)
        room = re.search(r"input length and `max_tokens` exceed context limit: (\d+) \+ 20000 > (\d+), "
                         r"decrease input length or `max_tokens` and try again", str(wide.exception))
        prompt, context = map(int, room.groups())
        self.assertEqual(self.create(WHO, max_tokens=context - prompt).stop_reason, "end_turn")
        with self.assertRaises(self.anthropic.BadRequestError) as long:
            self.create([{"role": "user", "content": "a " * 50000}])
        self.assertRegex(str(long.exception), rf"prompt is too long: \d+ tokens > {context} maximum")

    def test_tools_of_anthropics_servers_are_left_out(self):
        raw = self.client.messages.with_raw_response.create(**self.fields(PARIS, tools=[SEARCH, WEATHER]))
        self.assertEqual(raw.headers["weft-dropped-tools"], "web_search_20250305")
        self.assertEqual([(block.name, block.input) for block in raw.parse().content], [("get_weather", {"city": "Paris"})])

    def test_context_management(self):
        """Of two results of tools the first is cleared, and the message is as if it had never been there."""
        edits = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"},
                           {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 2},
                            "keep": {"type": "tool_uses", "value": 1}}]}
        def conversation(first):
            messages = []
            for number, result in enumerate([first, "sunny"]):
                call = {"type": "tool_use", "id": f"call_{number}", "name": "get_weather", "input": {"city": "Paris"}}
                messages += [*PARIS, {"role": "assistant", "content": [call]},
                             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": result}]}]
            return messages
        fields = self.fields(conversation("rain " * 50), tools=[WEATHER], context_management=edits,
                             betas=["context-management-2025-06-27", "of-tomorrow-2099-01-01"])
        whole = self.client.beta.messages.create(**fields)
        cleared, = whole.context_management.applied_edits
        self.assertEqual((cleared.type, cleared.cleared_tool_uses), ("clear_tool_uses_20250919", 1))
        self.assertGreater(cleared.cleared_input_tokens, 0)
        plain = self.create(conversation("[result cleared to save context]"), tools=[WEATHER])
        self.assertEqual([block.to_dict() for block in whole.content], [block.to_dict() for block in plain.content])
        deltas = [event for event in self.client.beta.messages.create(**fields, stream=True) if event.type == "message_delta"]
        self.assertEqual([event.context_management for event in deltas], [whole.context_management])
        counted = self.client.beta.messages.count_tokens(
            **{name: value for name, value in fields.items() if name not in ("max_tokens", "extra_body")})
        self.assertEqual(counted.input_tokens + cleared.cleared_input_tokens, counted.context_management.original_input_tokens)
        with self.assertRaises(self.anthropic.BadRequestError) as unknown:
            self.client.beta.messages.create(**{**fields, "context_management": {"edits": [{"type": "compact_20260112"}]}})
        self.assertIn("compact_20260112", str(unknown.exception))

    def test_hints_of_agents_are_taken(self):
        ephemeral = {"type": "ephemeral"}
        system = [{"type": "text", "text": "You are kind.", "cache_control": ephemeral}]
        hinted = self.client.beta.messages.create(**self.fields(
            WHO, system=system, tools=[{**WEATHER, "cache_control": ephemeral, "eager_input_streaming": True}], container=None,
            mcp_servers=[], metadata={"user_id": "u"}, service_tier="auto", thinking={"type": "adaptive", "display": "updates"},
            output_config={"effort": "high"}, speed="fast", betas=["interleaved-thinking-2025-05-14", "fast-mode-2026-02-01"]))
        self.assertTrue(hinted.content)

    def test_a_stream_begins_with_what_the_cache_had(self):
        long = [{"role": "user", "content": "Who are you? " * 20}]
        self.create(long)
        start = next(event for event in self.create(long, stream=True) if event.type == "message_start")
        self.assertGreater(start.message.usage.cache_read_input_tokens, 0)
        self.assertEqual(start.message.usage.cache_read_input_tokens, self.create(long).usage.cache_read_input_tokens)

    def test_models_are_listed(self):
        models = list(self.client.models.list())
        self.assertEqual([(model.type, model.id, model.display_name) for model in models], [("model", "demo", "demo")])
        self.assertEqual(self.client.models.retrieve("demo"), models[0])
        with self.assertRaises(self.anthropic.NotFoundError) as unknown:
            self.client.models.retrieve("other")
        self.assertEqual(unknown.exception.body["error"]["type"], "not_found_error")

    def test_the_requests_id(self):
        self.assertTrue(self.create(WHO)._request_id)
        raw = self.client.messages.with_raw_response.create(**self.fields(WHO, extra_headers={"X-Request-Id": "mine"}))
        self.assertEqual(raw.headers["request-id"], "mine")

    def test_a_stream_that_is_left(self):
        def leave():
            with self.create(WHO, stream=True, max_tokens=1000, extra_body={"ignore_eos": True}) as stream:
                next(event for event in stream if event.type == "content_block_delta")

        self.assert_noticed(leave)

    def test_asynchronously(self):
        import asyncio

        async def ask():
            async with self.anthropic.AsyncAnthropic(base_url=str(self.client.base_url), api_key="none") as client:
                return await asyncio.gather(*(client.messages.create(**self.fields(WHO)) for _ in range(8)))

        texts = {answer.content[0].text for answer in asyncio.run(ask())}
        self.assertEqual(texts, {self.create(WHO).content[0].text})


def only_connection(port):
    """A connection that is served, and kept; the one before it may not be over at once."""
    while True:
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if connection.recv(1000).startswith(b"HTTP/1.1 200"):
            return connection
        connection.close()


class Images(unittest.TestCase):
    def test_they_are_left_out_where_the_server_says_so(self):
        import anthropic

        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
        with WeftServer(options.weft, ["--model", options.model, "--images", "drop"]) as server:
            with anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="none") as client:
                def prompt_tokens(part):
                    messages = [{"role": "user", "content": [{"type": "text", "text": "Who are you?"}, part]}]
                    return client.messages.count_tokens(model="weft-demo", messages=messages).input_tokens
                self.assertEqual(prompt_tokens(image), prompt_tokens({"type": "text", "text": "[image left out]"}))


class Retries(unittest.TestCase):
    def test_a_busy_server_is_asked_again(self):
        import anthropic

        with WeftServer(options.weft, ["--model", options.model, "--max-connections", "1"]) as server:
            fields = {"model": "weft-demo", "max_tokens": 3, "messages": WHO}
            address = f"http://127.0.0.1:{server.port}"
            other = only_connection(server.port)
            with self.assertRaises((anthropic.InternalServerError, anthropic.APIConnectionError)):
                with anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client:
                    client.messages.create(**fields)
            threading.Timer(0.3, other.close).start()
            with anthropic.Anthropic(base_url=address, api_key="none", max_retries=5) as client:
                self.assertTrue(client.messages.create(**fields).content)


if __name__ == "__main__":
    main("model", "venv")
