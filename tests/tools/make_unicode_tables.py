#!/usr/bin/env python3
"""Makes model/tokenizer/unicode_tables.inc: where the Unicode of Hugging Face's tokenizers is another version than
that of the libraries here.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_unicode_tables.py > model/tokenizer/unicode_tables.inc

The tokenizers ask half a dozen libraries, from Unicode 8 (BERT's categories) over 9 (normalisation) and 16 (regular
expressions) to 17 (lower case, numbers). The tables say what they make of the characters for which the installed
utf8proc and PCRE2 (those of Debian 12: Unicode 15 and 14) or the newest Unicode (of the package regex) say something
else, so that they hold for what lies between, too.
"""
import ctypes
import unicodedata

import regex
from tokenizers import Regex, normalizers, pre_tokenizers

CHARACTERS = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(c for c in CHARACTERS if c != "\n")
CLASSES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
           "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Alphabetic", "Han", "Hiragana", "Katakana", "Hangul"]
SCRIPTS = CLASSES[-4:]


UTF8PROC = ctypes.CDLL("libutf8proc.so.2")
UTF8PROC.utf8proc_category_string.restype = ctypes.c_char_p


def in_categories(pattern, *prefixes):
    """Characters of these categories: to utf8proc, and in the newest Unicode."""
    old = {c for c in CHARACTERS if UTF8PROC.utf8proc_category_string(ord(c)).decode().startswith(prefixes)}
    return old, set(regex.findall(pattern, "".join(CHARACTERS)))


def pcre2_class(pattern):
    """The characters that a pattern of one character matches."""
    library = ctypes.CDLL("libpcre2-8.so.0")
    library.pcre2_compile_8.restype = library.pcre2_match_data_create_8.restype = ctypes.c_void_p
    library.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(ctypes.c_size_t)
    error, at = ctypes.c_int(), ctypes.c_size_t()
    text = "(?:%s)+" % pattern
    utf_and_ucp = 0x00080000 | 0x00020000
    code = library.pcre2_compile_8(text.encode(), ctypes.c_size_t(len(text)), utf_and_ucp, ctypes.byref(error),
                                   ctypes.byref(at), None)
    assert code, text
    data = library.pcre2_match_data_create_8(1, None)
    subject = ALL.encode()
    found, offset = set(), 0
    while library.pcre2_match_8(ctypes.c_void_p(code), subject, ctypes.c_size_t(len(subject)), ctypes.c_size_t(offset),
                                0x40000000, ctypes.c_void_p(data), None) > 0:
        begin, offset = library.pcre2_get_ovector_pointer_8(ctypes.c_void_p(data))[:2]
        found.update(subject[begin:offset].decode())
    return found


def removed(pre_tokenizer):
    """The characters that a pre-tokenizer does not let through."""
    kept = set("".join(piece for piece, _ in pre_tokenizer.pre_tokenize_str(ALL)))
    return {c for c in ALL if c not in kept}


def dropped(normalizer, characters):
    return {c for c in characters if normalizer.normalize_str("a" + c + "b") == "ab"}


