// What stands in a pattern, before it is made an expression.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/regex/pattern.h"
#include "grammar/regex/regex.h"

namespace weft {

enum class PatternKind : uint8_t {
  kSet,     // set
  kConcat,  // of parts
  kOr,      // of parts
  kRepeat,  // parts[0], min to max times
  kTextStart,
  kTextEnd,
  kLineStart,
  kLineEnd,
  kWordBoundary,
  kNoWordBoundary,
  kAhead,   // parts[0]
  kBehind,  // parts[0]
};

struct PatternNode {
  PatternKind kind = PatternKind::kConcat;
  bool negated = false;  // kAhead, kBehind
  RegexId set = RegexId::kNothing;
  std::vector<uint32_t> parts = {};
  uint32_t min = 0;
  uint32_t max = RegexNode::kUnbounded;
};

struct PatternTree {
  std::vector<PatternNode> nodes;
  uint32_t root = 0;
};

Result<PatternTree> ReadPattern(RegexArena* arena, std::string_view pattern,
                                PatternDialect dialect);

// What \w is to the dialect.
SymbolSet WordSymbols(PatternDialect dialect);
// What a line ends with.
SymbolSet LineEndSymbols(PatternDialect dialect);

}  // namespace weft
