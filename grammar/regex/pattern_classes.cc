// Escapes and classes of patterns: what stands for symbols.
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "grammar/regex/pattern_cursor.h"
#include "grammar/regex/pattern_syntax.h"
#include "grammar/regex/unicode_sets.h"

namespace weft {
namespace {

bool IsPatternHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsAsciiLetterOrDigit(Symbol c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

SymbolSet DigitSymbols(PatternDialect dialect) {
  if (dialect == PatternDialect::kRust) return *UnicodeSet("Nd");
  return SymbolSet({{'0', '9'}});
}

SymbolSet SpaceSymbols(PatternDialect dialect) {
  switch (dialect) {
    case PatternDialect::kEcma:
      return SymbolSet({{'\t', '\r'}, {0x2028, 0x2029}, {0xFEFF, 0xFEFF}}).Union(*UnicodeSet("Zs"));
    case PatternDialect::kRe2:
      return SymbolSet({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}});
    case PatternDialect::kRust:
      return *UnicodeSet("White_Space");
  }
  return {};
}

SymbolSet CasesOf(const PatternCursor& cursor, const SymbolSet& set) {
  return cursor.ignore_case ? WithOtherCases(set) : set;
}

SymbolAtom SetAtom(SymbolSet set, bool complement) {
  return {complement ? set.Complement() : std::move(set), false, 0};
}

// Hexadecimal digits up to a brace or, without braces, so many.
Result<Symbol> ReadHexDigits(PatternCursor* cursor, size_t from, size_t digits) {
  const bool braces = cursor->Skip("{");
  Symbol value = 0;
  size_t count = 0;
  for (; IsPatternHexDigit(cursor->Peek()) && (braces || count < digits); ++count) {
    const char digit = cursor->Peek();
    value =
        value * 16 + static_cast<Symbol>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    if (value > kLastCodePoint) return cursor->Wrong(from, "there is no such code point");
    cursor->Advance(1);
  }
  if (braces ? count == 0 || !cursor->Skip("}") : count < digits) {
    return cursor->Wrong(from, "an escape with {} hexadecimal digits is expected", digits);
  }
  return value;
}

// \u and its digits, two of them where both are halves of one character. Half a one alone is a
// symbol that no text has.
Result<Symbol> ReadUnicodeEscape(PatternCursor* cursor, size_t from) {
  WEFT_ASSIGN_OR_RETURN(const Symbol first, ReadHexDigits(cursor, from, 4));
  const size_t behind = cursor->at();
  if (first >= 0xD800 && first <= 0xDBFF && cursor->Skip("\\u")) {
    WEFT_ASSIGN_OR_RETURN(const Symbol second, ReadHexDigits(cursor, behind, 4));
    if (second >= 0xDC00 && second <= 0xDFFF) {
      return 0x10000 + ((first - 0xD800) << 10U) + (second - 0xDC00);
    }
    cursor->Return(behind);
  }
  return first;
}

Result<SymbolAtom> ReadProperty(PatternCursor* cursor, size_t from, bool complement) {
  std::string_view name;
  if (cursor->Skip("{")) {
    const size_t length = cursor->Rest().find('}');
    if (length == std::string_view::npos) return cursor->Wrong(from, "\\p{{ without }}");
    name = cursor->Rest().substr(0, length);
    cursor->Advance(length + 1);
    if (name.starts_with('^')) {
      complement = !complement;
      name.remove_prefix(1);
    }
  } else if (cursor->dialect != PatternDialect::kEcma &&
             IsAsciiLetterOrDigit(static_cast<unsigned char>(cursor->Peek()))) {
    name = cursor->Rest().substr(0, 1);
    cursor->Advance(1);
  } else {
    return cursor->Wrong(from, "\\p without {{name}}");
  }
  const size_t equals = name.find('=');
  const std::optional<SymbolSet> set =
      equals == std::string_view::npos
          ? UnicodeSet(name)
          : UnicodeSet(name.substr(0, equals), name.substr(equals + 1));
  if (!set) return cursor->Unsupported(from, "the property '{}' is not known", name);
  return SetAtom(CasesOf(*cursor, *set), complement);
}

// \0 and, in RE2, up to two octal digits more.
Result<SymbolAtom> ReadOctal(PatternCursor* cursor, size_t from) {
  const auto is_digit = [&] { return cursor->Peek() >= '0' && cursor->Peek() <= '9'; };
  Symbol value = 0;
  if (cursor->dialect == PatternDialect::kRe2) {
    for (int i = 0; i < 2 && is_digit() && cursor->Peek() < '8'; ++i) {
      value = value * 8 + static_cast<Symbol>(cursor->Peek() - '0');
      cursor->Advance(1);
    }
  } else if (cursor->dialect == PatternDialect::kRust || is_digit()) {
    return cursor->Unsupported(from, "octal escapes are not supported");
  }
  return SymbolAtom::Single(value);
}

struct PosixClass {
  std::string_view name;
  SymbolSet set;
};

std::optional<SymbolSet> PosixSet(std::string_view name) {
  const std::array<PosixClass, 14> kClasses = {{
      {"alnum", SymbolSet({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}})},
      {"alpha", SymbolSet({{'A', 'Z'}, {'a', 'z'}})},
      {"ascii", SymbolSet({{0, 0x7F}})},
      {"blank", SymbolSet({{'\t', '\t'}, {' ', ' '}})},
      {"cntrl", SymbolSet({{0, 0x1F}, {0x7F, 0x7F}})},
      {"digit", SymbolSet({{'0', '9'}})},
      {"graph", SymbolSet({{'!', '~'}})},
      {"lower", SymbolSet({{'a', 'z'}})},
      {"print", SymbolSet({{' ', '~'}})},
      {"punct", SymbolSet({{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}})},
      {"space", SymbolSet({{'\t', '\r'}, {' ', ' '}})},
      {"upper", SymbolSet({{'A', 'Z'}})},
      {"word", SymbolSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}})},
      {"xdigit", SymbolSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}})},
  }};
  for (const PosixClass& known : kClasses) {
    if (known.name == name) return known.set;
  }
  return std::nullopt;
}

