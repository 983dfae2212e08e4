#include "model/tokenizer/byte_trie.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft {

ByteTrie::ByteTrie(std::span<const Entry> entries) : root_children_(256, kRoot) {
  std::vector<uint32_t> sorted(entries.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return entries[a].key < entries[b].key; });
  nodes_.emplace_back();

  // Breadth first, so that the children of a node lie side by side.
  struct EntryRange {
    uint32_t node;
    size_t depth, first, last;  // sorted[first, last) share the node's path
  };
  std::vector<EntryRange> level = {{kRoot, 0, 0, sorted.size()}};
  while (!level.empty()) {
    std::vector<EntryRange> next_level;
    for (EntryRange range : level) {
      while (range.first < range.last && entries[sorted[range.first]].key.size() == range.depth) {
        int32_t& value = nodes_[range.node].value;
        if (value < 0) value = entries[sorted[range.first]].value;
        ++range.first;
      }
      nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
      for (size_t begin = range.first; begin < range.last;) {
        const char byte = entries[sorted[begin]].key[range.depth];
        size_t end = begin;
        while (end < range.last && entries[sorted[end]].key[range.depth] == byte) ++end;
        Node child;
        child.byte = static_cast<uint8_t>(byte);
        next_level.push_back({static_cast<uint32_t>(nodes_.size()), range.depth + 1, begin, end});
        nodes_.push_back(child);
        ++nodes_[range.node].child_count;
        begin = end;
      }
    }
    level = std::move(next_level);
  }
  const Node& root = nodes_[kRoot];
  for (uint32_t i = 0; i < root.child_count; ++i) {
    root_children_[nodes_[root.first_child + i].byte] = root.first_child + i;
  }
}

uint32_t ByteTrie::Child(uint32_t node, uint8_t byte) const {
  if (node == kRoot) return root_children_[byte];
  const auto begin = nodes_.begin() + nodes_[node].first_child;
  const auto end = begin + nodes_[node].child_count;
  const auto found = std::lower_bound(
      begin, end, byte, [](const Node& child, uint8_t wanted) { return child.byte < wanted; });
  return found == end || found->byte != byte ? kRoot
                                             : static_cast<uint32_t>(found - nodes_.begin());
}

ByteTrie::Match ByteTrie::Longest(std::string_view text) const {
  Match longest;
  uint32_t node = kRoot;
  for (size_t i = 0; i < text.size(); ++i) {
    node = Child(node, static_cast<uint8_t>(text[i]));
    if (node == kRoot) break;
    if (Value(node) >= 0) longest = {i + 1, Value(node)};
  }
  return longest;
}

}  // namespace weft
