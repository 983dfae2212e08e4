// Which tokens may come inside a JSON string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grammar/mask/token_trie.h"
#include "grammar/recognizer.h"

namespace weft {

// A token that ends a string and goes on, or the beginning of several.
struct StringExit {
  uint32_t node = 0;            // of the byte that ends it
  std::string text;             // before that
  bool goes_into_name = false;  // of a further property, in a token
};

// What a string's automaton says of a vocabulary's tokens, in one of its states.
struct StringRun {
  std::vector<uint32_t> mask;  // of tokens that stay inside, or end it with their last byte
  const TokenTrie* trie = nullptr;
  std::vector<StringExit> exits;  // in `trie`
};

// Of the nodes in [begin, end), which are all below one, behind which `text` goes on: sets the bits
// of tokens that stay inside, or end with their last byte, and adds the exits of others. Words that
// it avoids are not looked for.
void WalkString(const TokenTrie& trie, uint32_t begin, uint32_t end, const TextRun& text,
                std::span<uint32_t> mask, std::vector<StringExit>& exits);

// Of all of the trie's tokens.
void WalkString(const TokenTrie& trie, const TextRun& text, StringRun& run);

// Of the same nodes: clears the bits of tokens in which a word comes that `text` avoids.
void ClearAvoided(const TokenTrie& trie, uint32_t begin, uint32_t end, const TextRun& text,
                  std::span<uint32_t> mask);

}  // namespace weft
