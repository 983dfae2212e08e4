// SentencePiece's precompiled_charsmap: rewritings of characters and short sequences of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

// The blob: the size of a trie in bytes (uint32, little-endian as all of it), the trie's units
// (uint32 each), then the replacements, each ended by a zero byte. A unit is one of Darts-clone's
// (https://github.com/s-yata/darts-clone). Immutable after construction; the blob is hostile.
class CharacterMap {
 public:
  CharacterMap() = default;  // rewrites nothing
  // Refused if its sizes contradict each other, or the replacements are not UTF-8.
  static Result<CharacterMap> Parse(std::string_view precompiled);

  struct Match {
    size_t size_bytes = 0;         // 0: no rule applies
    std::string_view replacement;  // valid UTF-8; views the map
  };
  // The longest rule that `text` (valid UTF-8) begins with, and the shortest. A match ends between
  // characters. Takes constant time: the trie may have cycles, and longer rules than kMaxRuleBytes
  // are not found.
  static constexpr size_t kMaxRuleBytes = 256;
  Match Longest(std::string_view text) const { return Find(text, false); }
  Match Shortest(std::string_view text) const { return Find(text, true); }

 private:
  Match Find(std::string_view text, bool shortest) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // ends with a zero byte or is empty
};

}  // namespace weft
