// Which tokens may come inside a JSON string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grammar/mask/token_trie.h"
#include "grammar/regex/string_dfa.h"

namespace weft {

// What a string's automaton says of a vocabulary's tokens, in one of its states.
struct StringRun {
  // A token that ends the string, and others that go on behind its end.
  struct Exit {
    uint32_t node = 0;  // of the byte that ends it, in `trie`
    std::string text;   // before that
  };

  std::vector<uint32_t> mask;  // of tokens that stay inside, or end it with their last byte
  const TokenTrie* trie = nullptr;
  std::vector<Exit> exits;  // those that tokens go on behind
};

// Adds what it finds out about the trie's tokens; `end` ends the string where the automaton
// accepts. The trie outlives `run`.
void WalkString(const TokenTrie& trie, StringDfa& dfa, StringDfa::State state, uint8_t end,
                StringRun& run);

}  // namespace weft
