#!/usr/bin/env python3
"""Makes the fixtures of tokenizers that are a SentencePiece file and a vocab.json, in tests/model/tokenizer/fixtures, beside
those of make_tokenizer_fixtures.py, which says what is in them and what the random strings are.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_translation_fixtures.py --text PROSE.txt --out tests/model/tokenizer/fixtures

marian is a directory like those of opus-mt, a small model with random weights included; expected.json has, besides,

    marked        [text, ids with special tokens]: language codes at a text's beginning and elsewhere
    translations  [text, source ids, target ids, text]: what transformers generates, greedily

The reference is transformers' class. `decoded` is what it decodes to but for the white space at the ends.
"""
import argparse
import collections
import json
import pathlib
import random
import warnings

import sentencepiece
import torch
import transformers

import make_piece_fixtures as pieces
import make_tokenizer_fixtures as common

CODES = [">>de<<", ">>fra<<", ">>zh_Hans<<"]
MARKED = [
    ">>de<< Once upon a time", ">>fra<<the fox", ">>zh_Hans<<", ">>xx<< the fox", ">>not a code<< the", ">><<the", ">>de the",
    " >>de<< the", "the >>de<< fox", ">>de<<>>fra<< the", ">>de<<  the", "\uff1e\uff1ede\uff1c\uff1c the", ">>de<</s>the",
    "</s>>>de<< the", ">>a</s>b<< the", "the<unk>>>fra<<fox<pad>", "", " ", ">>", "<<", ">>de<", "\u00a0>>de<<",
]
TEXTS = ["Once upon a time there was a fox.", ">>de<< The king had a daughter.", "xyz 123 \u4e2d\u6587", ""]


def train(path, lines, **options):
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(path), num_threads=1, minloglevel=2,
                                             **options)
    path.with_name(path.name + ".vocab").unlink()
    return path.with_name(path.name + ".model")


def spellings(model):
    """Of the normal pieces, control and unknown ones left out."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return [processor.id_to_piece(i) for i in range(processor.vocab_size())
            if not processor.is_control(i) and not processor.is_unknown(i)]


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def ids_of(tokenizer, text, special=False):
    return tokenizer(text, add_special_tokens=special)["input_ids"]


def decode(tokenizer, processor, ids):
    special = set(tokenizer.all_special_ids)
    return processor.decode_pieces(tokenizer.convert_ids_to_tokens([i for i in ids if i not in special])).replace("\u2581", " ")


def write_tokenizer(folder, tokenizer, processor, texts, **more):
    common.write_expected(folder, texts, lambda text: ids_of(tokenizer, text), lambda ids: decode(tokenizer, processor, ids),
                          lambda text: ids_of(tokenizer, text, True))
    expected = json.loads((folder / "expected.json").read_text())
    common.write(folder / "expected.json", {**expected, **more})


def write_marian_model(folder, size):
    """config.json as opus-mt's is, and weights that let texts differ."""
    torch.manual_seed(1)
    model = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=size, decoder_vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=64,
        activation_function="swish", scale_embedding=True, decoder_start_token_id=size - 1, pad_token_id=size - 1,
        bos_token_id=0, eos_token_id=0, forced_eos_token_id=0, init_std=0.3))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "shared" not in name:
                parameter.mul_(5)
    model.bfloat16().save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    # What the published files say besides.
    config.update(bad_words_ids=[[size - 1]], add_bias_logits=False, add_final_layer_norm=False, classif_dropout=0.0,
                  extra_pos_embeddings=size, normalize_before=False, normalize_embedding=False, num_beams=6, num_hidden_layers=1,
                  static_position_embeddings=True, max_length=64)
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", {
        "bad_words_ids": [[size - 1]], "bos_token_id": 0, "decoder_start_token_id": size - 1, "eos_token_id": 0,
        "forced_eos_token_id": 0, "num_beams": 1, "pad_token_id": size - 1})
    return transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float32)


def make_marian(folder, lines, texts, rules):
    folder.mkdir(parents=True, exist_ok=True)
    options = dict(model_type="unigram", vocab_size=500, character_coverage=0.98, normalization_rule_tsv=str(rules))
    source = train(folder / "source", lines, **options).rename(folder / "source.spm")
    # Another language: the words backwards.
    backwards = [" ".join(word[::-1] for word in line.split(" ")) for line in lines]
    target = train(folder / "target", backwards, **dict(options, required_chars="\u4e2d\u6587\ud55c\uad6d\u3072\u3089\u0440\u0443\u0441\u2019")).rename(folder / "target.spm")
    # As Marian's own vocabulary, which has the pieces that its texts had: not each, and those of both files in one.
    generator = random.Random(1)
    both = sorted(set(spellings(source)) | set(spellings(target)))
    both = [piece for piece in both if generator.random() > 0.1]
    generator.shuffle(both)
    names = ["</s>", "<unk>"] + both + CODES + ["<pad>"]
    write_json(folder / "vocab.json", {name: i for i, name in enumerate(names)})
    write_json(folder / "tokenizer_config.json", {"source_lang": "en", "target_lang": "de"})
    model = write_marian_model(folder, len(names))
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    translations = []
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        made = model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False, num_beams=1)[0].tolist()
        made = made[:-1]  # the end, which transformers forces at the maximum
        translations.append([text, ids, made, tokenizer.decode(made, skip_special_tokens=True)])
    write_tokenizer(folder, tokenizer, tokenizer.spm_source, texts,
                    marked=[[text, ids_of(tokenizer, text, True)] for text in MARKED], translations=translations)


def make_m2m100(folder, lines, texts):
    folder.mkdir(parents=True, exist_ok=True)
    model = train(folder / "sentencepiece.bpe", lines, model_type="bpe", vocab_size=600, character_coverage=0.98,
                  normalization_rule_name="identity")
    # fairseq's dictionary, in an order of its own, and not with each piece.
    generator = random.Random(2)
    names = [piece for piece in spellings(model) if generator.random() > 0.1]
    generator.shuffle(names)
    # The last one is spelled by no pieces, and is found nevertheless.
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    unknown = collections.Counter(piece for text in texts for piece in processor.encode(text, out_type=str)
                                  if processor.piece_to_id(piece) == processor.unk_id())
    names = ["<s>", "<pad>", "</s>", "<unk>"] + names + [unknown.most_common(1)[0][0]]
    assert len(set(names)) == len(names)
    write_json(folder / "vocab.json", {name: i for i, name in enumerate(names)})
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer", "src_lang": "de"})
    tokenizer = transformers.M2M100Tokenizer.from_pretrained(folder)
    write_tokenizer(folder, tokenizer, tokenizer.sp_model, texts,
                    languages=[["__%s__" % code, tokenizer.get_lang_id(code)] for code in ("af", "en", "zh", "zu")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
    alphabet = common.make_alphabet()
    texts = [common.random_text(seed, alphabet) for seed in range(common.STRING_COUNT)]
    prose = arguments.text.read_text()[:500000]
    lines = prose.split("\n") + [common.random_text(seed, alphabet)
                                 for seed in range(common.STRING_COUNT, common.STRING_COUNT + 2000)]
    lines = [line for line in lines if line]
    rules = arguments.out / "rules.tsv"
    pieces.write_rules(rules)
    make_marian(arguments.out / "marian", lines, texts, rules)
    rules.unlink()
    make_m2m100(arguments.out / "m2m100", lines, texts)


if __name__ == "__main__":
    main()
