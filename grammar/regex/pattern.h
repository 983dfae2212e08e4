// Regular expressions as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "grammar/regex/regex.h"

namespace weft {

enum class PatternDialect : uint8_t {
  // ECMA-262 with the flag u, as JSON Schema's `pattern` has it: found anywhere in a text, unless ^
  // and $ say otherwise. What the flag forbids but people write is read as it is without the flag
  // where there is one meaning: \- and other escapes of punctuation, [\w-.], braces and brackets
  // that are no quantifier and no class. Besides, (?i) and the like, (?P<name>...), \A, \Z and \z.
  kEcma,
  // RE2's syntax, matching whole texts; besides, lookaround and \uHHHH. \d, \w, \s and \b are of
  // ASCII.
  kRe2,
  // That of Rust's crate regex, matching whole texts, as grammars in Lark's notation have it: the
  // same, but \d, \w, \s and \b are of Unicode. No operators between classes.
  kRust,
};

// The texts that `pattern` matches, whole texts of code points. Laziness and groups change nothing;
// ^, $, \b, lookahead and lookbehind may stand anywhere (lookahead not in lookbehind). Errors name
// the place in bytes: kInvalidArgument, kUnsupported for what no such expression can be (a back
// reference, for instance), kResourceExhausted for what is too large.
Result<RegexId> ParsePattern(RegexArena* arena, std::string_view pattern, PatternDialect dialect);

}  // namespace weft
