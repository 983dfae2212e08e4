// Reads patterns: alternatives, sequences, quantifiers, groups.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/regex/pattern_cursor.h"
#include "grammar/regex/pattern_syntax.h"
#include "grammar/regex/unicode_sets.h"

namespace weft {
namespace {

constexpr size_t kMaxPatternBytes = 100'000;
constexpr int kMaxGroupDepth = 100;
constexpr uint32_t kMaxCount = 1'000'000'000;

class PatternReader {
 public:
  PatternReader(RegexArena* arena, std::string_view pattern, PatternDialect dialect)
      : arena_(arena), cursor_(pattern, dialect) {}

  Result<PatternTree> Read() {
    WEFT_ASSIGN_OR_RETURN(tree_.root, ReadAlternatives(0));
    if (!cursor_.AtEnd()) return cursor_.Wrong(cursor_.at(), "a ) that no ( belongs to");
    return std::move(tree_);
  }

 private:
  uint32_t Add(PatternNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
  }
  uint32_t AddSet(const SymbolSet& set) {
    return Add({.kind = PatternKind::kSet, .set = arena_->Set(set)});
  }
  // What is said of the only part is said of the whole.
  uint32_t AddParts(PatternKind kind, std::vector<uint32_t> parts) {
    return parts.size() == 1 ? parts.front() : Add({.kind = kind, .parts = std::move(parts)});
  }

  // Up to the end or a ")".
  Result<uint32_t> ReadAlternatives(int depth) {
    if (depth > kMaxGroupDepth) {
      return Fail(ErrorCode::kResourceExhausted, "at byte {}: groups are nested more than {} deep",
                  cursor_.at(), kMaxGroupDepth);
    }
    std::vector<uint32_t> alternatives;
    do {
      std::vector<uint32_t> parts;
      while (!cursor_.AtEnd() && !cursor_.Sees("|") && !cursor_.Sees(")")) {
        WEFT_RETURN_IF_ERROR(ReadPart(depth, &parts));
      }
      alternatives.push_back(AddParts(PatternKind::kConcat, std::move(parts)));
    } while (cursor_.Skip("|"));
    return AddParts(PatternKind::kOr, std::move(alternatives));
  }

  Result<void> ReadPart(int depth, std::vector<uint32_t>* parts) {
    const size_t from = cursor_.at();
    const size_t before = parts->size();
    WEFT_RETURN_IF_ERROR(ReadAtom(depth, parts));
    return ReadQuantifier(from, parts->size() > before, parts);
  }

  Result<void> ReadAtom(int depth, std::vector<uint32_t>* parts) {
    const size_t from = cursor_.at();
    const bool ecma = cursor_.dialect == PatternDialect::kEcma;
    const Symbol c = cursor_.Next();
    switch (c) {
      case '(':
        return ReadGroup(depth, parts);
      case '[': {
        WEFT_ASSIGN_OR_RETURN(const SymbolSet set, ReadClass(&cursor_));
        parts->push_back(AddSet(set));
        return {};
      }
      case '\\':
        return ReadBackslash(parts);
      case '.':
        parts->push_back(AddSet(cursor_.dot_is_all ? SymbolSet::AllCodePoints()
                                                   : LineEndSymbols(cursor_.dialect).Complement()));
        return {};
      case '^':
        parts->push_back(
            Add({.kind = cursor_.multi_line ? PatternKind::kLineStart : PatternKind::kTextStart}));
        return {};
      case '$':
        parts->push_back(
            Add({.kind = cursor_.multi_line ? PatternKind::kLineEnd : PatternKind::kTextEnd}));
        return {};
      case '*':
      case '+':
      case '?':
        return cursor_.Wrong(from, "there is nothing before {} to repeat", static_cast<char>(c));
      case '{':
        if (!ecma && cursor_.dialect != PatternDialect::kRe2) {
          return cursor_.Wrong(from, "a {{ that is no quantifier");
        }
        break;
      default:
        break;
    }
    parts->push_back(AddSet(CasesOf(SymbolSet({{c, c}}))));
    return {};
  }

  SymbolSet CasesOf(const SymbolSet& set) const {
    return cursor_.ignore_case ? WithOtherCases(set) : set;
  }

