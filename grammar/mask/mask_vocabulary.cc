#include "grammar/mask/mask_vocabulary.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/utf8.h"
#include "grammar/regex/regex.h"

namespace weft {
namespace {

// Its characters, if all of them are plain; the last one may have begun only, since all that are
// more than a byte are plain.
std::optional<size_t> CountPlain(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const Utf8Character character = DecodeUtf8(text, at);
    if (character.status == Utf8Status::kInvalid) return std::nullopt;
    if (character.status == Utf8Status::kValid &&
        !MaskVocabulary::PlainCharacters().Contains(character.code_point)) {
      return std::nullopt;
    }
    at += character.size_bytes;
  }
  return count;
}

}  // namespace

const SymbolSet& MaskVocabulary::PlainCharacters() {
  static const SymbolSet plain = SymbolSet::AllCodePoints().Intersection(
      SymbolSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}).Complement());
  return plain;
}

MaskVocabulary::MaskVocabulary(std::span<const std::string> texts)
    : token_count_(texts.size()), trie_(texts), others_({}) {
  in_any_string_.mask.resize(mask_words());
  RegexArena arena;
  StringDfa any(&arena, Spelling::kJsonString);
  WalkString(trie_, any, any.Start(arena.AnyText()), '"', in_any_string_);

  std::vector<uint32_t> may_come = in_any_string_.mask;
  for (const StringExit& exit : in_any_string_.exits) {
    for (uint32_t node = exit.node; node < trie_.nodes()[exit.node].end; ++node) {
      trie_.SetTokens(node, may_come);
    }
  }
  plain_.assign(kMostPlain + 1, std::vector<uint32_t>(mask_words()));
  std::vector<std::string> others(texts.size());
  for (size_t token = 0; token < texts.size(); ++token) {
    const uint32_t bit = uint32_t{1} << (token % 32);
    if ((may_come[token / 32] & bit) == 0) continue;
    const std::optional<size_t> length = CountPlain(texts[token]);
    if (!length || *length > kMostPlain) {
      others[token] = texts[token];
      continue;
    }
    for (size_t i = *length; i <= kMostPlain; ++i) plain_[i][token / 32] |= bit;
  }
  others_ = TokenTrie(others);
}

size_t MaskVocabulary::bytes() const {
  size_t bytes = trie_.bytes() + others_.bytes();
  bytes += (plain_.size() + 1) * mask_words() * sizeof(uint32_t);
  for (const StringExit& exit : in_any_string_.exits) bytes += sizeof(exit) + exit.text.size();
  return bytes;
}

}  // namespace weft
