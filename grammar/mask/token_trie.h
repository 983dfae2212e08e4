// The bytes of a vocabulary's tokens as a trie.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

  // Of a text's last byte. Nodes are in preorder: what follows up to `end` are longer texts that
  // begin so.
  struct Node {
    uint32_t end = 0;
    uint32_t first_token = 0;  // in tokens_; the last one is before the next node's first
    uint16_t depth = 0;        // bytes of the text
    uint8_t byte = 0;
  };
  // And one behind the last.
  std::span<const Node> nodes() const { return nodes_; }
  size_t longest() const { return longest_; }  // text, in bytes
  // Those that end with this node, ascending.
  std::span<const int32_t> TokensAt(uint32_t node) const {
    const uint32_t first = nodes_[node].first_token;
    return std::span(tokens_).subspan(first, nodes_[node + 1].first_token - first);
  }
  // The same in a mask: bit t % 32 of word t / 32 for token t.
  void SetTokens(uint32_t node, std::span<uint32_t> mask) const {
    for (const int32_t id : TokensAt(node)) {
      const auto token = static_cast<uint32_t>(id);
      mask[token / 32] |= uint32_t{1} << (token % 32);
    }
  }
  // Of those that end with this node or go on behind it.
  void ClearTokens(uint32_t node, std::span<uint32_t> mask) const;

 private:
  void Add(std::span<const std::string> texts, const std::vector<int32_t>& sorted);

  std::vector<Node> nodes_;      // and one behind the last
  std::vector<int32_t> tokens_;  // in the order of their texts
  size_t longest_ = 0;
};

}  // namespace weft