  Result<void> ReadBackslash(std::vector<uint32_t>* parts) {
    const size_t from = cursor_.at() - 1;
    const auto assertion = [&](PatternKind kind) -> Result<void> {
      cursor_.Advance(1);
      parts->push_back(Add({.kind = kind}));
      return {};
    };
    switch (cursor_.Peek()) {
      case 'A':
        return assertion(PatternKind::kTextStart);
      case 'z':
      case 'Z':
        return assertion(PatternKind::kTextEnd);
      case 'b':
        if (cursor_.Sees("b{") && cursor_.dialect == PatternDialect::kRust) {
          return cursor_.Unsupported(from, "\\b{{...}} is not supported");
        }
        return assertion(PatternKind::kWordBoundary);
      case 'B':
        return assertion(PatternKind::kNoWordBoundary);
      case '<':
      case '>':
        if (cursor_.dialect == PatternDialect::kRust) {
          return cursor_.Unsupported(from, "\\< and \\> are not supported");
        }
        break;
      default:
        break;
    }
    WEFT_ASSIGN_OR_RETURN(const SymbolAtom atom, ReadEscape(&cursor_, false));
    parts->push_back(AddSet(atom.single ? CasesOf(atom.set) : atom.set));
    return {};
  }

  // Behind "(", through ")".
  Result<void> ReadGroup(int depth, std::vector<uint32_t>* parts) {
    const size_t from = cursor_.at() - 1;
    const bool ignore_case = cursor_.ignore_case;
    const bool multi_line = cursor_.multi_line;
    const bool dot_is_all = cursor_.dot_is_all;
    PatternNode look{.kind = PatternKind::kConcat};
    if (cursor_.Sees("?=") || cursor_.Sees("?!")) {
      look = {.kind = PatternKind::kAhead, .negated = cursor_.Sees("?!")};
      cursor_.Advance(2);
    } else if (cursor_.Sees("?<=") || cursor_.Sees("?<!")) {
      look = {.kind = PatternKind::kBehind, .negated = cursor_.Sees("?<!")};
      cursor_.Advance(3);
    } else if (cursor_.Sees("?P<") || cursor_.Sees("?<")) {
      WEFT_RETURN_IF_ERROR(SkipGroupName(from));
    } else if (cursor_.Sees("?P=")) {
      return cursor_.Unsupported(from, "back references are not supported");
    } else if (cursor_.Sees("?>") || cursor_.Sees("?(") || cursor_.Sees("?#") ||
               cursor_.Sees("?|") || cursor_.Sees("?&") || cursor_.Sees("?P>")) {
      return cursor_.Unsupported(from, "a group that begins with (?{} is not supported",
                                 cursor_.Peek(1));
    } else if (cursor_.Skip("?")) {
      WEFT_ASSIGN_OR_RETURN(const bool is_group, ReadFlags(from));
      if (!is_group) return {};  // for what follows, up to the end of the group around it
    }
    WEFT_ASSIGN_OR_RETURN(const uint32_t inner, ReadAlternatives(depth + 1));
    if (!cursor_.Skip(")")) return cursor_.Wrong(from, "a group is not closed: ) is missing");
    cursor_.ignore_case = ignore_case;
    cursor_.multi_line = multi_line;
    cursor_.dot_is_all = dot_is_all;
    if (look.kind == PatternKind::kConcat) {
      parts->push_back(inner);
    } else {
      look.parts = {inner};
      parts->push_back(Add(std::move(look)));
    }
    return {};
  }

  Result<void> SkipGroupName(size_t from) {
    const size_t begin = cursor_.Rest().find('<') + 1;
    const size_t end = cursor_.Rest().find('>');
    if (end == std::string_view::npos || end == begin) {
      return cursor_.Wrong(from, "a group without the name that it begins to give");
    }
    cursor_.Advance(end + 1);
    return {};
  }