def numeric():
    """A digit of its own is a piece; of what is none, all is one piece."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    return {c for c in CHARACTERS if len(digits.pre_tokenize_str("a" + c + "b")) == 3}


def ranges(characters, mapped=lambda c: 0):
    """[first, last, what `mapped` says of all of them]"""
    found = []
    for c in sorted(characters):
        if found and found[-1][1] == ord(c) - 1 and found[-1][2] == mapped(c):
            found[-1][1] = ord(c)
        else:
            found.append([ord(c), ord(c), mapped(c)])
    return found


def print_table(comment, name, rows):
    print("\n// %s" % comment)
    print("constexpr auto %s = std::to_array<CharacterRange>({" % name)
    line = "   "
    for first, last, value in rows:
        entry = " {0x%X, 0x%X, %s}," % (first, last, "0x%X" % value if value > 9 else value)
        if len(line) + len(entry) > 100:
            print(line)
            line = "   "
        line += entry
    print(line + "\n});")


def print_set(comment, name, reference, old, new):
    differing = (reference | old | new) - (reference & old & new)
    print_table(comment + ": 1 are, 0 are not.", name, ranges(differing, lambda c: int(c in reference)))


def print_lowercase():
    def shift(c):
        return ord(normalizers.Lowercase().normalize_str(c)) - ord(c)

    lower = normalizers.Lowercase()
    newer = [c for c in CHARACTERS if UTF8PROC.utf8proc_tolower(ord(c)) == ord(c) and lower.normalize_str(c) != c]
    print_table("Lower case: what is added to the code point.", "kLowercase", ranges(newer, shift))


def print_normalization(marks):
    """Marks of later versions that are none to the tokenizers, and what utf8proc decomposes and they do not."""
    nfkd = normalizers.NFKD()
    decomposed = (ctypes.c_int32 * 32)()
    boundary = ctypes.c_int()
    stable_decompose_compat = 2 | 16 | 4

    def decomposes(c):
        return UTF8PROC.utf8proc_decompose_char(ord(c), decomposed, ctypes.c_ssize_t(32), stable_decompose_compat,
                                                ctypes.byref(boundary)) > 1 or decomposed[0] != ord(c)

    newer = {c for c in CHARACTERS if nfkd.normalize_str(c) == c and decomposes(c)}
    print_table("Normalisation: these do not decompose, compose or change places.", "kInert", ranges(newer | marks))


def print_stand_ins():
    reference = {name: removed(pre_tokenizers.Split(Regex(r"\p{%s}" % name), "removed")) for name in CLASSES}
    newest = {name: set(regex.findall(r"\p{%s}" % name, ALL)) for name in CLASSES}
    installed = {name: pcre2_class(r"\p{%s%s}" % ("sc:" if name in SCRIPTS else "", name)) for name in CLASSES}

    def traits(c, sets):
        return tuple(c in sets[name] for name in CLASSES)

    stand_ins, differing = {}, []
    for c in ALL:
        said = traits(c, reference)
        if traits(c, newest) != said or traits(c, installed) != said:
            differing.append(c)
        else:
            stand_ins.setdefault((len(c.encode()), said), c)
    print_table("Regular expressions: a character of as many bytes of which PCRE2 says what Oniguruma says of these.",
                "kStandIns", ranges(differing, lambda c: ord(stand_ins[len(c.encode()), traits(c, reference)])))


def main():
    print("// Made by tests/tools/make_unicode_tables.py, which says what this is.")
    old, new = in_categories(r"\p{P}", "P")
    ascii_marks = {chr(c) for c in range(0x21, 0x7F) if not chr(c).isalnum()}
    print_set("Punctuation", "kPunctuation", removed(pre_tokenizers.Punctuation("removed")), old | ascii_marks, new | ascii_marks)
    old, new = in_categories(r"\p{N}", "N")
    print_set("Numbers", "kNumeric", numeric(), old, new)
    bert = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    old, new = in_categories(r"[\p{Cc}\p{Cf}\p{Co}]", "Cc", "Cf", "Co")
    mentioned = {"\t", "\n", "\r", "\ufffd"}
    print_set("BERT's control characters", "kControl", dropped(bert, CHARACTERS) - mentioned, old - mentioned, new - mentioned)
    bert = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    old, new = in_categories(r"\p{Mn}", "Mn")
    print_set("BERT's non-spacing marks", "kNonSpacingMark", dropped(bert, CHARACTERS), old, new)
    old, new = in_categories(r"\p{M}", "M")
    marks = dropped(normalizers.StripAccents(), CHARACTERS)
    print_set("Marks", "kMark", marks, old, new)
    print_normalization((old | new) - marks)
    print_lowercase()
    print_stand_ins()


if __name__ == "__main__":
    main()
