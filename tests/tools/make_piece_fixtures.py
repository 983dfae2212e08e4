#!/usr/bin/env python3
"""Makes the fixtures of Unigram and WordPiece tokenizers in tests/model/tokenizer/fixtures, beside those of
make_tokenizer_fixtures.py, which says what is in them and what the random strings are.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_piece_fixtures.py --text PROSE.txt --out tests/model/tokenizer/fixtures

Besides, precompiled.json gets one hash for each 100 strings over what the reference's Precompiled makes of
them with the map in sentencepiece_nfkc/tokenizer.model, and one over what SentencePiece itself does.
"""
import argparse
import json
import pathlib
import unicodedata

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors, trainers

import make_tokenizer_fixtures as common

SPACE = "\u2581"


def protobuf_fields(message):
    """(field number, value) of each field; the value of one of 64 or 32 bits is its bytes."""
    offset = 0

    def varint():
        nonlocal offset
        value = shift = 0
        while True:
            byte = message[offset]
            offset += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while offset < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(tag & 7)
        size = varint() if size is None else size
        yield tag >> 3, message[offset:offset + size]
        offset += size


def character_map(model):
    """precompiled_charsmap of the normalizer_spec of a SentencePiece file."""
    spec = dict(protobuf_fields(model)).get(3, b"")
    return dict(protobuf_fields(spec)).get(2, b"")


def write_rules(path):
    """Rewritings for SentencePiece's trainer: some of NFKC and of its own for control characters, so that the map stays
    small, and some on which the references differ: of rules for "E" and for "E" with an accent, Hugging Face's applies the
    shortest, SentencePiece the longest."""
    rules = {"\u0301\u0301": "\u0301", "\u0663": "3", "\u4e2d\u6587": "\u4e2d"}
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        rules[letter] = letter.lower()
        rules[letter + "\u0301"] = unicodedata.normalize("NFC", letter.lower() + "\u0301")
    for code_point in [*range(0xA0, 0x180), *range(0x2010, 0x2190), *range(0x2460, 0x24EA), *range(0xFB00, 0xFB07),
                       *range(0xFF01, 0xFF5F), 0x3000, 0xFDFA]:
        character = chr(code_point)
        for source, target in [(character, unicodedata.normalize("NFKC", character)),
                               (unicodedata.normalize("NFD", character), unicodedata.normalize("NFKC", character))]:
            if source != target:
                rules[source] = target
    for code_point in [9, 10, 12, 13, 0x1680, 0x200B, 0x200D, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]:
        rules[chr(code_point)] = " "
    for code_point in [*range(1, 9), 11, *range(14, 32), 0x7F, 0xAD]:
        rules[chr(code_point)] = ""

    def hexadecimal(text):
        return " ".join("%X" % ord(c) for c in text)

    path.write_text("".join("%s\t%s\n" % (hexadecimal(source), hexadecimal(target)) for source, target in sorted(rules.items())))


def make_sentencepiece(out, lines, texts, rules):
    plain = dict(model_type="unigram", vocab_size=800, num_threads=1, minloglevel=2, character_coverage=0.98)
    variants = {
        "sentencepiece_unigram": dict(plain, normalization_rule_tsv=str(rules)),
        "sentencepiece_unigram_symbols": dict(
            plain, normalization_rule_tsv=str(rules), treat_whitespace_as_suffix=False, control_symbols=["<|im_start|>"],
            user_defined_symbols=["<mask>", "the", "--", "\u0663", "e\u0301", "  "]),
        "sentencepiece_unigram_bytes": dict(
            plain, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
            add_dummy_prefix=False, split_digits=True, allow_whitespace_only_pieces=True, split_by_whitespace=False),
    }
    for name, options in variants.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(folder / "tokenizer"),
                                                 **options)
        (folder / "tokenizer.vocab").unlink()
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        common.write_expected(folder, texts, processor.encode,
                              lambda ids: processor.decode([token for token in ids if token != processor.unk_id()]),
                              lambda text: processor.encode(text, add_bos=True))
    return sentencepiece.SentencePieceProcessor(model_file=str(out / "sentencepiece_unigram/tokenizer.model"))


def metaspace(scheme="always", split=True):
    return pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split), decoders.Metaspace(prepend_scheme=scheme, split=split)