// [:alpha:] or [:^alpha:] in a class, at its "[".
Result<SymbolAtom> ReadPosixClass(PatternCursor* cursor) {
  const size_t from = cursor->at();
  cursor->Advance(2);
  const bool complement = cursor->Skip("^");
  const size_t length = cursor->Rest().find(":]");
  const std::string_view name = cursor->Rest().substr(0, length);
  const std::optional<SymbolSet> set = PosixSet(name);
  if (length == std::string_view::npos || !set) {
    return cursor->Wrong(from, "[: without the name of a class and :]");
  }
  cursor->Advance(length + 2);
  return SetAtom(CasesOf(*cursor, *set), complement);
}

// One part of a class: a symbol, an escape or a class by name.
Result<SymbolAtom> ReadClassAtom(PatternCursor* cursor) {
  const size_t from = cursor->at();
  if (cursor->AtEnd()) return cursor->Wrong(from, "a class is not closed: ] is missing");
  if (cursor->dialect != PatternDialect::kEcma && cursor->Sees("[:")) return ReadPosixClass(cursor);
  if (cursor->dialect == PatternDialect::kRust) {
    for (const std::string_view op : {"[", "&&", "--", "~~"}) {
      if (cursor->Sees(op)) {
        return cursor->Unsupported(from, "'{}' in a class is not supported", op);
      }
    }
  }
  if (cursor->Skip("\\")) return ReadEscape(cursor, true);
  return SymbolAtom::Single(cursor->Next());
}

}  // namespace

SymbolSet WordSymbols(PatternDialect dialect) {
  if (dialect != PatternDialect::kRust) {
    return SymbolSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  }
  SymbolSet set = *UnicodeSet("Alphabetic");
  for (const std::string_view name : {"M", "Nd", "Pc", "Join_Control"}) {
    set = set.Union(*UnicodeSet(name));
  }
  return set;
}

