#!/usr/bin/env python3
"""Makes tests/model/tokenizer/fixtures/pre_tokenizers.json: how published models cut texts into pieces.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_pre_tokenizer_fixtures.py

    models    for each kind of pre-tokenizer: the names that GGUF has for it, the section of tokenizer.json that
              such models were published with, and one FNV-1a hash for each 100 of 3,000 random strings over the
              bytes of their pieces, each followed by FF FF
    patterns  regular expressions that Oniguruma, which `tokenizers` runs them with, reads in a way of its own: the
              pieces of some texts

The random strings are those of make_tokenizer_fixtures.py, with the seeds from 20,000 on.
"""
import json
import pathlib

from tokenizers import Regex, pre_tokenizers

import make_tokenizer_fixtures as base

OUT = pathlib.Path(__file__).resolve().parent.parent / "model/tokenizer/fixtures"
FIRST_SEED, STRING_COUNT, BLOCK = 20000, 3000, 100

HAN = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
HAN_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI_K2 = (r"[\p{Han}]+"
           r"|[^\r\n\p{L}\p{N}]?" + HAN + "*" + HAN_LOWER + "+" + base.GPT2_CONTRACTIONS + "?"
           r"|[^\r\n\p{L}\p{N}]?" + HAN + "+" + HAN_LOWER + "*" + base.GPT2_CONTRACTIONS + "?"
           r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + base.WHITE_SPACE)
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + base.WHITE_SPACE)
QWEN35 = (base.GPT2_CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
          + base.WHITE_SPACE)
SEED = (base.GPT2_CONTRACTIONS + "|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+"
        r"|\s+(?!\S)|\s+")
BAILING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
           r"|\s+(?!\S)|\s+")
EXAONE_MOE = (base.GPT2_CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
              r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+")
MINICPM5 = (base.GPT2_CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|"
            + base.WHITE_SPACE)
JAIS2 = (base.GPT2_CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         + "".join(rf"\s{{{count}}}(?!\S)|" for count in (512, 256, 128, 64, 32, 16, 8, 4, "1,2")) + r"\s{1}")
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"

split, plain, gpt2 = base.split, base.plain_bytes, base.gpt2_bytes


def digits(individual=True):
    return pre_tokenizers.Digits(individual_digits=individual)


def models():
    """GGUF's names -> the pre-tokenizer of tokenizer.json."""
    sequence = base.sequence
    return {
        "gpt-2 gpt2 phi-2 mpt olmo dolma jais trillion gigachat mellum a.x-4.0 exaone4 granite-docling modern-bert":
            gpt2(),
        "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2": sequence(digits(), gpt2()),
        "falcon": sequence(pre_tokenizers.Punctuation("contiguous"), gpt2(), digits(False), split("[0-9][0-9][0-9]")),
        "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 dbrx smaug-bpe glm4 chatglm-bpe":
            sequence(split(base.LLAMA3), plain()),
        "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan megrez solar-open grok-2":
            sequence(split(base.QWEN2), plain()),
        "qwen35": sequence(split(QWEN35), plain()),
        "seed-coder": sequence(split(SEED), plain()),
        "bailingmoe bailingmoe2 llada-moe": sequence(split(BAILING), plain()),
        "deepseek-coder": base.byte_level_tokenizers()["deepseek_coder"][0].pre_tokenizer,
        "deepseek-v3 hunyuan-dense joyai-llm": base.byte_level_tokenizers()["deepseek_v3"][0].pre_tokenizer,
        "tekken": sequence(split(TEKKEN), plain()),
        "gpt-4o llama4 kanana2 minimax-m2": sequence(split(base.GPT4O), plain()),
        "bloom poro-chat gpt3-finnish": sequence(split(BLOOM), plain()),
        "viking": sequence(split(BLOOM), digits(), plain()),
        "minicpm5": sequence(split(r"\p{N}{1,3}"), split(MINICPM5), plain()),
        "exaone-moe": sequence(split(EXAONE_MOE), plain()),
        "kimi-k2": sequence(split(KIMI_K2), plain()),
        "superbpe": sequence(split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))"), plain()),
        "tiny_aya cohere2moe": sequence(split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(base.GPT4O), plain()),
        "jais-2": sequence(split(JAIS2), plain()),
    }


def byte_of_character():
    """The bytes that the characters of the byte-level spelling stand for."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(byte): byte for byte in printable},
            **{chr(0x100 + index): byte for index, byte in enumerate(others)}}


PATTERN_TEXTS = ["", "12345678a9", "Hi, you (a|b) [x] y|z.", "AB\u4e2dA\u0301B", "abeiz", "1234567 12 x123456y",
                 "1234\u00e9 12345_ 1234\u0301 99\u00bd", "aab{,2}b", "x ax \u00bdx \u2460x \u200dx", "a\r\n b\n\n", "ab1c22d333"]
PATTERNS = [
    r"\p{N}{1,3}+", r"a{,2}b", r"\bx", r"\Bx", r"\b", r"\d{1,3}(?=(?:\d{3})*\b)", r"(?=(\d{3})+(?!\d))", BLOOM,
    r"[\p{Lu}\p{M}&&[^\p{Han}]]+", r"[a-z&&aeiou]+", r"[a-z&&[aeiou]&&[^e]]+", r"[a[b-d]]+", r"[^a[b-d]]+",
    r"[[:alpha:]&&[^a]]+", r"\x{31}{1,2}+", r"[^\r\n\p{L}\p{N}]?+\p{L}++", r"\w+|[^\w\s]+",
]


def main():
    alphabet = json.loads((OUT / "alphabet.json").read_text())
    texts = [base.random_text(seed, alphabet) for seed in range(FIRST_SEED, FIRST_SEED + STRING_COUNT)]
    byte_of = byte_of_character()

    def pieces_bytes(pre_tokenizer, text):
        pieces = [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        return b"".join(bytes(byte_of[character] for character in piece) + b"\xff\xff" for piece in pieces)

    rows = []
    for names, pre_tokenizer in models().items():
        tokenizer = base.Tokenizer(base.models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizer
        hashes = []
        for first in range(0, STRING_COUNT, BLOCK):
            state = 0xCBF29CE484222325
            for text in texts[first:first + BLOCK]:
                state = base.fnv1a(pieces_bytes(pre_tokenizer, text) + b"\xff\xff\xff\xff", state)
            hashes.append("%016x" % state)
        rows.append({"names": names.split(), "section": json.loads(tokenizer.to_str())["pre_tokenizer"],
                     "blocks": hashes})
    patterns = []
    for pattern in PATTERNS:
        stage = pre_tokenizers.Split(Regex(pattern), "isolated")
        patterns.append({"pattern": pattern,
                         "pieces": [[piece for piece, _ in stage.pre_tokenize_str(text)] for text in PATTERN_TEXTS]})
    lines = ["  " + json.dumps(row, separators=(",", ":")) for row in rows]
    more = ["  " + json.dumps(row, separators=(",", ":")) for row in patterns]
    (OUT / "pre_tokenizers.json").write_text(
        '{\n"models": [\n' + ",\n".join(lines) + '\n],\n"texts": ' + json.dumps(PATTERN_TEXTS) +
        ',\n"patterns": [\n' + ",\n".join(more) + "\n]\n}\n")


if __name__ == "__main__":
    main()
