"""Frameworks that make objects of answers: `agent_clients_test.py --weft BINARY --model MODEL --venv DIRECTORY`. The bundled model
talks nonsense; that it fits the schema all the same is what is tested."""

import asyncio

from client_packages import AGENT_REQUIREMENTS
from harness import OpenAiCase, main

QUESTION = "What is the weather in Paris?"


def make_report():
    from typing import Literal

    from pydantic import BaseModel, Field

    class Report(BaseModel):
        """A report on the weather."""

        city: str = Field(max_length=8)
        sky: Literal["clear", "grey"]
        degrees: int = Field(ge=-20, le=40)

    return Report


class Instructor(OpenAiCase):
    def ask(self, create, response_model, **fields):
        """The answer of `create`, one of the methods of instructor's client."""
        return create(model="demo", response_model=response_model, messages=[{"role": "user", "content": QUESTION}],
                      **{"max_retries": 0, "max_tokens": 200, **fields})

    def test_modes(self):
        import instructor

        report = make_report()
        for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.RESPONSES_TOOLS):
            with self.subTest(mode=mode):
                client = instructor.from_openai(self.client, mode=mode)
                answer = self.ask(client.chat.completions.create, report, temperature=0)  # a long city would be cut off
                self.assertIsInstance(answer, report)

    def test_an_iterable_and_parts(self):
        import instructor

        report = make_report()
        client = instructor.from_openai(self.client, mode=instructor.Mode.TOOLS)
        parts = list(self.ask(client.chat.completions.create_partial, report, seed=1))
        self.assertGreater(len(parts), 1)
        report.model_validate(parts[-1].model_dump())

    def test_a_call_that_is_wrong_is_told_so(self):
        """The framework's own loop: what is wrong goes back as the tool's result, and the model calls again."""
        import instructor
        from pydantic import field_validator

        cities = []

        class Report(make_report()):
            @field_validator("city")
            @classmethod
            def is_not_the_first(cls, city):
                cities.append(city)
                if len(cities) == 1:
                    raise ValueError("another city was meant")
                return city

        requests = []
        client = instructor.from_openai(self.client, mode=instructor.Mode.TOOLS)
        client.on("completion:kwargs", lambda *_, **fields: requests.append(fields["messages"]))
        report = self.ask(client.chat.completions.create, Report, max_retries=2)
        self.assertEqual([cities[-1], len(cities), len(requests)], [report.city, 2, 2])
        self.assertEqual([message["role"] for message in requests[-1]], ["user", "assistant", "tool"])
        self.assertIn("another city was meant", requests[-1][-1]["content"])

    def test_errors_name_the_openai_clients(self):
        import instructor
        from instructor.core import InstructorRetryException

        client = instructor.from_openai(self.client, mode=instructor.Mode.TOOLS)
        with self.assertRaises(InstructorRetryException) as wrong:
            self.ask(client.chat.completions.create, make_report(), top_p=7)
        self.assertIn("'top_p' must be a number", str(wrong.exception))

    def test_a_stream_that_is_left(self):
        import instructor
        from pydantic import BaseModel, Field

        class Story(BaseModel):
            """A long story."""

            text: str = Field(min_length=1500)

        async def leave():  # otherwise instructor reads all before it gives any
            async with self.openai.AsyncOpenAI(base_url=self.client.base_url, api_key="none", max_retries=0) as client:
                create = instructor.from_openai(client, mode=instructor.Mode.TOOLS).chat.completions.create_partial
                await anext(self.ask(create, Story, max_tokens=600))

        self.assert_noticed(lambda: asyncio.run(leave()))


class PydanticAi(OpenAiCase):
    def ask(self, model_class, output_type):
        from pydantic_ai import Agent
        from pydantic_ai.providers.openai import OpenAIProvider

        provider = OpenAIProvider(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none")
        agent = Agent(model_class("demo", provider=provider), output_type=output_type, retries=0)
        # OpenAI's Responses have no seed, Weft's have: without one chance would say whether an object is done in 200 tokens. With this one all are.
        settings = {"max_tokens": 200, "temperature": 1, "extra_body": {"seed": 4}}
        return agent.run_sync(QUESTION, model_settings=settings).output

    def test_outputs(self):
        from pydantic import BaseModel, ConfigDict
        from pydantic_ai import NativeOutput, PromptedOutput, ToolOutput
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

        class Anything(BaseModel):
            """Prompted output asks for some object, and no more."""

            model_config = ConfigDict(extra="allow")

        report = make_report()
        for model_class in (OpenAIChatModel, OpenAIResponsesModel):
            for kind, wanted in ((ToolOutput, report), (NativeOutput, report), (PromptedOutput, Anything)):
                with self.subTest(model=model_class.__name__, kind=kind.__name__):
                    self.assertIsInstance(self.ask(model_class, kind(wanted)), wanted)


if __name__ == "__main__":
    main("model", "venv", requirements=AGENT_REQUIREMENTS)
