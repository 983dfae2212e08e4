#!/usr/bin/env python3
"""Makes tests/model/tokenizer/fixtures/any_unicode.json: some of the strings of check_tokenizers.py, which are of all of Unicode,
unlike those of make_tokenizer_fixtures.py, and what the references make of them with the vocabularies beside it.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_unicode_fixture.py --text PROSE.txt --out tests/model/tokenizer/fixtures

    texts      the strings
    NAME       of the tokenizer in the folder NAME: one hash for each 20 strings, over their ids
"""
import argparse
import json
import pathlib
import warnings

import sentencepiece
import transformers
from tokenizers import Tokenizer

import check_tokenizers
import make_tokenizer_fixtures as common

COUNT = 400
TOKENIZERS = ["wordpiece", "wordpiece_cased", "unigram_xglm", "unigram_t5", "unigram_albert"]
LIBRARY = ["sentencepiece_unigram", "sentencepiece_nfkc"]
CLASSES = {"marian": transformers.MarianTokenizer, "m2m100": transformers.M2M100Tokenizer}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    random_text = check_tokenizers.RandomText(1000, [arguments.text.read_text()])
    texts = [random_text() for _ in range(COUNT)]

    def hashes(encode):
        blocks = [b"".join(common.id_bytes(encode(text)) + b"\xff\xff\xff\xff" for text in texts[first:first + 20])
                  for first in range(0, COUNT, 20)]
        return ["%016x" % common.fnv1a(block) for block in blocks]

    value = {"texts": texts}
    for name in TOKENIZERS:
        tokenizer = Tokenizer.from_file(str(arguments.out / name / "tokenizer.json"))
        value[name] = hashes(lambda text: tokenizer.encode(text, add_special_tokens=False).ids)
    for name in LIBRARY:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(arguments.out / name / "tokenizer.model"))
        value[name] = hashes(processor.encode)
    for name, tokenizer_class in CLASSES.items():
        tokenizer = tokenizer_class.from_pretrained(arguments.out / name)
        value[name] = hashes(lambda text: tokenizer(text, add_special_tokens=False)["input_ids"])
    common.write(arguments.out / "any_unicode.json", value)


if __name__ == "__main__":
    main()
