// What masks need to know of a vocabulary, beside its bytes: how its tokens fare in strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grammar/mask/string_run.h"
#include "grammar/mask/token_trie.h"
#include "grammar/regex/symbol_set.h"

namespace weft {

// In JSON strings nearly all tokens are plain: characters that stand for themselves, the last one
// perhaps in part. Most strings allow all of these, or those up to a length.
//
// Immutable; thread-safe. Does not move: runs point into it.
class MaskVocabulary {
 public:
  // See TokenTrie.
  explicit MaskVocabulary(std::span<const std::string> texts);
  MaskVocabulary(const MaskVocabulary&) = delete;
  MaskVocabulary& operator=(const MaskVocabulary&) = delete;

  const TokenTrie& trie() const { return trie_; }
  size_t mask_words() const { return (token_count_ + 31) / 32; }

  // Characters that stand in JSON strings as they are.
  static const SymbolSet& PlainCharacters();
  static constexpr uint32_t kMostPlain = 32;  // characters of a token that counts as plain
  // The mask of the plain tokens of 1 to `length` characters.
  std::span<const uint32_t> Plain(uint32_t length) const { return plain_[length]; }
  // The tokens that are not plain, but may come in a string, or begin there.
  const TokenTrie& others() const { return others_; }
  // All of these inside a string of which nothing is demanded.
  const StringRun& in_any_string() const { return in_any_string_; }

  size_t bytes() const;

 private:
  const size_t token_count_;
  const TokenTrie trie_;
  StringRun in_any_string_;
  std::vector<std::vector<uint32_t>> plain_;  // by length
  TokenTrie others_;
};

}  // namespace weft
