"""Conversations with a model that keeps states of fixed size: `states_test.py --weft BINARY --parity DIRECTORY`.

What is computed of each turn are its new tokens, nearly; and nobody can tell from an answer where it went on from."""

import concurrent.futures
import json
import pathlib
import shutil
import sys
import tempfile

from harness import ServedCase, main, options

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tools"))
from measure_conversation import Conversation, new_tokens  # noqa: E402

CONTEXT = 8192
BLOCK = 32
TURN_TOKENS = 400
TEMPLATE = ("{% for m in messages %}<|begin|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|begin|>assistant\n<think>\n{% endif %}")


def make_model(directory):
    """LFM2 as small as it gets, with a long context and a template that thinks, and forgets what it thought."""
    shutil.copytree(pathlib.Path(options.parity) / "lfm2" / "hf", directory, dirs_exist_ok=True)
    for name, changes in (("config.json", {"max_position_embeddings": CONTEXT}),
                          ("tokenizer_config.json", {"model_max_length": CONTEXT, "chat_template": TEMPLATE})):
        file = pathlib.Path(directory) / name
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))


class StatesCase(ServedCase):
    serve_arguments = ("--context", str(CONTEXT))

    @classmethod
    def setUpClass(cls):
        options.model = cls.enterClassContext(tempfile.TemporaryDirectory())
        make_model(options.model)
        super().setUpClass()

    def answer(self, messages, **fields):
        body = {"messages": messages, "max_tokens": 24, "temperature": 0, "ignore_eos": True, "logprobs": True} | fields
        status, answer = self.server.request("POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        return answer

    def computed(self, answer):
        usage = answer["usage"]
        return usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]

    def missed(self):
        """Tokens that were computed once more for want of a state, so far."""
        _, text = self.server.request("GET", "/metrics")
        return next(float(line.split()[-1]) for line in text.splitlines()
                    if line.startswith("weft_prefix_cache_stateless_total{"))


class Turns(StatesCase):
    def test_a_turn_computes_what_is_new(self):
        conversation = Conversation(self.server.port, TURN_TOKENS)
        turns = [conversation.next_turn() for _ in range(12)]
        new = new_tokens(turns)
        for turn, new_count in list(zip(turns, new))[1:]:
            # Back to the last block's end before the answer of the turn before began.
            self.assertLessEqual(turn.computed_tokens, new_count + BLOCK + 24)
        self.assertLess(sum(turn.computed_tokens for turn in turns), 1.15 * sum(new))
        self.assertLessEqual(self.missed(), 12 * BLOCK)  # that of the answer's beginning, which stays the same
        # A state stands where the message begins.
        edited = conversation.edited(3)
        self.assertLessEqual(edited.computed_tokens, TURN_TOKENS // 2 + 2 * BLOCK)


class Answers(StatesCase):
    def test_an_answer_does_not_tell_where_it_went_on(self):
        draw = Conversation(self.server.port, 300, seed=2)
        system = {"role": "system", "content": draw.text() * 3}
        asked = [[system, {"role": "user", "content": draw.text()}] for _ in range(6)]
        # All at once: they share what the system says, but for one that comes just too late for the first.
        with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
            together = list(pool.map(self.answer, asked))
        prompt_tokens = sum(answer["usage"]["prompt_tokens"] for answer in together)
        self.assertLess(sum(map(self.computed, together)), 0.6 * prompt_tokens)
        for messages, answer in zip(asked, together):
            alone = self.answer(messages, cache_prompt=False)
            self.assertEqual(alone["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
            self.assertEqual(alone["choices"], answer["choices"])
            again = self.answer(messages, n=3)
            self.assertLess(self.computed(again), BLOCK + 24)
            for choice in again["choices"]:
                self.assertEqual(choice["logprobs"], answer["choices"][0]["logprobs"])

    def test_a_shared_beginning_is_found_at_once(self):
        draw = Conversation(self.server.port, 300, seed=3)
        system = {"role": "system", "content": draw.text() * 3}
        answers = [self.answer([system, {"role": "user", "content": draw.text()}]) for _ in range(4)]
        for answer in answers[1:]:  # a state stands where the first one's message begins
            self.assertLess(self.computed(answer), answer["usage"]["prompt_tokens"] - (450 - BLOCK))

    def test_where_prompts_part_costs_one_request_more(self):
        draw = Conversation(self.server.port, 300, seed=4)
        begins = draw.text() * 3
        answers = [self.answer([{"role": "user", "content": begins + draw.text()}]) for _ in range(4)]
        shared = 450 - BLOCK
        missed = self.missed()
        self.assertGreaterEqual(self.computed(answers[1]), shared)
        for answer in answers[2:]:
            self.assertLess(self.computed(answer), answer["usage"]["prompt_tokens"] - shared)
        self.assertGreaterEqual(missed, shared)


class Embeddings(StatesCase):
    def embed(self, texts):
        status, answer = self.server.request("POST", "/v1/embeddings", {"input": texts, "encoding_format": "base64"})
        self.assertEqual(status, 200, answer)
        return [each["embedding"] for each in answer["data"]]

    def test_the_last_state_is_the_same_alone_and_in_a_crowd(self):
        draw = Conversation(self.server.port, 400, seed=5)
        begins = draw.text()
        texts = [begins + draw.text() for _ in range(5)] + [draw.text()[:7]]
        together = self.embed(texts)
        self.assertEqual(len(set(together)), len(texts))
        self.assertEqual([self.embed([text])[0] for text in texts], together)


if __name__ == "__main__":
    main("parity")
