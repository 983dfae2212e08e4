"""Output that follows a schema, with real clients: `structured_test.py --weft BINARY --model MODEL --venv DIRECTORY`.

Besides, random schemas at temperature 2: WEFT_STRUCTURED_OUTPUTS answers (200), from seed WEFT_STRUCTURED_SEED (0) on, each parsed
without a name that comes twice and validated by jsonschema; and a tenth as many schemas in every number of tokens that is just
enough."""

import concurrent.futures
import json
import os
import random
import re
import tempfile
import time

from harness import OpenAiCase, main, options

WHO = [{"role": "user", "content": "Who are you?"}]
OUTPUTS = int(os.environ.get("WEFT_STRUCTURED_OUTPUTS", "200"))
FIRST_SEED = int(os.environ.get("WEFT_STRUCTURED_SEED", "0"))


def without_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"a name comes twice: {names}")
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=without_duplicates)


def random_schema(draw, depth=0):
    """One whose values end soon, whatever is sampled."""
    kind = draw.choice(["string", "pattern", "integer", "number", "enum", "boolean", "null"] + ["object", "array", "anyOf", "oneOf"] * (depth < 3))
    if kind == "string":
        return {"type": "string", "maxLength": draw.randrange(1, 9)}
    if kind == "pattern":
        return {"type": "string", "pattern": draw.choice(["^[a-c]{1,4}$", "^(x|yz)$", "^[0-9]{3}-[0-9]{2}$", "^\\w{2}é?$"])}
    if kind == "integer":
        return {"type": "integer", "minimum": draw.randrange(-9, 3), "maximum": draw.randrange(4, 120)}
    if kind == "number":
        return {"type": "number", "minimum": 0, "maximum": 3, "multipleOf": 0.25}
    if kind == "enum":
        return {"enum": draw.sample(["a", "é\n", 1, 2.5, None, True, [], {"k": [1]}], draw.randrange(1, 5))}
    if kind in ("boolean", "null"):
        return {"type": kind}
    if kind == "array":
        array = {"type": "array", "items": random_schema(draw, depth + 1), "maxItems": draw.randrange(1, 4)}
        return array | ({"uniqueItems": True} if draw.random() < 0.3 else {})
    if kind == "object":
        names = draw.sample(["a", "b", "name", "é", 'q"'], draw.randrange(1, 4))
        return {"type": "object", "properties": {name: random_schema(draw, depth + 1) for name in names},
                "required": [name for name in names if draw.random() < 0.6], "additionalProperties": False}
    if kind == "anyOf":
        return {"anyOf": [random_schema(draw, depth + 1) for _ in range(2)]}
    return {"oneOf": [{"type": "string", "enum": ["u", "v"]}, random_schema(draw, depth + 1) | {"not": {"type": "string"}}]}


