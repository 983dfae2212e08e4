"""Training data: rows of token ids with a loss weight for each token."""

import random
import re
import zlib

import numpy as np

from dialogues import make_dialogue
from tales import make_tale
from vocab import END, START, STOP, make_renderer

PROSE_SHARE = 0.1       # rows of old fairy tales; the others are generated
RAW_TALE_SHARE = 0.12   # of the generated documents: tales without a chat
PROMPT_WEIGHT = 0.1     # loss weight of what the assistant does not say
HOLD_OUT = 20           # one of so many keys is for validation only
HELD_KINDS = ("tale/", "remember/", "hello/", "say/", "json/", "tool/")


def read_prose(path):
    """The tales of a Project Gutenberg text, as lists of paragraphs."""
    text = path.read_text(encoding="utf-8-sig")
    text = re.sub(r"(?s)^.*?\*\*\* ?START OF.*?\*\*\*", "", text)
    text = re.sub(r"(?s)\*\*\* ?END OF.*$", "", text)
    text = re.sub(r"(\w)’(\w)", r"\1'\2", text)
    text = re.sub(r"([.,!?;:—-])’", r'\1"', text).replace("‘", '"')
    text = text.replace("’", "'").replace("“", '"').replace("”", '"')
    text = text.replace("—", " - ").replace("_", "")
    tales = [[]]
    for block in re.split(r"\n\s*\n", text):
        words = " ".join(block.split())
        if not words:
            continue
        if words.isupper() and len(words) < 90:
            tales.append([])
        else:
            tales[-1].append(words)
    return [t for t in tales if len(t) > 1]


def split_prose(tales):
    """Training and validation tales: every sixteenth is held out."""
    held = tales[7::16]
    return [t for t in tales if t not in held], held


def is_held(key):
    """Whether what the key names is kept for validation."""
    return any(part.startswith(HELD_KINDS)
               and zlib.crc32(part.encode()) % HOLD_OUT == 0
               for part in key.split("|"))


def generate(rng, held):
    """A generated document: ('raw', text) or ('chat', dialogue)."""
    while True:
        if rng.random() < RAW_TALE_SHARE:
            tale = make_tale(rng)
            found = "raw", tale["text"], tale["key"]
        else:
            chat = make_dialogue(rng)
            found = "chat", chat, chat["key"]
        if is_held(found[2]) == held:
            return found[:2]


def sample_texts(prose, count, seed=1):
    """Texts to train the tokenizer on."""
    rng, render = random.Random(seed), make_renderer()
    for tale in prose:
        yield "\n\n".join(tale)
    for _ in range(count):
        kind, doc = generate(rng, held=False)
        yield doc if kind == "raw" else render(doc["messages"])
    for _ in range(count // 40):
        kind, doc = generate(rng, held=False)
        if kind == "chat" and doc.get("tools"):
            yield render(doc["messages"], doc["tools"])


class Rows:
    """Makes rows of tokens; the same seed and step give the same rows."""

    def __init__(self, tokenizer, prose, held=False, prose_share=PROSE_SHARE):
        self.tokenizer, self.held, self.prose_share = tokenizer, held, prose_share
        self.render = make_renderer()
        self.end, self.start, self.stop = map(
            tokenizer.token_to_id, (END, START, STOP))
        self.opening = tokenizer.encode("assistant\n").ids
        self.prose = [[self.encode(p + "\n\n") for p in tale] for tale in prose]

    def encode(self, text):
        return self.tokenizer.encode(text).ids

    def weigh(self, ids):
        """Weight 1 from an assistant's first word to its end mark."""
        weights, inside, n = [], False, len(self.opening)
        for i, token in enumerate(ids):
            if token == self.start:
                inside = False
            elif ids[max(i - n, 0):i] == self.opening and ids[i - n - 1] == self.start:
                inside = True
            weights.append(1.0 if inside else PROMPT_WEIGHT)
            if token == self.stop:
                inside = False
        return weights

    def prose_document(self, rng):
        """A tale from a paragraph chosen by chance to its end."""
        tale = rng.choice(self.prose)
        ids = sum(tale[rng.randrange(len(tale)):], []) + [self.end]
        return ids, [1.0] * len(ids)

    def document(self, rng):
        kind, doc = generate(rng, self.held)
        if kind == "raw":
            ids = self.encode(doc) + [self.end]
            return ids, [1.0] * len(ids)
        ids = self.encode(self.render(doc["messages"], doc.get("tools"))) + [self.end]
        return ids, self.weigh(ids)

    def row(self, rng, length):
        """Documents one after another; the last one may be cut."""
        make = self.document
        if rng.random() < self.prose_share:
            make = self.prose_document
        ids, weights = [], []
        while len(ids) < length:
            more_ids, more_weights = make(rng)
            ids += more_ids
            weights += more_weights
        return ids[:length], weights[:length]

    def batch(self, seed, rows, length):
        """Ids [rows, length + 1] and the weights of the targets."""
        rng = random.Random(seed)
        made = [self.row(rng, length + 1) for _ in range(rows)]
        ids = np.array([r[0] for r in made], dtype=np.int64)
        weights = np.array([r[1][1:] for r in made], dtype=np.float32)
        return ids, weights