SymbolSet LineEndSymbols(PatternDialect dialect) {
  if (dialect != PatternDialect::kEcma) return SymbolSet({{'\n', '\n'}});
  return SymbolSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}

Result<SymbolAtom> ReadEscape(PatternCursor* cursor, bool in_class) {
  const size_t from = cursor->at() - 1;
  if (cursor->AtEnd()) return cursor->Wrong(from, "nothing follows the backslash");
  const PatternDialect dialect = cursor->dialect;
  const bool ecma = dialect == PatternDialect::kEcma;
  const Symbol c = cursor->Next();
  switch (c) {
    case 'd':
    case 'D':
      return SetAtom(DigitSymbols(dialect), c == 'D');
    case 'w':
    case 'W':
      return SetAtom(CasesOf(*cursor, WordSymbols(dialect)), c == 'W');
    case 's':
    case 'S':
      return SetAtom(SpaceSymbols(dialect), c == 'S');
    case 'p':
    case 'P':
      return ReadProperty(cursor, from, c == 'P');
    case 't':
      return SymbolAtom::Single('\t');
    case 'n':
      return SymbolAtom::Single('\n');
    case 'v':
      return SymbolAtom::Single('\v');
    case 'f':
      return SymbolAtom::Single('\f');
    case 'r':
      return SymbolAtom::Single('\r');
    case '0':
      return ReadOctal(cursor, from);
    case 'x':
    case 'u': {
      WEFT_ASSIGN_OR_RETURN(const Symbol symbol, c == 'x' ? ReadHexDigits(cursor, from, 2)
                                                          : ReadUnicodeEscape(cursor, from));
      return SymbolAtom::Single(symbol);
    }
    case 'a':
      if (!ecma) return SymbolAtom::Single('\a');
      break;
    case 'b':
      if (ecma && in_class) return SymbolAtom::Single('\b');
      break;
    case 'c':
      if (ecma && IsAsciiLetterOrDigit(static_cast<unsigned char>(cursor->Peek())) &&
          cursor->Peek() > '9') {
        return SymbolAtom::Single(cursor->Next() % 32);
      }
      break;
    case 'k':
      return cursor->Unsupported(from, "back references are not supported");
    default:
      if (c >= '1' && c <= '9') {
        return cursor->Unsupported(from, "back references and octal escapes are not supported");
      }
      if (!IsAsciiLetterOrDigit(c)) return SymbolAtom::Single(c);
  }
  return cursor->Unsupported(from, "the escape \\{} is not known{}", static_cast<char>(c),
                             in_class ? " in a class" : "");
}

Result<SymbolSet> ReadClass(PatternCursor* cursor) {
  const bool complement = cursor->Skip("^");
  std::vector<SymbolRange> ranges;
  const auto add = [&](const SymbolSet& set) {
    ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
  };
  // "[]a]" is a class of ] and a but to ECMA, where "[]" is one of nothing.
  bool first = cursor->dialect != PatternDialect::kEcma;
  while (first || !cursor->Skip("]")) {
    first = false;
    const size_t item = cursor->at();
    WEFT_ASSIGN_OR_RETURN(const SymbolAtom low, ReadClassAtom(cursor));
    if (cursor->Peek() != '-' || cursor->Peek(1) == ']' || cursor->Peek(1) == '\0') {
      add(low.set);
      continue;
    }
    const size_t dash = cursor->at();
    cursor->Advance(1);
    if (low.single) {
      WEFT_ASSIGN_OR_RETURN(const SymbolAtom high, ReadClassAtom(cursor));
      if (high.single) {
        if (high.symbol < low.symbol) {
          return cursor->Wrong(item, "a range in a class goes downwards");
        }
        ranges.push_back({low.symbol, high.symbol});
        continue;
      }
    }
    // Beside \w and the like a hyphen is a hyphen.
    add(low.set);
    cursor->Return(dash);
    add(SymbolAtom::Single(cursor->Next()).set);
  }
  const SymbolSet set =
      CasesOf(*cursor, SymbolSet(std::move(ranges))).Intersection(SymbolSet::AllCodePoints());
  return complement ? set.Complement() : set;
}

}  // namespace weft