class Clients(OpenAiCase):
    def test_parse_with_pydantic(self):
        from typing import Literal

        from pydantic import BaseModel, Field

        class Person(BaseModel):
            name: str = Field(max_length=12)
            age: int = Field(ge=0, le=120)
            kind: Literal["human", "robot"]
            tags: list[Literal["a", "b"]] = Field(max_length=2)

        answer = self.client.chat.completions.parse(model="demo", messages=WHO, response_format=Person, max_tokens=200)
        self.assertIsInstance(answer.choices[0].message.parsed, Person)
        response = self.client.responses.parse(model="demo", input="Who are you?", text_format=Person, max_output_tokens=200)
        self.assertIsInstance(response.output_parsed, Person)

    def test_langchain_in_all_methods(self):
        from langchain_openai import ChatOpenAI
        from pydantic import BaseModel, Field

        class City(BaseModel):
            """A city."""

            name: str = Field(max_length=8)

        chat = ChatOpenAI(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none", model="demo", max_retries=0, max_tokens=200)
        for method in ("json_schema", "function_calling"):
            self.assertIsInstance(chat.with_structured_output(City, method=method).invoke("Paris?"), City)
        schema = {"type": "object", "title": "c", "description": "d", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"],
                  "additionalProperties": False}
        self.assertIn(chat.with_structured_output(schema, method="json_schema").invoke("Paris?")["n"], (1, 2))
        self.assertIsInstance(chat.with_structured_output(None, method="json_mode").invoke("Paris?", temperature=1, seed=1), dict)

    def test_anthropic(self):
        import anthropic

        with anthropic.Anthropic(base_url=f"http://127.0.0.1:{self.server.port}", api_key="none", max_retries=0) as client:
            schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"], "additionalProperties": False}
            answer = client.messages.create(model="demo", max_tokens=60, messages=WHO,
                                            extra_body={"output_config": {"format": {"type": "json_schema", "schema": schema}}})
        self.assertIsInstance(parse(answer.content[0].text)["yes"], bool)

    def test_other_dialects(self):
        def text(**fields):
            return self.client.completions.create(model="demo", prompt="Once", max_tokens=40, extra_body=fields).choices[0].text

        self.assertRegex(text(structured_outputs={"regex": "[a-c]{3}[0-9]"}), r"^[a-c]{3}[0-9]$")
        self.assertIn(text(structured_outputs={"choice": ["north", "south"]}), ("north", "south"))
        self.assertRegex(text(grammar='root ::= "<" [xy]+ ">" | "none"\n').replace("none", "<x>")[:1], "<")
        self.assertIn(text(guided_json={"enum": ["a", 1]}), ('"a"', "1"))
        with self.assertRaises(self.openai.BadRequestError) as refused:
            text(structured_outputs={"json": {"properties": {"a": {"format": "no-such-format"}}}})
        self.assertEqual(refused.exception.param, "structured_outputs.json/properties/a/format")


class ManyTools(OpenAiCase):
    """200 tools, 100 KB: more than the model's context, and so its template lists the first one alone."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(os.path.dirname(options.model), "chat_template.jinja"), encoding="utf-8") as file:
            template = file.read().replace("for tool in tools %", "for tool in tools[:1] %")
        file = cls.enterClassContext(tempfile.NamedTemporaryFile("w", suffix=".jinja"))
        file.write(template)
        file.flush()
        cls.serve_arguments = ("--chat-template", file.name)
        super().setUpClass()

    @staticmethod
    def tools(strict):
        """Each is told apart by what its arguments must be."""
        return [{"type": "function", "function": {
            "name": f"tool_{i}", "description": "What it does. " * 20, "strict": strict,
            "parameters": {"type": "object", "required": ["id", "at"], "additionalProperties": False, "properties": {
                "id": {"const": i, "description": "Its number."}, "at": {"enum": ["noon", "night"]},
                "note": {"type": "string", "maxLength": 4, "description": "A note."}}}}} for i in range(200)]

    def test_calls_are_those_of_some_tool(self):
        for strict in (False, True):
            tools = self.tools(strict)
            self.assertGreater(len(json.dumps(tools)), 100_000)
            for choice in ("required", "auto", {"type": "function", "function": {"name": "tool_123"}}):
                with self.subTest(strict=strict, choice=choice):
                    for seed in range(3):
                        begin = time.monotonic()
                        answer = self.client.chat.completions.create(model="demo", messages=WHO, tools=tools, tool_choice=choice, seed=seed,
                                                                     temperature=1.2, max_tokens=200, parallel_tool_calls=False)
                        print(f"200 tools, strict {strict}, {choice}: {time.monotonic() - begin:.2f} s")
                        calls = answer.choices[0].message.tool_calls or []
                        self.assertTrue(calls or choice == "auto")
                        for call in calls:
                            arguments = parse(call.function.arguments)
                            self.assertEqual(call.function.name, f"tool_{arguments['id']}")
                            self.assertIn(arguments["at"], ("noon", "night"))
                            if choice not in ("required", "auto"):
                                self.assertEqual(arguments["id"], 123)


class Random(OpenAiCase):
    @staticmethod
    def schema(seed):
        return {"type": "object", "properties": {"v": random_schema(random.Random(seed))}, "required": ["v"], "additionalProperties": False}

    def ask(self, seed):
        return self.client.chat.completions.create(
            model="demo", messages=WHO, temperature=2, seed=seed, max_tokens=600,
            response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": self.schema(seed)}}).choices[0]

    def test_every_answer_is_valid(self):
        import jsonschema

        seeds = range(FIRST_SEED, FIRST_SEED + OUTPUTS)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for seed, choice in zip(seeds, pool.map(self.ask, seeds)):
                with self.subTest(seed=seed, schema=self.schema(seed), text=choice.message.content):
                    self.assertEqual(choice.finish_reason, "stop")
                    jsonschema.Draft202012Validator(self.schema(seed)).validate(parse(choice.message.content))

    def test_what_must_finish_does(self):
        import jsonschema

        for seed in range(FIRST_SEED, FIRST_SEED + OUTPUTS // 10):
            draw = random.Random(seed)
            schema = {"type": "object", "properties": {"v": random_schema(draw), "w": {"type": "string"}, "x": {"type": "array"}},
                      "required": ["v"], "additionalProperties": False}

            def ask(max_tokens):
                return self.client.chat.completions.create(
                    model="demo", messages=WHO, temperature=2, seed=seed, max_tokens=max_tokens, n=2, extra_body={"finish_by_length": True},
                    response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema}})

            with self.assertRaises(self.openai.BadRequestError) as refused:
                ask(1)
            least = int(re.search(r"takes (\d+) tokens", refused.exception.message)[1])
            for max_tokens in range(least, least + 12):
                for choice in ask(max_tokens).choices:
                    with self.subTest(seed=seed, max_tokens=max_tokens, schema=schema, text=choice.message.content):
                        self.assertEqual(choice.finish_reason, "stop")
                        jsonschema.Draft202012Validator(schema).validate(parse(choice.message.content))


if __name__ == "__main__":
    main("model", "venv")
