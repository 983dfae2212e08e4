"""/v1/responses by the official OpenAI Python client, and case by case what the public Open Responses compliance suite asks for, over
the specification's own models of requests and events (its own run is described in docs/HACKING.md):
`openai_responses_test.py --weft BINARY --model MODEL --venv DIRECTORY`. The bundled model greets and calls tools.

The packages are installed from PyPI (see client_packages.py)."""

import http.client
import json
import time

from harness import OpenAiCase, main


# What Open Responses' document calls OpenAI's events of reasoning.
REASONING_EVENTS = {f"response.reasoning_text.{end}": f"response.reasoning.{end}" for end in ("delta", "done")}


def event_models(types):
    """The specification's model of each event, by its type."""
    models = [getattr(types, name) for name in dir(types) if name.endswith("StreamingEvent")]
    return {next(iter(model.model_fields["type"].annotation)).value: model for model in models}


WEATHER = {"type": "function", "name": "get_weather", "description": "Get the current weather for a location", "parameters": {
    "type": "object", "required": ["location"],
    "properties": {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}}}}
WEATHER_QUESTION = "What's the weather like in San Francisco?"


def user(text):
    return {"type": "message", "role": "user", "content": text}


class Compliance(OpenAiCase):
    """The cases of the suite, over plain HTTP and WebSockets as the suite sends them; none says how to sample."""

    @classmethod
    def setUpClass(cls):
        import openresponses_types

        super().setUpClass()
        cls.types = openresponses_types
        cls.event_models = event_models(openresponses_types.types)

    def check_event(self, event):
        kind = event["type"]
        self.event_models[REASONING_EVENTS.get(kind, kind)].model_validate(event)

    def send(self, body):
        """Greedy, unlike the suite: sampled, the bundled model now and then writes to the end of its context."""
        body = {"model": "demo", "temperature": 0, **body}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        try:
            connection.request("POST", "/v1/responses", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
            self.assertEqual(response.status, 200, text)
            return text, response.headers.get_content_type()
        finally:
            connection.close()

    def create(self, body):
        text, kind = self.send({**body, "stream": False})
        self.assertEqual(kind, "application/json")
        response = json.loads(text)
        self.types.ResponseResource.model_validate(response)
        self.assertTrue(response["output"])
        return response

    def stream(self, body):
        """The events, each held against its schema, and the final response."""
        text, kind = self.send({**body, "stream": True})
        self.assertEqual(kind, "text/event-stream")
        blocks = text.split("\n\n")
        self.assertEqual(blocks[-2:], ["data: [DONE]", ""])
        events = []
        for block in blocks[:-2]:
            name, data = block.split("\n")
            event = json.loads(data.removeprefix("data: "))
            self.assertEqual(name, f"event: {event['type']}")
            self.assertEqual(event["sequence_number"], len(events))
            self.check_event(event)
            events.append(event)
        return events, events[-1]["response"]

    def test_basic_response(self):
        self.assertEqual(self.create({"input": [user("Say hello in exactly 3 words.")]})["status"], "completed")

    def test_streaming_response(self):
        events, final = self.stream({"input": [user("Count from 1 to 5.")]})
        self.assertEqual(final["status"], "completed")
        text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        self.assertEqual(text, final["output"][0]["content"][0]["text"])

    def test_system_prompt(self):
        system = {"type": "message", "role": "system", "content": "You are a pirate. Always respond in pirate speak."}
        self.assertEqual(self.create({"input": [system, user("Say hello.")]})["status"], "completed")

    def test_tool_calling(self):
        response = self.create({"input": [user(WEATHER_QUESTION)], "tools": [WEATHER]})
        self.assertIn("function_call", [item["type"] for item in response["output"]])

    def test_tool_calling_streamed(self):
        events, _ = self.stream({"input": [user(WEATHER_QUESTION)], "tools": [WEATHER]})
        types = [event["type"] for event in events]
        self.assertIn("response.function_call_arguments.delta", types)
        self.assertIn("response.function_call_arguments.done", types)
        for kind in ("response.output_item.added", "response.output_item.done"):
            self.assertIn("function_call", [event["item"]["type"] for event in events if event["type"] == kind])

    def test_multi_turn(self):
        assistant = {"type": "message", "role": "assistant", "content": "Hello Alice! Nice to meet you. How can I help you today?"}
        response = self.create({"input": [user("My name is Alice."), assistant, user("What is my name?")]})
        self.assertEqual(response["status"], "completed")

    def test_assistant_messages_with_phases(self):
        history = [{"type": "message", "role": "assistant", "phase": phase, "content": text}
                   for phase, text in (("commentary", "I should answer with the saved number."), ("final_answer", "The number is four."))]
        self.assertEqual(self.create({"input": [*history, user("Repeat only the number.")]})["status"], "completed")

    def test_a_call_and_its_output(self):
        called = self.create({"input": [user(WEATHER_QUESTION)], "tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_weather"}})
        call = next(item for item in called["output"] if item["type"] == "function_call")
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        answer = self.create({"previous_response_id": called["id"], "input": [output]})
        self.assertEqual((answer["status"], answer["previous_response_id"]), ("completed", called["id"]))

    def test_compaction(self):
        history = [user("We agreed to launch on Tuesday and notify support first."),
                   {"type": "message", "role": "assistant", "content": "Understood. The launch is Tuesday, with support notified beforehand."}]
        status, compacted = self.server.request("POST", "/v1/responses/compact", {
            "model": "demo", "prompt_cache_key": "openresponses-compact-test", "input": history})
        self.assertEqual((status, compacted["object"]), (200, "response.compaction"), compacted)
        self.types.CompactResource.model_validate(compacted)
        self.assertEqual([item["type"] for item in compacted["output"]], ["message", "compaction"])
        going_on = [*compacted["output"], user("Continue from here. Reply with exactly: compacted")]
        self.assertEqual(self.create({"input": going_on, "tools": [], "store": False})["status"], "completed")
        self.assertEqual(self.turn(self.connect(), input=going_on, tools=[], store=False)["type"], "response.completed")
        status, answer = self.server.request("POST", "/v1/responses/compact", {"input": history})
        self.assertEqual((status, answer["error"]["param"]), (400, "model"))

    def connect(self):
        from websockets.sync.client import connect
        return self.enterContext(connect(f"ws://127.0.0.1:{self.server.port}/v1/responses"))

    def turn(self, socket, **fields):
        """Sends response.create; the last event, each held against its schema."""
        socket.send(json.dumps({"type": "response.create", "model": "demo", "temperature": 0, **fields}))
        number = 0
        while True:
            event = json.loads(socket.recv(timeout=120))
            self.assertEqual(event["sequence_number"], number)
            number += 1
            if event["type"] == "error":
                self.types.WebSocketErrorEvent.model_validate(event)
                self.assertEqual(event["error"]["code"], event["code"])
                return event
            self.check_event(event)
            if event["type"] in ("response.completed", "response.incomplete", "response.failed"):
                return event

    def test_websocket_responses_in_sequence(self):
        socket = self.connect()
        for word in ("first", "second"):
            event = self.turn(socket, input=f"Reply with exactly: {word}", store=False)
            self.assertEqual((event["type"], event["response"]["status"]), ("response.completed", "completed"))

    def test_websocket_continuation_without_a_store(self):
        socket = self.connect()
        first = self.turn(socket, input="Remember the code word: cobalt. Reply with OK.", store=False)
        question = {"input": "What is the code word?", "store": False, "previous_response_id": first["response"]["id"]}
        self.assertEqual(self.turn(self.connect(), **question)["code"], "previous_response_not_found")
        self.assertEqual(self.turn(socket, **question)["type"], "response.completed")

    def test_websocket_failed_continuation_is_forgotten(self):
        socket = self.connect()
        previous = self.turn(socket, input="Remember the code word: ember.", store=False)["response"]["id"]
        output = {"type": "function_call_output", "call_id": "call_missing", "output": "x"}
        self.assertEqual(self.turn(socket, input=[output], store=False, previous_response_id=previous)["type"], "error")
        event = self.turn(socket, input="Go on", store=False, previous_response_id=previous)
        self.assertEqual(event["code"], "previous_response_not_found")

    def test_an_image_is_refused_by_name(self):
        status, answer = self.server.request("POST", "/v1/responses", {"input": [{"role": "user", "content": [
            {"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": "data:,"}]}]})
        self.assertEqual((status, answer["error"]["param"]), (400, "input[0].content[1].type"))


