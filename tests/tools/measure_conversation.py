#!/usr/bin/env python3
"""What each turn of a long conversation costs: how many of its prompt's tokens are computed, and when its first token comes.

usage: measure_conversation.py PORT [--turns 12] [--tokens 1500] [--edited-turn 3] [--fresh]

A turn adds about so many tokens: half of them a given answer to the turn before, half the user's. Then that turn is asked once
more with another text, as after an edit. Works with weft and with llama.cpp's server, whose "timings" say what was computed;
with --fresh (weft alone) also: a prompt of token ids with as many new tokens as the last turn, behind the same context.
The texts are letters at random, a token each with the models of make_random_model.py.
"""

import argparse
import contextlib
import dataclasses
import http.client
import json
import random
import statistics
import time


@dataclasses.dataclass(frozen=True)
class Turn:
    prompt_tokens: int
    computed_tokens: int
    first_token_s: float


@contextlib.contextmanager
def post(port, path, body):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=3600)) as connection:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {response.read(400)!r}")
        yield response


def ask(port, path, body):
    """A stream of some tokens."""
    body = body | {"max_tokens": 4, "temperature": 0, "stream": True, "timings": True, "ignore_eos": True}
    first = None
    timings = None
    start = time.perf_counter()
    with post(port, path, body) as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            choice = (event.get("choices") or [{}])[0]
            content = choice.get("text") or (choice.get("delta") or {}).get("content")
            if first is None and (content or choice.get("finish_reason")):
                first = time.perf_counter() - start
            timings = event.get("timings") or timings
    return Turn(timings["prompt_n"] + timings["cache_n"], timings["prompt_n"], first)


class Conversation:
    def __init__(self, port, turn_tokens, seed=1):
        self.port = port
        self.half = turn_tokens // 2
        self.draw = random.Random(seed)
        self.messages = []

    def text(self):
        return "".join(self.draw.choice("abcdefghij klmnop") for _ in range(self.half))

    def ask(self, messages):
        return ask(self.port, "/v1/chat/completions", {"messages": messages})

    def next_turn(self):
        if self.messages:
            self.messages.append({"role": "assistant", "content": self.text()})
        self.messages.append({"role": "user", "content": self.text()})
        return self.ask(self.messages)

    def edited(self, turn):
        """The conversation up to this turn (from 1), whose text is another one now."""
        return self.ask([*self.messages[:2 * turn - 2], {"role": "user", "content": self.text()}])

    def fresh(self, context_tokens, new_tokens):
        """As many new tokens behind the conversation's first ones."""
        with post(self.port, "/tokenize", {"messages": self.messages}) as response:
            ids = json.load(response)["tokens"]
        new = [self.draw.randrange(97, 113) for _ in range(new_tokens)]
        return ask(self.port, "/v1/completions", {"prompt": ids[:context_tokens] + new})


def new_tokens(turns):
    """Of each turn those that the one before did not have."""
    return [turn.prompt_tokens - before for turn, before in zip(turns, [0, *(turn.prompt_tokens for turn in turns)])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=1500)
    parser.add_argument("--edited-turn", type=int, default=3)
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    conversation = Conversation(arguments.port, arguments.tokens)
    turns = []
    print("turn  prompt    new  computed  first token")
    for number in range(1, arguments.turns + 1):
        turn = conversation.next_turn()
        turns.append(turn)
        print(f"{number:4} {turn.prompt_tokens:7} {new_tokens(turns)[-1]:6} {turn.computed_tokens:9} {turn.first_token_s:10.2f} s",
              flush=True)
    new = sum(new_tokens(turns))
    computed = sum(turn.computed_tokens for turn in turns)
    print(f"in all: {new} new tokens, {computed} computed: {computed / new:.3f}")
    edited = conversation.edited(arguments.edited_turn)
    print(f"turn {arguments.edited_turn} edited: {edited.computed_tokens} of {edited.prompt_tokens} computed, "
          f"first token after {edited.first_token_s:.2f} s")
    if arguments.fresh:
        last = turns[-1]
        context = last.prompt_tokens - last.computed_tokens
        fresh = [conversation.fresh(context, new_tokens(turns)[-1]) for _ in range(3)]
        first_token_s = statistics.median(turn.first_token_s for turn in fresh)
        print(f"{new_tokens(turns)[-1]} new tokens behind {context}: {fresh[-1].computed_tokens} computed, first token after "
              f"{first_token_s:.2f} s; the last turn took {last.first_token_s / first_token_s:.2f} times that")


if __name__ == "__main__":
    main()