  // Behind "(?": "i)" or "i:", any of the flags. Whether a group begins.
  Result<bool> ReadFlags(size_t from) {
    bool on = true;
    while (true) {
      const char flag = cursor_.Peek();
      cursor_.Advance(cursor_.AtEnd() ? 0 : 1);
      switch (flag) {
        case ':':
          return true;
        case ')':
          return false;
        case '-':
          on = false;
          break;
        case 'i':
          cursor_.ignore_case = on;
          break;
        case 'm':
          cursor_.multi_line = on;
          break;
        case 's':
          cursor_.dot_is_all = on;
          break;
        case 'u':
          if (on) break;
          return cursor_.Unsupported(from, "the flag u cannot be taken away");
        case 'U':
          break;  // lazy or not, the language is the same
        default:
          return cursor_.Unsupported(from,
                                     "a group that begins with (? and something else than "
                                     ": = ! < P or the flags i, m, s, u and U");
      }
    }
  }

  // {n}, {n,} or {n,m} at the cursor, which stays before what is none of them.
  struct Count {
    uint32_t min = 0;
    uint32_t max = 0;
  };
  Result<std::optional<Count>> ReadCount() {
    const size_t from = cursor_.at();
    const auto number = [&]() -> std::optional<uint64_t> {
      std::optional<uint64_t> value;
      while (cursor_.Peek() >= '0' && cursor_.Peek() <= '9') {
        const auto digit = static_cast<uint64_t>(cursor_.Peek() - '0');
        value = std::min<uint64_t>(value.value_or(0) * 10 + digit, kMaxCount + 1);
        cursor_.Advance(1);
      }
      return value;
    };
    const auto no_count = [&]() -> std::optional<Count> {
      cursor_.Return(from);
      return std::nullopt;
    };
    cursor_.Advance(1);
    const std::optional<uint64_t> min = number();
    const bool comma = cursor_.Skip(",");
    const std::optional<uint64_t> max = comma ? number() : min;
    if (!cursor_.Skip("}")) return no_count();
    if (!min && max) {
      return cursor_.Unsupported(from, "a count without a least number: {{0,...}} is clearer");
    }
    if (!min) return no_count();
    if (*min > kMaxCount || max.value_or(0) > kMaxCount) {
      return cursor_.Wrong(from, "a count of more than {}", kMaxCount);
    }
    if (max && *max < *min) return cursor_.Wrong(from, "a count whose most is below its least");
    return Count{static_cast<uint32_t>(*min),
                 max ? static_cast<uint32_t>(*max) : RegexNode::kUnbounded};
  }

  Result<void> ReadQuantifier(size_t from, bool has_atom, std::vector<uint32_t>* parts) {
    std::optional<Count> count;
    const size_t at = cursor_.at();
    if (cursor_.Skip("*")) {
      count = Count{0, RegexNode::kUnbounded};
    } else if (cursor_.Skip("+")) {
      count = Count{1, RegexNode::kUnbounded};
    } else if (cursor_.Skip("?")) {
      count = Count{0, 1};
    } else if (cursor_.Sees("{")) {
      WEFT_ASSIGN_OR_RETURN(count, ReadCount());
    }
    if (!count) return {};
    if (!has_atom) return cursor_.Wrong(at, "there is nothing before a quantifier to repeat");
    cursor_.Skip("?");  // lazy: the same language
    if (cursor_.Sees("+") || cursor_.Sees("*") || cursor_.Sees("?")) {
      return cursor_.Unsupported(from, "a quantifier of a quantifier is not supported");
    }
    const uint32_t repeated = parts->back();
    parts->back() = Add(
        {.kind = PatternKind::kRepeat, .parts = {repeated}, .min = count->min, .max = count->max});
    return {};
  }

  RegexArena* arena_;
  PatternCursor cursor_;
  PatternTree tree_;
};

}  // namespace

Result<PatternTree> ReadPattern(RegexArena* arena, std::string_view pattern,
                                PatternDialect dialect) {
  if (pattern.size() > kMaxPatternBytes) {
    return Fail(ErrorCode::kResourceExhausted, "a pattern of {} bytes; the limit is {}",
                pattern.size(), kMaxPatternBytes);
  }
  if (ValidUtf8Prefix(pattern) != pattern.size()) {
    return Fail(ErrorCode::kInvalidArgument, "at byte {}: not valid UTF-8",
                ValidUtf8Prefix(pattern));
  }
  return PatternReader(arena, pattern, dialect).Read();
}

}  // namespace weft
