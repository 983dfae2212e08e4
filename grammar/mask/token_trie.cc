#include "grammar/mask/token_trie.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "grammar/regex/symbol_set.h"

namespace weft {
namespace {

constexpr size_t kLongestText = std::numeric_limits<uint16_t>::max();

size_t CountCommon(const std::string& a, const std::string& b) {
  const size_t most = std::min(a.size(), b.size());
  size_t count = 0;
  while (count < most && a[count] == b[count]) ++count;
  return count;
}

}  // namespace

std::string SpecialTokenBytes(uint32_t index) {
  constexpr uint32_t kBits = 7;
  constexpr uint32_t kMask = (1U << kBits) - 1;
  WEFT_CHECK(index <= kLastSymbol - kFirstSpecialSymbol);
  return {static_cast<char>(kSpecialByte), static_cast<char>(index >> (2 * kBits)),
          static_cast<char>(index >> kBits & kMask), static_cast<char>(index & kMask)};
}

TokenTrie::TokenTrie(std::span<const std::string> texts) {
  std::vector<int32_t> sorted;
  for (size_t token = 0; token < texts.size(); ++token) {
    const size_t size = texts[token].size();
    if (size > 0 && size <= kLongestText) sorted.push_back(static_cast<int32_t>(token));
    if (size <= kLongestText) longest_ = std::max(longest_, size);
  }
  // Of equal texts the lower token first. Strings compare as unsigned bytes.
  std::ranges::sort(sorted, [&](int32_t a, int32_t b) {
    const int order = texts[static_cast<size_t>(a)].compare(texts[static_cast<size_t>(b)]);
    return order != 0 ? order < 0 : a < b;
  });
  Add(texts, sorted);
  tokens_ = std::move(sorted);
  nodes_.shrink_to_fit();
}

void TokenTrie::Add(std::span<const std::string> texts, const std::vector<int32_t>& sorted) {
  std::vector<size_t> open;  // the nodes of the text before, from its first byte on
  const std::string none;
  const std::string* before = &none;
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  for (size_t place = 0; place < sorted.size(); ++place) {
    const std::string& text = texts[static_cast<size_t>(sorted[place])];
    const size_t common = CountCommon(*before, text);
    close(common);
    for (size_t depth = common; depth < text.size(); ++depth) {
      open.push_back(nodes_.size());
      nodes_.push_back({.end = 0,
                        .first_token = static_cast<uint32_t>(place),
                        .depth = static_cast<uint16_t>(depth + 1),
                        .byte = static_cast<uint8_t>(text[depth])});
    }
    before = &text;
  }
  close(0);
  nodes_.push_back({.end = static_cast<uint32_t>(nodes_.size() + 1),
                    .first_token = static_cast<uint32_t>(sorted.size()),
                    .depth = 0,
                    .byte = 0});
}

void TokenTrie::ClearTokens(uint32_t node, std::span<uint32_t> mask) const {
  const uint32_t end = nodes_[nodes_[node].end].first_token;
  for (uint32_t place = nodes_[node].first_token; place < end; ++place) {
    const auto token = static_cast<uint32_t>(tokens_[place]);
    mask[token / 32] &= ~(uint32_t{1} << (token % 32));
  }
}

size_t TokenTrie::bytes() const {
  return nodes_.capacity() * sizeof(Node) + tokens_.capacity() * sizeof(int32_t);
}

}  // namespace weft
