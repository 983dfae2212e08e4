"""Frameworks that agents are written in, against a scripted model: `agent_frameworks_test.py --weft SCRIPTED_SERVER --model MODEL
--venv DIRECTORY`. Each reads a file and edits it with tools of its own, streamed; is told that its prompt is too long; and goes away
while the model speaks. OpenHands speaks to models through litellm."""

import asyncio
import contextlib
import json
import os
import warnings

from client_packages import HERE
from harness import main
from scripted_case import BROKEN, LAST_WORDS, MENDED, TASK, ScriptedCase, call, isolate

REQUIREMENTS = os.path.join(HERE, "framework_requirements.txt")
LONG_PROMPT = "Once upon a time. " * 1000
LONG_STORY = "Once upon a time. " * 5000
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks GitHub what models cost
warnings.simplefilter("ignore")  # deprecations among the packages


class FrameworkCase(ScriptedCase):
    def read_file(self) -> str:
        """Reads add.py."""
        return self.file_text()

    def edit_file(self, old: str, new: str) -> str:
        """Puts a text in the place of another in add.py."""
        text = self.file_text()
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        return "edited"

    def serve_task(self):
        return self.serve(((TASK, '"read_file"'),
                           ["I read it first.\n" + call("read_file"), call("edit_file", old="a - b", new="a + b"), LAST_WORDS]))

    def serve_story(self):
        return self.serve(((TASK,), [LONG_STORY]))

    def assert_mended(self, server, answer, turn_count=3):
        self.assertEqual((self.file_text(), answer), (MENDED, LAST_WORDS))
        exchanges = self.exchanges(server)
        self.assertEqual([(each.status, each.is_streamed) for each in exchanges], [(200, True)] * turn_count)
        return exchanges

    def assert_stopped(self, server):
        server.await_gone_client()
        self.assertEqual(self.file_text(), BROKEN)


class LiteLlm(FrameworkCase):
    """Over chats, and over Anthropic's messages."""

    def complete(self, server, provider, messages, **fields):
        import litellm

        base = f"http://127.0.0.1:{server.port}" + ("/v1" if provider == "openai" else "")
        return litellm.completion(model=f"{provider}/demo", api_base=base, api_key="none", messages=messages, max_retries=0, **fields)

    def run_task(self, server, provider):
        import litellm

        litellm.suppress_debug_info = True
        tools = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}}},
                 {"type": "function", "function": {"name": "edit_file", "parameters": {
                     "type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}, "required": ["old", "new"]}}}]
        messages = [{"role": "user", "content": TASK}]
        while True:
            chunks = list(self.complete(server, provider, messages, tools=tools, stream=True, stream_options={"include_usage": True}))
            answer = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
            if not answer.tool_calls:
                return answer.content
            messages.append(answer.model_dump(exclude_none=True))
            for each in answer.tool_calls:
                result = getattr(self, each.function.name)(**json.loads(each.function.arguments))
                messages.append({"role": "tool", "tool_call_id": each.id, "content": result})

    def test_a_file_is_mended(self):
        for provider in ("openai", "anthropic"):
            with self.subTest(provider=provider):
                self.edit_file(MENDED, BROKEN)
                server = self.serve_task()
                answer = self.run_task(server, provider)
                self.assert_only_new_is_computed(self.assert_mended(server, answer))

    def test_a_prompt_that_is_too_long(self):
        import litellm

        server = self.serve(context=2048)
        for provider in ("openai", "anthropic"):
            with self.subTest(provider=provider), self.assertRaises(litellm.ContextWindowExceededError):
                self.complete(server, provider, [{"role": "user", "content": LONG_PROMPT}])

    def test_it_goes_away(self):
        import litellm

        server = self.serve_story()

        async def listen():
            answer = await litellm.acompletion(model="openai/demo", api_base=f"http://127.0.0.1:{server.port}/v1", api_key="none",
                                               messages=[{"role": "user", "content": TASK}], stream=True)
            await anext(answer)
            await answer.completion_stream.close()

        asyncio.run(listen())
        self.assert_stopped(server)


class PydanticAi(FrameworkCase):
    """Over chats, and over responses."""

    MODELS = ("OpenAIChatModel", "OpenAIResponsesModel")

    def agent(self, server, model):
        from pydantic_ai import Agent
        from pydantic_ai.models import openai
        from pydantic_ai.providers.openai import OpenAIProvider

        provider = OpenAIProvider(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none")
        return Agent(getattr(openai, model)("demo", provider=provider), tools=[self.read_file, self.edit_file], retries=0)

    def test_a_file_is_mended(self):
        async def watch(_, events):  # there being somebody who does, models are asked for streams
            async for _ in events:
                pass

        async def run(agent):
            return (await agent.run(TASK, event_stream_handler=watch)).output

        for model in self.MODELS:
            with self.subTest(model=model):
                self.edit_file(MENDED, BROKEN)
                server = self.serve_task()
                answer = asyncio.run(run(self.agent(server, model)))
                self.assert_only_new_is_computed(self.assert_mended(server, answer))

    def test_a_prompt_that_is_too_long(self):
        from pydantic_ai.exceptions import ModelHTTPError

        server = self.serve(context=2048)
        for model in self.MODELS:
            with self.subTest(model=model), self.assertRaises(ModelHTTPError) as raised:
                self.agent(server, model).run_sync(LONG_PROMPT)
            self.assertEqual((raised.exception.status_code, raised.exception.body["code"]), (400, "context_length_exceeded"))

    def test_it_goes_away(self):
        async def listen(agent):
            async with agent.run_stream(TASK) as result:
                await anext(aiter(result.stream_text(delta=True, debounce_by=None)))

        for model in self.MODELS:
            with self.subTest(model=model):
                server = self.serve_story()
                asyncio.run(listen(self.agent(server, model)))
                self.assert_stopped(server)


class LlamaIndex(FrameworkCase):
    def agent(self, server):
        from llama_index.core.agent.workflow import FunctionAgent
        from llama_index.llms.openai_like import OpenAILike

        model = OpenAILike(model="demo", api_base=f"http://127.0.0.1:{server.port}/v1", api_key="none", is_chat_model=True,
                           is_function_calling_model=True, context_window=131072, max_retries=0)
        return FunctionAgent(tools=[self.read_file, self.edit_file], llm=model)

    def test_a_file_is_mended(self):
        async def run(agent):
            return str(await agent.run(TASK))

        server = self.serve_task()
        self.assert_mended(server, asyncio.run(run(self.agent(server))))

    def test_a_prompt_that_is_too_long(self):
        import openai

        async def run(agent):
            return await agent.run(LONG_PROMPT)

        server = self.serve(context=2048)
        with self.assertRaises(openai.BadRequestError) as raised:
            asyncio.run(run(self.agent(server)))
        self.assertEqual(raised.exception.code, "context_length_exceeded")

    def test_it_goes_away(self):
        from llama_index.core.agent.workflow import AgentStream
        from workflows.errors import WorkflowCancelledByUser

        async def listen(agent):
            handler = agent.run(TASK)
            async for event in handler.stream_events():
                if isinstance(event, AgentStream):
                    break
            await handler.cancel_run()
            with contextlib.suppress(WorkflowCancelledByUser):
                await handler

        server = self.serve_story()
        asyncio.run(listen(self.agent(server)))
        self.assert_stopped(server)


if __name__ == "__main__":
    main("model", "venv", requirements=REQUIREMENTS, prepare=isolate)
