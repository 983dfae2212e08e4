#include "model/tokenizer/character_map.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace weft {
namespace {

bool UnitHasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t UnitValue(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t UnitLabel(uint32_t unit) { return unit & 0x800000FF; }
uint32_t UnitOffset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

bool IsInsideCharacter(std::string_view text, size_t offset) {
  return offset < text.size() && (static_cast<uint8_t>(text[offset]) & 0xC0) == 0x80;
}

}  // namespace

Result<CharacterMap> CharacterMap::Parse(std::string_view precompiled) {
  uint32_t trie_bytes = 0;
  if (precompiled.size() < sizeof(trie_bytes)) {
    return Fail(ErrorCode::kCorrupt, "precompiled_charsmap: {} bytes, at least 4 expected",
                precompiled.size());
  }
  std::memcpy(&trie_bytes, precompiled.data(), sizeof(trie_bytes));
  const std::string_view rest = precompiled.substr(sizeof(trie_bytes));
  if (trie_bytes < sizeof(uint32_t) || trie_bytes % sizeof(uint32_t) != 0 ||
      trie_bytes > rest.size()) {
    return Fail(ErrorCode::kCorrupt,
                "precompiled_charsmap: a trie of {} bytes, a multiple of 4 up to {} expected",
                trie_bytes, rest.size());
  }
  const std::string_view replacements = rest.substr(trie_bytes);
  if (!replacements.empty() && replacements.back() != '\0') {
    return Fail(ErrorCode::kCorrupt,
                "precompiled_charsmap: the last replacement is not ended by a zero byte");
  }
  if (ValidUtf8Prefix(replacements) != replacements.size()) {
    return Fail(ErrorCode::kCorrupt, "precompiled_charsmap: replacements that are not UTF-8");
  }
  CharacterMap map;
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(map.units_.data(), rest.data(), trie_bytes);
  map.replacements_ = replacements;
  return map;
}

CharacterMap::Match CharacterMap::Find(std::string_view text, bool shortest) const {
  Match found;
  if (units_.empty()) return found;
  size_t position = UnitOffset(units_[0]);
  const size_t end = std::min(text.size(), kMaxRuleBytes);
  for (size_t i = 0; i < end; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    position ^= byte;
    if (byte == 0 || position >= units_.size() || UnitLabel(units_[position]) != byte) break;
    const uint32_t unit = units_[position];
    position ^= UnitOffset(unit);
    if (!UnitHasLeaf(unit)) continue;
    if (position >= units_.size()) break;
    const uint32_t replacement = UnitValue(units_[position]);
    if (replacement >= replacements_.size() || IsInsideCharacter(replacements_, replacement) ||
        IsInsideCharacter(text, i + 1)) {
      continue;
    }
    found = {i + 1, std::string_view(replacements_.c_str() + replacement)};
    if (shortest) break;
  }
  return found;
}

}  // namespace weft
