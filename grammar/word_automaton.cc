#include "grammar/word_automaton.h"

#include "base/check.h"

namespace weft {

WordAutomaton::WordAutomaton(std::span<const std::string_view> words) : next_(1) {
  constexpr size_t kMostNodes = 60'000;
  // A trie first: 0 where it does not go on. Then, in order of depth, where the longest other
  // ending goes on.
  std::vector<Node> order = {kStart};
  for (const std::string_view word : words) {
    Node node = kStart;
    for (size_t i = 0; i < word.size() && node != kWord; ++i) {
      const auto byte = static_cast<uint8_t>(word[i]);
      Node next = next_[node][byte];
      if (i + 1 == word.size()) {
        next = kWord;
      } else if (next == kStart) {
        WEFT_CHECK(next_.size() < kMostNodes);
        next = static_cast<Node>(next_.size());
        next_.emplace_back();
      }
      next_[node][byte] = next;
      node = next;
    }
  }
  std::vector<Node> suffix(next_.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const Node node = order[i];
    for (size_t byte = 0; byte < 256; ++byte) {
      const Node fallback = node == kStart ? kStart : next_[suffix[node]][byte];
      Node& next = next_[node][byte];
      if (fallback == kWord) next = kWord;
      if (next == kWord) continue;
      if (next == kStart) {
        next = fallback;
      } else {
        suffix[next] = fallback;
        order.push_back(next);
      }
    }
  }
}

WordAutomaton::Node WordAutomaton::Behind(Node node, std::string_view text) const {
  for (size_t i = 0; i < text.size() && node != kWord; ++i)
    node = Step(node, static_cast<uint8_t>(text[i]));
  return node;
}

}  // namespace weft
