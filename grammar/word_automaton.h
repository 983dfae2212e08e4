// Where certain words stand in texts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

// Of Aho and Corasick, "Efficient string matching" (1975). Immutable; thread-safe.
class WordAutomaton {
 public:
  // The longest beginning of a word that the text ends with.
  using Node = uint16_t;
  static constexpr Node kStart = 0;
  static constexpr Node kWord = 0xFFFF;  // behind a whole word; there are no steps from here

  // Of at most 60,000 bytes together; empty words do not count.
  explicit WordAutomaton(std::span<const std::string_view> words);

  Node Step(Node node, uint8_t byte) const { return next_[node][byte]; }
  // Behind a text; kWord: a word has come in it.
  Node Behind(Node node, std::string_view text) const;

 private:
  std::vector<std::array<Node, 256>> next_;  // by node
};

}  // namespace weft
