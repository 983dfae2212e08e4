"""LangChain's chat model on top of the OpenAI client: `langchain_client_test.py --weft BINARY --model MODEL --venv DIRECTORY`."""

import asyncio

from harness import ServedCase, main


def get_weather(city: str) -> str:
    """The weather in a city"""
    return f"sunny in {city}"


class LangChain(ServedCase):
    @classmethod
    def setUpClass(cls):
        from langchain_openai import ChatOpenAI

        super().setUpClass()
        cls.chat = ChatOpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1", api_key="none", model="demo", temperature=0, max_retries=0)

    def test_invoke(self):
        from langchain_core.messages import HumanMessage, SystemMessage

        reply = self.chat.invoke([SystemMessage("You are helpful."), HumanMessage("Who are you?")])
        self.assertIn("Weft", reply.content)
        self.assertEqual(reply.response_metadata["finish_reason"], "stop")
        self.assertEqual(reply.response_metadata["model_name"], "demo")
        usage = reply.usage_metadata
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
        self.assertEqual(self.chat.invoke("Who are you?", max_tokens=2).usage_metadata["output_tokens"], 2)

    def test_stream_and_batch(self):
        whole = self.chat.invoke("Who are you?")
        pieces = list(self.chat.stream("Who are you?", stream_usage=True))
        self.assertGreater(len(pieces), 3)
        self.assertEqual("".join(piece.content for piece in pieces), whole.content)
        merged = sum(pieces[1:], pieces[0])
        self.assertEqual(merged.usage_metadata["output_tokens"], whole.usage_metadata["output_tokens"])
        self.assertEqual([reply.content for reply in self.chat.batch(["Who are you?"] * 3)], [whole.content] * 3)
        self.assertEqual(asyncio.run(self.chat.ainvoke("Who are you?")).content, whole.content)

    def test_tools(self):
        from langchain_core.messages import HumanMessage, ToolMessage

        bound = self.chat.bind_tools([get_weather])
        question = HumanMessage("What is the weather in Paris?")
        reply = bound.invoke([question])
        self.assertEqual([(call["name"], call["args"]) for call in reply.tool_calls], [("get_weather", {"city": "Paris"})])
        pieces = list(bound.stream([question]))
        merged = sum(pieces[1:], pieces[0])
        self.assertEqual([(call["name"], call["args"]) for call in merged.tool_calls], [("get_weather", {"city": "Paris"})])
        answer = ToolMessage(get_weather(**reply.tool_calls[0]["args"]), tool_call_id=reply.tool_calls[0]["id"])
        self.assertTrue(bound.invoke([question, reply, answer]).content)
        forced = self.chat.bind_tools([get_weather], tool_choice="get_weather").invoke([question], max_tokens=60)
        self.assertEqual(forced.tool_calls[0]["name"], "get_weather")

    def test_a_stream_that_is_left(self):
        def leave():
            stream = self.chat.stream("Who are you?", extra_body={"ignore_eos": True})
            next(stream)
            stream.close()

        self.assert_noticed(leave)

    def test_errors_are_the_openai_clients(self):
        import openai

        with self.assertRaises(openai.BadRequestError) as wrong:
            self.chat.invoke("a", top_p=7)
        self.assertEqual(wrong.exception.param, "top_p")


if __name__ == "__main__":
    main("model", "venv")
