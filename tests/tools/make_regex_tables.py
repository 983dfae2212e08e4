#!/usr/bin/env python3
"""Makes grammar/regex/unicode_*.inc: the general categories, scripts, other properties and simple case foldings that
regular expressions ask for, as the package regex knows them.

    pip install -r tests/tools/requirements-tokenizers.txt
    tests/tools/make_regex_tables.py grammar/regex

Foldings are those of the running Python: of Unicode 14 in Python 3.11.
"""
import pathlib
import sys

import regex
from regex import _regex_core

CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(CHARACTERS)
CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
              "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cn", "Co"]
# Properties, and the categories that are most of each: the table has the difference.
PROPERTIES = {
    "Alphabetic": ["L", "Nl"],
    "Lowercase": ["Ll"],
    "Uppercase": ["Lu"],
    "White_Space": ["Z"],
    "ID_Start": ["L", "Nl"],
    "ID_Continue": ["L", "Nl", "Mn", "Mc", "Nd", "Pc"],
    "XID_Start": ["L", "Nl"],
    "XID_Continue": ["L", "Nl", "Mn", "Mc", "Nd", "Pc"],
    "Ideographic": [],
    "Join_Control": [],
    "Hex_Digit": [],
    "Emoji": [],
    "Emoji_Presentation": [],
    "Emoji_Modifier": [],
    "Emoji_Component": [],
    "Extended_Pictographic": [],
}


def members(pattern):
    return set(regex.findall(pattern, ALL))


def ranges(characters):
    """[first, last] of what follows each other."""
    found = []
    for c in sorted(map(ord, characters)):
        if found and found[-1][1] + 1 == c:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def wrapped(entries):
    lines, line = [], "   "
    for entry in entries:
        if len(line) + len(entry) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {entry},"
    return "\n".join(lines + [line])


def table(kind, name, entries):
    return f"constexpr auto {name} = std::to_array<{kind}>({{\n{wrapped(entries)}\n}});\n"


def runs(values):
    """Where each run of one value begins, with the value in the low 8 bits."""
    found, last = [], None
    for c in CHARACTERS:
        if values[c] != last:
            last = values[c]
            found.append(f"0x{ord(c) << 8 | last:X}")
    return found


def simple_folding(c):
    folded = c.casefold()
    if len(folded) > 1:
        folded = c.lower()
    return folded if len(folded) == 1 else c


def foldings():
    """{first, last, step, distance to what it becomes}"""
    found = []
    for c in CHARACTERS:
        distance = ord(simple_folding(c)) - ord(c)
        if distance == 0:
            continue
        at = ord(c)
        if found and found[-1][3] == distance:
            first, last, step, _ = found[-1]
            gap = at - last
            if gap <= 2 and (first == last or gap == step):
                found[-1] = [first, at, gap, distance]
                continue
        found.append([at, at, 1, distance])
    return [f"{{0x{first:X}, 0x{last:X}, {step}, {distance}}}" for first, last, step, distance in found]


def names(prop, values):
    """Every name of the values, as loose matching spells it."""
    for name, value in sorted(_regex_core.PROPERTIES[prop][1].items()):
        if value in values:
            yield f'{{"{name}", {values[value]}}}'


def main(folder):
    head = "// Made by tests/tools/make_regex_tables.py, which says what this is.\n\n"
    category = {}
    for index, name in enumerate(CATEGORIES):
        category.update((c, index) for c in members(rf"\p{{gc={name}}}"))
    (folder / "unicode_categories.inc").write_text(head + table("uint32_t", "kCategoryRuns", runs(category)))

    scripts = sorted(set(_regex_core.PROPERTIES["SCRIPT"][1].values()))
    a_name = {value: name for name, value in _regex_core.PROPERTIES["SCRIPT"][1].items()}
    script = {}
    for index, value in enumerate(scripts):
        script.update((c, index) for c in members(rf"\p{{sc={a_name[value]}}}"))
    numbers = {value: index for index, value in enumerate(scripts)}
    (folder / "unicode_scripts.inc").write_text(
        head + table("uint32_t", "kScriptRuns", runs(script)) + "\n"
        + table("NamedValue", "kScriptNames", names("SCRIPT", numbers)))

    text = head
    rows = []
    for name, base in PROPERTIES.items():
        of_base = set().union(*(members(rf"\p{{gc={part}}}") for part in base))
        different = ranges(members(rf"\p{{{name}}}") ^ of_base)
        key = name.upper().replace("_", "")
        text += table("SymbolRange", f"k{name.replace('_', '')}",
                      [f"{{0x{first:X}, 0x{last:X}}}" for first, last in different]) + "\n"
        rows.append(f'{{"{key}", "{" ".join(base)}", k{name.replace("_", "")}}}')
    text += table("DerivedProperty", "kDerivedProperties", rows) + "\n"
    text += table("Folding", "kFoldings", foldings())
    (folder / "unicode_properties.inc").write_text(text)


main(pathlib.Path(sys.argv[1]))
