// Finds added and special tokens by their literal text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tensor.h"
#include "model/tokenizer/byte_trie.h"

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
  const SpecialToken* MatchAt(std::string_view text, size_t offset, bool match_control) const;

  std::vector<SpecialToken> tokens_;
  ByteTrie trie_;  // of the indices of tokens_
};

}  // namespace weft
