// Finds added and special tokens by their literal text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tensor.h"

namespace weft {

// The flags are those of tokenizer.json's added_tokens.
struct SpecialToken {
  std::string text;  // not empty
  TokenId id = 0;
  bool control = true;       // matched only where special tokens are parsed
  bool single_word = false;  // only where no word character touches it
  bool strip_left = false;   // takes the white space before it along
  bool strip_right = false;  // and after it
};

// Immutable after construction.
class SpecialTokenMatcher {
 public:
  // Of several tokens with one text, the first counts.
  explicit SpecialTokenMatcher(std::vector<SpecialToken> tokens = {});

  bool empty() const { return tokens_.empty(); }

  struct Segment {
    std::string_view text;      // what lies before the token; may be empty
    const SpecialToken* token;  // nullptr after the last one
  };
  // Cuts `text` at the tokens: the leftmost match first, of those the longest. Ends with a segment
  // without token. `match_control` false leaves control tokens to be read as ordinary text.
  std::vector<Segment> Split(std::string_view text, bool match_control) const;

 private:
  // A trie over the tokens' bytes; children of a node are contiguous and sorted by byte.
  struct Node {
    uint32_t first_child = 0;
    uint16_t child_count = 0;
    uint8_t byte = 0;    // on the edge that leads here
    int32_t token = -1;  // that ends here
  };
  uint32_t Child(uint32_t node, uint8_t byte) const;  // 0: none
  const SpecialToken* MatchAt(std::string_view text, size_t offset, bool match_control) const;

  std::vector<SpecialToken> tokens_;
  std::vector<Node> nodes_;
  bool starts_token_[256] = {};
};

}  // namespace weft
