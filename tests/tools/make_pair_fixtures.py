#!/usr/bin/env python3
"""Makes tests/model/tokenizer/fixtures/pairs.json: what the reference makes of one and of two texts for which there
is not always room.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_pair_fixtures.py --out tests/model/tokenizer/fixtures

It stands beside the fixtures of make_tokenizer_fixtures.py and make_piece_fixtures.py, whose tokenizers it takes.
Each row has

    name            the fixture
    post_processor  what stands there instead of its own; null: its own
    pairs, singles  one FNV-1a hash for each 100 of 1,000 cases, over ids, token types and the number of tokens dropped

Case i is about the random strings 40000 + 2i and, of pairs, the one behind it. How much room there is, which side is
cut and which text is drawn by Random(50000 + i): see room_of() here and in the C++ test.
"""
import argparse
import json
import pathlib

from tokenizers import Tokenizer

import make_tokenizer_fixtures as common

CASE_COUNT = 1000
STRATEGIES = ["longest_first", "only_first", "only_second"]


def template(ids, *pair, single=(("A", 0),)):
    """A TemplateProcessing of elements (name of a text or token, type)."""
    names = {name for name, _ in pair if name not in "AB"}

    def elements(parts):
        return [{"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": kind}} for name, kind in parts]

    return {
        "type": "TemplateProcessing",
        "single": elements(single),
        "pair": elements(pair),
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names},
    }


def id_of(out, token):
    return Tokenizer.from_file(str(out / "unigram_xglm/tokenizer.json")).token_to_id(token)


def rows(out):
    for name in ["gpt2", "llama2", "llama3", "qwen2", "metaspace", "wordpiece", "wordpiece_cased", "unigram_xglm", "unigram_t5"]:
        yield name, None
    ids = {"<s>": 0, "</s>": 2}
    yield "unigram_xglm", template(ids, ("<s>", 0), ("A", 0), ("</s>", 0), ("</s>", 0), ("B", 0), ("</s>", 0))
    yield "unigram_xglm", template(ids, ("<s>", 0), ("A", 0), ("</s>", 0), ("<s>", 1), ("B", 1), ("</s>", 1))
    yield "unigram_xglm", template(ids, ("A", 0), ("</s>", 1), ("B", 1))
    # Of translators: a language before the texts (mBART-50, NLLB), or behind them (the first mBART).
    languages = {"</s>": 2, "<madeupword0>": id_of(out, "<madeupword0>")}
    for before, after in ((["<madeupword0>"], ["</s>"]), ([], ["</s>", "<madeupword0>"])):
        before, after = ([(name, 0) for name in side] for side in (before, after))
        yield "unigram_xglm", template(languages, *before, ("A", 0), ("B", 0), *after, single=(*before, ("A", 0), *after))


def room_of(i, special_count):
    random = common.Random(50000 + i)
    return special_count + random.below(60), ["right", "left"][random.below(2)], STRATEGIES[random.below(3)]


def case_bytes(tokenizer, i, texts, is_pair):
    """b"-" where the reference refuses."""
    parts = texts[2 * i:2 * i + 2] if is_pair else texts[2 * i:2 * i + 1]
    tokenizer.no_truncation()
    whole = len(tokenizer.encode(*parts).ids)
    room, side, strategy = room_of(i, tokenizer.num_special_tokens_to_add(is_pair))
    tokenizer.enable_truncation(room, strategy=strategy if is_pair else "longest_first", direction=side)
    try:
        encoded = tokenizer.encode(*parts)
    except Exception as error:
        assert "too short" in str(error), error
        return b"-"
    return common.id_bytes(encoded.ids + encoded.type_ids + [whole - len(encoded.ids)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    alphabet = json.loads((out / "alphabet.json").read_text())
    texts = [common.random_text(seed, alphabet) for seed in range(40000, 40000 + 2 * CASE_COUNT)]
    made = []
    for name, post_processor in rows(out):
        data = json.loads((out / name / "tokenizer.json").read_text())
        if post_processor:
            data["post_processor"] = post_processor
        tokenizer = Tokenizer.from_str(json.dumps(data))
        hashes = [common.block_hashes([case_bytes(tokenizer, i, texts, is_pair) for i in range(CASE_COUNT)])
                  for is_pair in (True, False)]
        made.append({"name": name, "post_processor": post_processor, "pairs": hashes[0], "singles": hashes[1]})
    lines = [json.dumps(row, separators=(",", ":")) for row in made]
    (out / "pairs.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
