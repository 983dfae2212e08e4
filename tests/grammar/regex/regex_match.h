// Whether a text is one of an expression.
#pragma once

#include <string_view>

#include "grammar/regex/string_dfa.h"

namespace weft {

inline bool RegexMatches(RegexArena* arena, RegexId id, std::string_view text) {
  StringDfa dfa(arena, Spelling::kPlain);
  StringDfa::State state = dfa.Start(id);
  for (const char byte : text) {
    if (state == StringDfa::kDead) return false;
    state = dfa.Step(state, static_cast<uint8_t>(byte));
  }
  return state != StringDfa::kDead && dfa.Accepts(state);
}

}  // namespace weft
