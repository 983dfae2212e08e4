// What masks need to know of a vocabulary, beside its bytes: how its tokens fare in strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/mask/string_run.h"
#include "grammar/mask/token_trie.h"
#include "grammar/regex/symbol_set.h"

namespace weft {

// Tokens of certain characters alone, the last one perhaps in part: many strings allow all of them,
// or those up to a length.
class TokenClass {
 public:
  // Of those tokens of `texts` that are in the mask `among`; the others are the rest of them, and
  // tokens of more than `most` characters. What a byte above 0x7F is part of is all in the class,
  // or all not.
  TokenClass(SymbolSet characters, uint32_t most, std::span<const std::string> texts,
             std::span<const uint32_t> among);

  const SymbolSet& characters() const { return characters_; }
  uint32_t most() const { return static_cast<uint32_t>(masks_.size() - 1); }
  // The mask of the tokens of 1 to `length` characters.
  std::span<const uint32_t> UpTo(uint32_t length) const { return masks_[length]; }
  const TokenTrie& others() const { return others_; }
  size_t bytes() const;

 private:
  // nullopt: not all of the text is of the class.
  std::optional<size_t> LengthOf(std::string_view text) const;

  SymbolSet characters_;
  std::vector<std::vector<uint32_t>> masks_;  // by length
  TokenTrie others_;
};

// Immutable; thread-safe. Does not move: runs point into it.
class MaskVocabulary {
 public:
  // See TokenTrie.
  explicit MaskVocabulary(std::span<const std::string> texts);
  MaskVocabulary(const MaskVocabulary&) = delete;
  MaskVocabulary& operator=(const MaskVocabulary&) = delete;

  const TokenTrie& trie() const { return trie_; }
  size_t mask_words() const { return (token_count_ + 31) / 32; }

  // Of the tokens that may come in a JSON string, or begin there: those of all characters that
  // stand for themselves, the shorter ones of these, and those of ASCII's letters and digits.
  std::span<const TokenClass> classes() const { return classes_; }
  // All that may come inside a string of which nothing is demanded.
  const StringRun& in_any_string() const { return in_any_string_; }

  size_t bytes() const;

 private:
  const size_t token_count_;
  const TokenTrie trie_;
  StringRun in_any_string_;
  std::vector<TokenClass> classes_;
};

}  // namespace weft
