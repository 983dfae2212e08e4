"""The tokenizer (byte-level BPE, GPT-2 split) and the chat template."""

import json
import re
from pathlib import Path

import jinja2.sandbox
from tokenizers import (AddedToken, Tokenizer, decoders, models,
                        pre_tokenizers, trainers)

END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CONTROL = [END, START, STOP]
USER_DEFINED = ["<tool_call>", "</tool_call>"]
TEMPLATE = (Path(__file__).parent / "chat_template.jinja").read_text()


def train_tokenizer(texts, vocab_size):
    """Train on the texts; the special tokens get the last ids.

    Digits are left out of the training text, so that no merge joins them and
    every number is read and written figure by figure.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = CONTROL + USER_DEFINED
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(special), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    parts = "|".join(map(re.escape, special))
    plain = (re.sub(r"\d", "", part) for text in texts
             for part in re.split(parts, text))
    tokenizer.train_from_iterator(plain, trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t in CONTROL])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False)
                          for t in USER_DEFINED])
    assert tokenizer.get_vocab_size() == vocab_size
    return tokenizer


def make_renderer(template=TEMPLATE):
    """The template as transformers sets Jinja up: render(messages, ...)."""
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda x: json.dumps(x, ensure_ascii=False)
    compiled = env.from_string(template)

    def render(messages, tools=None, add_generation_prompt=False):
        return compiled.render(messages=messages, tools=tools,
                               add_generation_prompt=add_generation_prompt)
    return render
