// The bytes of a vocabulary's tokens as a trie, and what of it may come next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grammar/recognizer.h"

namespace weft {

// How texts spell the special token of this index (symbol_set.h), below 2^21.
std::string SpecialTokenBytes(uint32_t index);

// Immutable; thread-safe. About 20 bytes a token.
class TokenTrie {
 public:
  // `texts`: a token's bytes are the text at the place of its id. Tokens without text, or with one
  // of more than 65,535 bytes, are none of the trie's; several may have the same text.
  explicit TokenTrie(std::span<const std::string> texts);

  size_t token_count() const { return tokens_.size(); }
  size_t bytes() const;

  // Room for FillMask, to be kept from call to call.
  using Path = std::vector<Recognizer::State>;

  // Sets bit t % 32 of word t / 32 of the mask for every token t whose bytes may come behind
  // `state`, which is not kDead.
  void FillMask(Recognizer& recognizer, Recognizer::State state, Path& path,
                std::span<uint32_t> mask) const;

 private:
  // Of a text's last byte. Nodes are in preorder: what follows up to `end` are longer texts that
  // begin so.
  struct Node {
    uint32_t end = 0;
    uint32_t first_token = 0;  // in tokens_; the last one is before the next node's first
    uint16_t depth = 0;        // bytes of the text
    uint8_t byte = 0;
  };

  void Add(std::span<const std::string> texts, const std::vector<int32_t>& sorted);

  std::vector<Node> nodes_;      // and one behind the last
  std::vector<int32_t> tokens_;  // in the order of their texts
  size_t longest_ = 0;           // text, in bytes
};

}  // namespace weft
