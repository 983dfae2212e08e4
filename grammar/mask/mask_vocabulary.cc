#include "grammar/mask/mask_vocabulary.h"

#include <utility>

#include "base/utf8.h"
#include "grammar/regex/regex.h"
#include "grammar/regex/string_dfa.h"

namespace weft {
namespace {

// Of tokens, in characters.
constexpr uint32_t kMostLength = 32;
constexpr uint32_t kShortLength = 10;

bool IsIn(std::span<const uint32_t> mask, size_t token) {
  return (mask[token / 32] >> (token % 32) & 1U) != 0;
}

}  // namespace

TokenClass::TokenClass(SymbolSet characters, uint32_t most, std::span<const std::string> texts,
                       std::span<const uint32_t> among)
    : characters_(std::move(characters)),
      masks_(most + 1, std::vector<uint32_t>(among.size())),
      others_({}) {
  std::vector<std::string> others(texts.size());
  for (size_t token = 0; token < texts.size(); ++token) {
    if (!IsIn(among, token)) continue;
    const std::optional<size_t> length = LengthOf(texts[token]);
    if (!length || *length > most) {
      others[token] = texts[token];
      continue;
    }
    for (size_t i = *length; i <= most; ++i) {
      masks_[i][token / 32] |= uint32_t{1} << (token % 32);
    }
  }
  others_ = TokenTrie(others);
}

std::optional<size_t> TokenClass::LengthOf(std::string_view text) const {
  size_t length = 0;
  for (size_t at = 0; at < text.size(); ++length) {
    const Utf8Character character = DecodeUtf8(text, at);
    const bool has_begun = character.status == Utf8Status::kIncomplete;
    const char32_t code_point = has_begun ? kLastCodePoint : character.code_point;
    if (character.status == Utf8Status::kInvalid || !characters_.Contains(code_point)) {
      return std::nullopt;
    }
    at += character.size_bytes;
  }
  return length;
}

size_t TokenClass::bytes() const {
  return others_.bytes() + masks_.size() * masks_[0].size() * sizeof(uint32_t);
}

MaskVocabulary::MaskVocabulary(std::span<const std::string> texts)
    : token_count_(texts.size()), trie_(texts) {
  in_any_string_.mask.resize(mask_words());
  RegexArena arena;
  StringDfa any(&arena, Spelling::kJsonString);
  const TextRun text = {.dfa = &any, .state = any.Start(arena.AnyText()), .end = '"'};
  WalkString(trie_, text, in_any_string_);
  std::vector<uint32_t> may_come = in_any_string_.mask;
  for (const StringExit& exit : in_any_string_.exits) {
    for (uint32_t node = exit.node; node < trie_.nodes()[exit.node].end; ++node) {
      trie_.SetTokens(node, may_come);
    }
  }
  const SymbolSet not_plain({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  const SymbolSet alphanumeric({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}});
  classes_.emplace_back(not_plain.Complement(), kMostLength, texts, may_come);
  classes_.emplace_back(not_plain.Complement(), kShortLength, texts, may_come);
  classes_.emplace_back(alphanumeric, kMostLength, texts, may_come);
}

size_t MaskVocabulary::bytes() const {
  size_t bytes = trie_.bytes() + mask_words() * sizeof(uint32_t);
  for (const TokenClass& tokens : classes_) bytes += tokens.bytes();
  for (const StringExit& exit : in_any_string_.exits) bytes += sizeof(exit) + exit.text.size();
  return bytes;
}

}  // namespace weft
