"""Frameworks that make objects of answers: `agent_clients_test.py --weft BINARY --model MODEL --venv DIRECTORY`. The bundled model
talks nonsense; that it fits the schema all the same is what is tested."""

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
    def test_modes(self):
        import instructor

        report = make_report()
        for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.RESPONSES_TOOLS):
            with self.subTest(mode=mode):
                client = instructor.from_openai(self.client, mode=mode)
                answer = client.chat.completions.create(model="demo", response_model=report, max_retries=0, max_tokens=200,
                                                        messages=[{"role": "user", "content": QUESTION}])
                self.assertIsInstance(answer, report)

    def test_an_iterable_and_parts(self):
        import instructor

        report = make_report()
        client = instructor.from_openai(self.client, mode=instructor.Mode.TOOLS)
        parts = list(client.chat.completions.create_partial(model="demo", response_model=report, max_retries=0, max_tokens=200, seed=1,
                                                            messages=[{"role": "user", "content": QUESTION}]))
        self.assertGreater(len(parts), 1)
        report.model_validate(parts[-1].model_dump())


class PydanticAi(OpenAiCase):
    def ask(self, model_class, output_type):
        from pydantic_ai import Agent
        from pydantic_ai.providers.openai import OpenAIProvider

        provider = OpenAIProvider(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none")
        agent = Agent(model_class("demo", provider=provider), output_type=output_type, retries=0)
        return agent.run_sync(QUESTION, model_settings={"max_tokens": 200, "temperature": 1, "seed": 1}).output

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