def unigram_tokenizers(processor):
    """name -> tokenizer, as transformers makes them of SentencePiece's files"""
    pieces = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(3, processor.vocab_size())]
    charsmap = character_map(processor.serialized_model_proto())
    fairseq = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces

    def special(*texts, **flags):
        return [AddedToken(text, special=True, normalized=False, **flags) for text in texts]

    def template(tokenizer, single, *names):
        tokenizer.post_processor = processors.TemplateProcessing(
            single=single, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])

    xglm = Tokenizer(models.Unigram(fairseq, unk_id=3, byte_fallback=False))
    xglm.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    xglm.pre_tokenizer, xglm.decoder = metaspace()
    xglm.add_tokens(special("<s>", "<pad>", "</s>", "<unk>", *("<madeupword%d>" % i for i in range(7))))
    template(xglm, "</s> $A", "</s>")

    t5 = Tokenizer(models.Unigram([("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces, unk_id=2, byte_fallback=False))
    t5.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Strip(left=False, right=True),
                                          normalizers.Replace(Regex(" {2,}"), SPACE)])
    t5.pre_tokenizer, t5.decoder = metaspace("first")
    t5.add_tokens(special("<pad>", "</s>", "<unk>", *("<extra_id_%d>" % i for i in range(2, -1, -1))))
    t5.add_tokens(special("<mask>", lstrip=True) + [AddedToken("345", special=False)])
    template(t5, "$A </s>", "</s>")

    albert = Tokenizer(models.Unigram([("<pad>", 0.0), ("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0)] + pieces, unk_id=1))
    albert.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(), normalizers.Nmt(), normalizers.Precompiled(charsmap)])
    albert.pre_tokenizer, albert.decoder = metaspace()
    albert.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), albert.pre_tokenizer])
    albert.add_tokens(special("<pad>", "<unk>", "[CLS]", "[SEP]"))
    template(albert, "[CLS]:0 $A:0 [SEP]:0", "[CLS]", "[SEP]")

    # Byte fallback over whole texts, with scores that tie, and a special token that is a piece.
    rounded = [(piece, round(score)) for piece, score in pieces]
    byte_pieces = [("<0x%02X>" % byte, -20.0) for byte in range(256)]
    whole = Tokenizer(models.Unigram([("<unk>", 0.0), ("<s>", -3.0)] + byte_pieces + rounded, unk_id=0, byte_fallback=True))
    whole.normalizer = normalizers.Replace(" ", SPACE)
    whole.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    whole.add_tokens(special("<unk>", "<s>"))
    return {"unigram_xglm": xglm, "unigram_t5": t5, "unigram_albert": albert, "unigram_bytes": whole}


def train_wordpiece(lines, normalizer):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=900, show_progress=False, limit_alphabet=150,
                                        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def wordpiece_tokenizers(lines):
    uncased = train_wordpiece(lines, normalizers.BertNormalizer())
    uncased.decoder = decoders.WordPiece(prefix="##")
    uncased.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[
            ("[CLS]", uncased.token_to_id("[CLS]")), ("[SEP]", uncased.token_to_id("[SEP]"))])

    cased = train_wordpiece(lines, normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False))
    cased.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    cased.post_processor = processors.BertProcessing(("[SEP]", cased.token_to_id("[SEP]")), ("[CLS]", cased.token_to_id("[CLS]")))
    cased.model.max_input_chars_per_word = 6
    cased.add_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("World", special=False)])
    return {"wordpiece": uncased, "wordpiece_cased": cased}


def write_hugging_face(out, made, texts):
    for name, tokenizer in made.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        common.write_expected(folder, texts, lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
                              lambda ids: tokenizer.decode(ids, skip_special_tokens=True),
                              lambda text: tokenizer.encode(text).ids)


def write_bert_files(out, lines, texts):
    """vocab.txt and tokenizer_config.json alone."""
    tokenizer = train_wordpiece(lines, normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False))
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    folder = out / "wordpiece_files"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.model.save(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False,
        "cls_token": "[CLS]", "sep_token": {"content": "[SEP]"}}) + "\n")
    around = [[tokenizer.token_to_id("[CLS]")], [tokenizer.token_to_id("[SEP]")]]
    common.write_expected(folder, texts, lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
                          lambda ids: tokenizer.decode(ids, skip_special_tokens=True),
                          lambda text: around[0] + tokenizer.encode(text, add_special_tokens=False).ids + around[1])


def write_precompiled(out, texts):
    model = (out / "sentencepiece_nfkc/tokenizer.model").read_bytes()
    hugging_face = normalizers.Precompiled(character_map(model))
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    common.write(out / "precompiled.json", {
        "hugging_face": common.block_hashes([hugging_face.normalize_str(text).encode() for text in texts]),
        "sentencepiece": common.block_hashes([library.normalize(text).encode() for text in texts]),
    })


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    alphabet = common.make_alphabet()
    texts = [common.random_text(seed, alphabet) for seed in range(common.STRING_COUNT)]
    prose = arguments.text.read_text()[:500000]
    lines = prose.split("\n") + [common.random_text(seed, alphabet)
                                 for seed in range(common.STRING_COUNT, common.STRING_COUNT + 2000)]
    lines = [line for line in lines if line]
    rules = arguments.out / "rules.tsv"
    write_rules(rules)
    processor = make_sentencepiece(arguments.out, lines, texts, rules)
    rules.unlink()
    write_hugging_face(arguments.out, unigram_tokenizers(processor), texts)
    write_hugging_face(arguments.out, wordpiece_tokenizers(lines), texts)
    write_bert_files(arguments.out, lines, texts)
    write_precompiled(arguments.out, texts)


if __name__ == "__main__":
    main()
