"""all-MiniLM-L6-v2 with what it is held against: the similarities that sentence-transformers gives to pairs of sentences."""

import hashlib
import json
import math
import os
import random
import subprocess

DIRECTORY = "all-MiniLM-L6-v2"
REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "references", "minilm.json")
SENTENCE_COUNT = 1000


def read_sentences(shared):
    """The first sentences of the shared text that are 40 to 400 characters long; None where it is absent."""
    path = os.path.join(shared, "text", "wikitext-2-test.txt")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        sentences = (sentence.strip() for line in file for sentence in line.split(" . "))
        return [sentence for sentence in sentences if 40 <= len(sentence) <= 400][:SENTENCE_COUNT]


def digest(sentences):
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest()


def pairs():
    """As many as there are sentences, each of them in two."""
    order = list(range(SENTENCE_COUNT))
    random.Random(1).shuffle(order)
    return list(zip(order, order[1:] + order[:1]))


def read_reference():
    with open(REFERENCE, encoding="utf-8") as file:
        return json.load(file)


def embed(weft, models, sentences, options):
    """`weft embed`'s vectors, of length 1."""
    output = subprocess.run([weft, "embed", "--model", os.path.join(models, DIRECTORY), "--quiet", *options, "-"],
                            input="\n".join(sentences) + "\n", capture_output=True, text=True, check=True).stdout
    return [json.loads(line)["embedding"] for line in output.splitlines()]


def cosine(left, right):
    """Of vectors of length 1."""
    return math.sumprod(left, right) if hasattr(math, "sumprod") else math.fsum(a * b for a, b in zip(left, right))


def similarities(vectors):
    return [cosine(vectors[left], vectors[right]) for left, right in pairs()]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    places = [0] * len(values)
    for place, index in enumerate(order):
        places[index] = place
    return places


def spearman(left, right):
    """No two values of either are equal, or hardly any."""
    count = len(left)
    return 1 - 6 * sum((a - b) ** 2 for a, b in zip(ranks(left), ranks(right))) / (count * (count ** 2 - 1))
