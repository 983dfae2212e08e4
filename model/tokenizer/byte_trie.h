// Which of many spellings a text goes on with: a trie over their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

// Immutable after construction. Takes 12 bytes a node, of which there are at most as many as the
// spellings have bytes together, and one.
class ByteTrie {
 public:
  struct Entry {
    std::string_view key;  // not empty; only read by the constructor
    int32_t value = 0;     // not negative
  };
  static constexpr uint32_t kRoot = 0;

  ByteTrie() : ByteTrie(std::span<const Entry>()) {}
  // Of several entries with one key, the first counts.
  explicit ByteTrie(std::span<const Entry> entries);

  // The node that `byte` leads to from `node`; kRoot if there is none.
  uint32_t Child(uint32_t node, uint8_t byte) const;
  // The value of the entry that ends at `node`; negative if none does.
  int32_t Value(uint32_t node) const { return nodes_[node].value; }

  struct Match {
    size_t size_bytes = 0;  // 0: no entry is a prefix
    int32_t value = -1;
  };
  // The longest entry that `text` begins with.
  Match Longest(std::string_view text) const;

 private:
  // Children of a node are contiguous and sorted by byte.
  struct Node {
    uint32_t first_child = 0;
    uint16_t child_count = 0;
    uint8_t byte = 0;  // on the edge that leads here
    int32_t value = -1;
  };

  std::vector<Node> nodes_;
  std::vector<uint32_t> root_children_;  // of all 256 bytes: every walk begins here
};

}  // namespace weft
