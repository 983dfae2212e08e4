"""Ollama's official Python client and LangChain's ChatOllama against a weft process:
`ollama_client_test.py --weft BINARY --model MODEL --venv DIRECTORY`.

The packages are installed from PyPI (see client_packages.py). MODEL is the bundled one, which greets and calls tools.
"""

import asyncio
import json

from harness import ServedCase, main

WHO = [{"role": "user", "content": "Who are you?"}]
PARIS = [{"role": "user", "content": "What is the weather in Paris?"}]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}, "required": ["name"],
          "additionalProperties": False}
GREEDY = {"temperature": 0, "num_predict": 100}
ENDLESS = {"ignore_eos": True, "num_predict": -1}


def get_weather(city: str) -> str:
    """The weather in a city

    Args:
        city: which
    """
    return f"sunny in {city}"


class Ollama(ServedCase):
    @classmethod
    def setUpClass(cls):
        import ollama

        super().setUpClass()
        cls.ollama = ollama
        cls.client = ollama.Client(host=f"http://127.0.0.1:{cls.server.port}")

    def chat(self, messages, **fields):
        return self.client.chat("demo", messages=messages, **{"options": GREEDY, **fields})

    def test_whole_and_streamed(self):
        whole = self.chat(WHO)
        self.assertIn("Weft", whole.message.content)
        self.assertEqual((whole.done, whole.done_reason), (True, "stop"))
        pieces = list(self.chat(WHO, stream=True))
        self.assertGreater(len(pieces), 3)
        self.assertEqual("".join(piece.message.content for piece in pieces), whole.message.content)
        self.assertEqual([piece.done for piece in pieces], [False] * (len(pieces) - 1) + [True])
        for last in (whole, pieces[-1]):
            self.assertEqual(last.eval_count, whole.eval_count)
            self.assertGreaterEqual(last.total_duration, last.load_duration + last.prompt_eval_duration + last.eval_duration)
            self.assertGreater(last.eval_duration, 0)

    def test_generate(self):
        whole = self.client.generate("demo", "Who are you?", options=GREEDY)
        self.assertEqual(whole.response, self.chat(WHO).message.content)
        pieces = list(self.client.generate("demo", "Who are you?", options=GREEDY, stream=True))
        self.assertEqual("".join(piece.response for piece in pieces), whole.response)
        raw = self.client.generate("demo", "Once", raw=True, options={"num_predict": 5, "temperature": 0})
        self.assertEqual((raw.eval_count, raw.done_reason), (5, "length"))

    def test_a_tool_is_called_and_its_answer_taken(self):
        called = self.chat(PARIS, tools=[get_weather])
        call = called.message.tool_calls[0].function
        self.assertEqual((call.name, call.arguments), ("get_weather", {"city": "Paris"}))
        streamed = [call for piece in self.chat(PARIS, tools=[get_weather], stream=True) for call in piece.message.tool_calls or []]
        self.assertEqual([call.function for call in streamed], [call])
        answer = {"role": "tool", "content": get_weather(**call.arguments), "tool_name": call.name}
        self.assertTrue(self.chat([*PARIS, called.message, answer], tools=[get_weather]).message.content)

    def test_format(self):
        answer = json.loads(self.chat(WHO, format=SCHEMA).message.content)
        self.assertEqual(list(answer), ["name"])
        self.assertIsInstance(json.loads(self.chat(WHO, format="json", options={**GREEDY, "num_predict": 400}).message.content), dict)

    def test_logprobs(self):
        answer = self.chat(WHO, logprobs=True, top_logprobs=2, options={**GREEDY, "num_predict": 3})
        self.assertEqual([len(entry.top_logprobs) for entry in answer.logprobs], [2, 2, 2])

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(self.ollama.ResponseError) as missing:
            self.client.chat("other", messages=WHO)
        self.assertEqual(missing.exception.status_code, 404)
        with self.assertRaises(self.ollama.ResponseError) as wrong:
            list(self.chat(WHO, stream=True, options={"top_p": 7}))
        self.assertEqual(wrong.exception.status_code, 400)
        self.assertIn("'options.top_p' must be a number from 0 to 1", wrong.exception.error)
        for refused in (self.client.pull, self.client.push, self.client.delete):
            with self.assertRaises(self.ollama.ResponseError) as fixed:
                refused("demo")
            self.assertIn("is not offered", fixed.exception.error)
        with self.assertRaises(self.ollama.ResponseError) as image:
            self.chat([{"role": "user", "content": "What is this?", "images": [b"a"]}])
        self.assertIn("messages[0].images", image.exception.error)

    def test_a_stream_that_is_left(self):
        def leave():
            stream = self.chat(WHO, stream=True, options=ENDLESS)
            next(stream)
            stream.close()

        self.assert_noticed(leave)

    def test_models(self):
        self.assertEqual([model.model for model in self.client.list().models], ["demo:latest"])
        self.assertEqual([model.model for model in self.client.ps().models], ["demo:latest"])
        shown = self.client.show("demo")
        self.assertIn("tools", shown.capabilities)
        self.assertEqual(shown.modelinfo["general.architecture"], shown.details.family)
        self.assertEqual(self.client.chat("demo:latest", messages=[]).done_reason, "load")

    def test_embeddings(self):
        vectors = self.client.embed("demo", ["a", "b"]).embeddings
        self.assertEqual(len(vectors), 2)
        self.assertAlmostEqual(sum(number * number for number in vectors[0]), 1, places=5)
        self.assertEqual(len(self.client.embeddings("demo", "a").embedding), len(vectors[0]))

    def test_asynchronously(self):
        async def ask():
            client = self.ollama.AsyncClient(host=f"http://127.0.0.1:{self.server.port}")
            return await asyncio.gather(*(client.chat("demo", messages=WHO, options=GREEDY) for _ in range(4)))

        self.assertEqual({answer.message.content for answer in asyncio.run(ask())}, {self.chat(WHO).message.content})