class Client(OpenAiCase):
    """client.responses, all of its methods."""

    def ask(self, question, **fields):
        return self.client.responses.create(model="demo", input=question, **{"temperature": 0, **fields})

    def test_whole_and_streamed(self):
        whole = self.ask("Who are you?")
        self.assertIn("Weft", whole.output_text)
        self.assertEqual(whole.usage.output_tokens_details.reasoning_tokens, 0)
        events = list(self.ask("Who are you?", stream=True))
        self.assertEqual(events[-1].type, "response.completed")
        self.assertEqual(events[-1].response.output_text, whole.output_text)
        with self.client.responses.stream(model="demo", input="Who are you?", temperature=0) as stream:
            self.assertEqual(stream.get_final_response().output_text, whole.output_text)

    def test_a_tool_is_called_and_its_answer_taken(self):
        first = self.ask("What is the weather in Paris?", tools=[WEATHER])
        call = next(item for item in first.output if item.type == "function_call")
        self.assertEqual(call.name, "get_weather")
        # Which place is the model's business: even in float32 it gets nine of 25 cities right.
        self.assertIsInstance(json.loads(call.arguments)["location"], str)
        answer = {"type": "function_call_output", "call_id": call.call_id, "output": '{"weather": "sunny"}'}
        chained = self.ask([answer], tools=[WEATHER], previous_response_id=first.id)
        self.assertTrue(chained.output_text)
        # The same without the store.
        resent = self.ask([user("What is the weather in Paris?"), *[item.to_dict() for item in first.output], answer],
                          tools=[WEATHER], store=False)
        self.assertEqual(resent.output_text, chained.output_text)

    def test_retrieve_list_and_delete(self):
        first = self.ask("Hello!")
        second = self.ask("Who are you?", previous_response_id=first.id, metadata={"k": "v"})
        self.assertEqual(self.client.responses.retrieve(second.id).output_text, second.output_text)
        items = list(self.client.responses.input_items.list(second.id, order="asc", limit=2))  # turns pages by itself
        self.assertEqual([item.content[0].text for item in items], ["Hello!", first.output_text, "Who are you?"])
        self.client.responses.delete(second.id)
        with self.assertRaises(self.openai.NotFoundError) as gone:
            self.client.responses.retrieve(second.id)
        self.assertEqual(gone.exception.code, "response_not_found")
        with self.assertRaises(self.openai.BadRequestError) as missing:
            self.ask("And?", previous_response_id=second.id)
        self.assertEqual(missing.exception.code, "previous_response_not_found")
        with self.assertRaises(self.openai.BadRequestError):
            self.client.responses.cancel(first.id)

    def test_tools_of_namespaces_and_custom_ones(self):
        tools = [{"type": "namespace", "name": "crm", "description": "Customers.", "tools": [{**WEATHER, "defer_loading": True}]},
                 {"type": "custom", "name": "date", "format": {
                     "type": "grammar", "syntax": "regex", "definition": r"20\d\d-[01]\d"}}, {"type": "web_search"}]
        choice = {"type": "function", "name": "get_weather", "namespace": "crm"}
        raw = self.client.responses.with_raw_response.create(model="demo", input=WEATHER_QUESTION, tools=tools, tool_choice=choice, temperature=0)
        self.assertEqual(raw.headers["weft-dropped-tools"], "web_search")
        call = next(item for item in raw.parse().output if item.type == "function_call")
        self.assertEqual((call.namespace, call.name), ("crm", "get_weather"))
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        self.assertEqual(self.ask([user(WEATHER_QUESTION), call.to_dict(), output], tools=tools).status, "completed")
        with self.client.responses.stream(model="demo", input="When?", tools=tools, tool_choice={"type": "custom", "name": "date"},
                                          temperature=0) as stream:
            events = list(stream)
        dated = events[-1].response.output[-1]
        self.assertEqual((dated.type, dated.name), ("custom_tool_call", "date"))
        self.assertRegex(dated.input, r"^20\d\d-[01]\d$")
        self.assertEqual("".join(event.delta for event in events if event.type == "response.custom_tool_call_input.delta"), dated.input)
        with self.assertRaises(self.openai.BadRequestError) as dropped:
            self.ask("a", tools=tools, tool_choice={"type": "web_search_preview"})
        self.assertEqual(dropped.exception.param, "tool_choice.type")

    def test_over_a_websocket(self):
        with self.client.responses.connect() as connection:
            connection.response.create(model="demo", input="Who are you?", temperature=0, store=False)
            for event in connection:
                if event.type == "response.completed":
                    break
        self.assertIn("Weft", event.response.output_text)

    def test_tokens_compaction_and_a_stream_again(self):
        first = self.ask("Who are you?")
        self.assertEqual(self.client.responses.input_tokens.count(model="demo", input="Who are you?").input_tokens, first.usage.input_tokens)
        events = list(self.client.responses.retrieve(first.id, stream=True))
        self.assertEqual(events[-1].response.output_text, first.output_text)
        rest = list(self.client.responses.retrieve(first.id, stream=True, starting_after=events[2].sequence_number))
        self.assertEqual([event.type for event in rest], [event.type for event in events[3:]])
        compacted = self.client.responses.compact(model="demo", previous_response_id=first.id, input=[])
        self.assertEqual([item.type for item in compacted.output], ["message", "compaction"])
        self.assertTrue(self.ask([*[item.to_dict() for item in compacted.output], user("Hello!")]).output_text)

    def test_a_long_conversation_is_truncated(self):
        turns = [user("a " * 700) for _ in range(8)]
        with self.assertRaises(self.openai.BadRequestError) as long:
            self.ask(turns)
        self.assertEqual(long.exception.code, "context_length_exceeded")
        self.assertEqual(self.ask(turns, truncation="auto", max_output_tokens=16).truncation, "auto")

    def test_background(self):
        response = self.ask("Who are you?", background=True)
        self.assertIn(response.status, ("queued", "in_progress"))
        deadline = time.monotonic() + 60
        while response.status in ("queued", "in_progress") and time.monotonic() < deadline:
            time.sleep(0.02)
            response = self.client.responses.retrieve(response.id)
        self.assertEqual(response.status, "completed")
        self.assertIn("Weft", response.output_text)
        self.assertEqual(self.client.responses.cancel(response.id).status, "completed")

    def test_length_logprobs_and_instructions(self):
        response = self.ask("Who are you?", max_output_tokens=3, instructions="Be brief.", top_logprobs=2,
                            include=["message.output_text.logprobs"])
        self.assertEqual((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))
        logprobs = response.output[0].content[0].logprobs
        self.assertEqual([len(entry.top_logprobs) for entry in logprobs], [2] * len(logprobs))
        self.assertTrue(logprobs)

    def test_a_stream_that_is_left(self):
        def leave():
            stream = self.ask("Who are you?", stream=True, extra_body={"ignore_eos": True})
            next(event for event in stream if event.type == "response.output_text.delta")
            stream.close()

        self.assert_noticed(leave)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(self.openai.NotFoundError):
            self.client.responses.create(model="other", input="a")
        with self.assertRaises(self.openai.BadRequestError) as schema:
            self.ask("a", text={"format": {"type": "xml"}})
        self.assertEqual(schema.exception.param, "text.format.type")
        with self.assertRaises(self.openai.BadRequestError) as long:
            self.ask("a " * 5000)
        self.assertEqual(long.exception.code, "context_length_exceeded")


if __name__ == "__main__":
    main("model", "venv")
