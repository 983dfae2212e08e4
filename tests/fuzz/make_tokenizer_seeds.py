#!/usr/bin/env python3
"""Writes the seeds of the fuzz target tokenizer: small honest files of each kind, and a text for each.
Standard library only.

usage: make_tokenizer_seeds.py
"""
import base64
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus" / "tokenizer"
TEXT = "ab <s> the  Ab1234's é中🦙!\n </s>".encode() + b"\xe2\x82"


def tokenizer_json(**sections):
    vocabulary = {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "▁": 4, "▁a": 5, "<0x41>": 6, "<unk>": 7}
    whole = {
        "added_tokens": [
            {"id": 8, "content": "<s>", "special": True, "normalized": False, "lstrip": True, "rstrip": True},
            {"id": 9, "content": "the", "special": False, "single_word": True}],
        "model": {"type": "BPE", "vocab": vocabulary, "merges": ["a b", ["▁", "a"]], "unk_token": "<unk>",
                  "fuse_unk": True, "byte_fallback": True, "ignore_merges": True}}
    whole.update(sections)
    return b"\x00" + json.dumps(whole).encode()


def varint(value):
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def tokenizer_model(charsmap, kind=b"\x01", model_type=2):
    pieces = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("▁", -3, 1), ("a", -4, 1), ("▁a", -1, 1), ("<0x41>", 0, 6),
              ("the", 0, 4)]
    encoded = kind
    for text, score, piece_type in pieces:
        encoded += message(1, message(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, piece_type))
    encoded += message(2, number(3, model_type) + number(35, 1) + number(40, 0) + number(41, 1) + number(42, 2))
    return encoded + message(3, message(2, charsmap) + number(3, 1) + number(4, 1))


def character_map():
    """The blob of SentencePiece's normalizer with the rules "A" -> "a" and "Ab" -> "the"."""
    units = [0] * 512
    units[0] = 256 << 10
    units[256 ^ 65] = 128 << 10 | 1 << 8 | 65
    behind = 256 ^ 65 ^ 128
    units[behind] = 1 << 31
    units[behind ^ 98] = 8 << 10 | 1 << 8 | 98
    units[behind ^ 98 ^ 8] = 1 << 31 | 2
    return struct.pack("<I512I", 2048, *units) + b"a\0the\0"


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(entries):
    encoded = b"\x02GGUF" + struct.pack("<IQQ", 3, 0, len(entries))
    for key, value in entries.items():
        encoded += string("tokenizer.ggml." + key)
        if isinstance(value, str):
            encoded += struct.pack("<I", 8) + string(value)
        elif isinstance(value, bool):
            encoded += struct.pack("<IB", 7, value)
        elif isinstance(value, int):
            encoded += struct.pack("<II", 4, value)
        else:
            kind = {str: 8, int: 5, float: 6}[type(value[0])]
            encoded += struct.pack("<IIQ", 9, kind, len(value))
            for element in value:
                encoded += string(element) if kind == 8 else struct.pack("<i" if kind == 5 else "<f", element)
    return encoded


def main():
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}
    split = {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|\\s+$"}, "behavior": "MergedWithNext", "invert": False}
    unit = struct.pack("<II", 1 << 10, 0)
    charsmap = character_map()
    unigram = {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": [
        ["<unk>", 0], ["</s>", 0], ["▁", -2], ["a", -3], ["▁a", -2.5], ["ab", -4], ["<0x41>", -9], ["the", -5]]}
    wordpiece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
                 "vocab": {"[UNK]": 0, "[CLS]": 1, "a": 2, "##b": 3, "the": 4, "!": 5, "中": 6, "##12": 7}}
    seeds = {
        "json_byte_level": tokenizer_json(
            pre_tokenizer={"type": "Sequence", "pretokenizers": [
                split, byte_level, {"type": "Digits"}, {"type": "Punctuation", "behavior": "Contiguous"}]},
            normalizer={"type": "NFC"}, decoder={"type": "ByteLevel"},
            post_processor={"type": "TemplateProcessing",
                            "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
                            "special_tokens": {"<s>": {"ids": [8]}}}),
        "json_prepend": tokenizer_json(
            normalizer={"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                {"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}, {"type": "NFKD"}, {"type": "Lowercase"},
                {"type": "Strip", "strip_left": True, "strip_right": False}]},
            decoder={"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}),
        "json_metaspace": tokenizer_json(
            pre_tokenizer={"type": "Sequence", "pretokenizers": [
                {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
                {"type": "Whitespace"}]}, decoder={"type": "Metaspace", "replacement": "▁"}),
        "model": tokenizer_model(b""),
        "model_charsmap": tokenizer_model(struct.pack("<I", 8) + unit + b"x\0"),
        "json_unigram": tokenizer_json(
            model=unigram, pre_tokenizer={"type": "Metaspace", "replacement": "▁"},
            normalizer={"type": "Sequence", "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                {"type": "Nmt"}, {"type": "StripAccents"}]},
            decoder={"type": "Metaspace", "replacement": "▁"}),
        "json_wordpiece": tokenizer_json(
            model=wordpiece, normalizer={"type": "BertNormalizer"}, pre_tokenizer={"type": "BertPreTokenizer"},
            decoder={"type": "WordPiece"}, post_processor={"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[UNK]", 0]}),
        "model_unigram": tokenizer_model(charsmap, model_type=1),
        "model_t5": tokenizer_model(charsmap, b"\x0d", 1),
        "model_fairseq": tokenizer_model(charsmap, b"\x1c", 1),
        "gguf_byte_level": gguf({
            "model": "gpt2", "pre": "falcon", "tokens": ["a", "b", "ab", "Ġ", "<s>", "the"],
            "token_type": [1, 1, 1, 1, 3, 4], "merges": ["a b"], "bos_token_id": 4, "eos_token_id": 0xFFFFFFFF,
            "add_bos_token": True}),
        "gguf_sentencepiece": gguf({
            "model": "llama", "tokens": ["<unk>", "<s>", "</s>", "<0x41>", "▁", "a", "▁a", "the"],
            "scores": [0.0, 0.0, 0.0, 0.0, -3.0, -4.0, -1.0, 0.0], "token_type": [2, 3, 3, 6, 1, 1, 1, 4],
            "add_space_prefix": True, "remove_extra_whitespaces": True}),
        "gguf_unigram": gguf({
            "model": "t5", "tokens": ["<unk>", "<s>", "</s>", "<0x41>", "▁", "a", "▁a", "the"],
            "scores": [0.0, 0.0, 0.0, 0.0, -3.0, -4.0, -1.0, -2.0], "token_type": [2, 3, 3, 6, 1, 1, 1, 1],
            "precompiled_charsmap": list(charsmap), "add_space_prefix": True}),
        "gguf_wordpiece": gguf({
            "model": "bert", "tokens": ["[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁the", "▁!", "12"],
            "token_type": [3, 3, 3, 1, 1, 1, 1, 1], "normalizer.lowercase": True}),
    }
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name, seed in seeds.items():
        (CORPUS / name).write_bytes(seed + b"\xff" + TEXT)


if __name__ == "__main__":
    main()