class LangChain(ServedCase):
    @classmethod
    def setUpClass(cls):
        from langchain_ollama import ChatOllama

        super().setUpClass()
        cls.chat = ChatOllama(base_url=f"http://127.0.0.1:{cls.server.port}", model="demo", temperature=0, num_predict=100,
                              validate_model_on_init=True)

    def test_whole_and_streamed(self):
        whole = self.chat.invoke("Who are you?")
        self.assertIn("Weft", whole.content)
        self.assertEqual(whole.response_metadata["done_reason"], "stop")
        pieces = list(self.chat.stream("Who are you?"))
        self.assertEqual("".join(piece.content for piece in pieces), whole.content)
        self.assertGreater(sum(pieces[1:], pieces[0]).usage_metadata["output_tokens"], 0)

    def test_tools(self):
        from langchain_core.messages import HumanMessage, ToolMessage

        bound = self.chat.bind_tools([get_weather])
        question = HumanMessage("What is the weather in Paris?")
        reply = bound.invoke([question])
        self.assertEqual([(call["name"], call["args"]) for call in reply.tool_calls], [("get_weather", {"city": "Paris"})])
        answer = ToolMessage(get_weather(**reply.tool_calls[0]["args"]), tool_call_id=reply.tool_calls[0]["id"])
        self.assertTrue(bound.invoke([question, reply, answer]).content)

    def test_structured_output(self):
        answer = self.chat.with_structured_output({"title": "name", **SCHEMA}, method="json_schema").invoke("Who are you?")
        self.assertEqual(list(answer), ["name"])

    def test_errors_are_the_ollama_clients(self):
        import ollama

        with self.assertRaises(ollama.ResponseError) as wrong:
            self.chat.bind(options={"top_p": 7}).invoke("a")
        self.assertEqual(wrong.exception.status_code, 400)

    def test_a_stream_that_is_left(self):
        def leave():
            stream = self.chat.bind(options=ENDLESS).stream("Who are you?")
            next(stream)
            stream.close()

        self.assert_noticed(leave)


if __name__ == "__main__":
    main("model", "venv")
