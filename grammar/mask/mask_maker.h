// Which tokens of a vocabulary may come behind a text.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/mask/token_trie.h"
#include "grammar/recognizer.h"
#include "grammar/regex/string_dfa.h"

namespace weft {

// For one recognizer. What it has found out about the insides of strings it keeps: in them nearly
// all of a vocabulary may come, wherever the string is. One owner at a time.
class MaskMaker {
 public:
  // Both outlive it.
  MaskMaker(const TokenTrie* trie, Recognizer* recognizer)
      : trie_(*trie), recognizer_(*recognizer), path_(trie->longest() + 1) {}

  // Sets the bit of every token whose bytes may come behind `state`, which is not kDead; see
  // TokenTrie::SetTokens.
  void Fill(Recognizer::State state, std::span<uint32_t> mask);

 private:
  // Tokens that end a string and go on behind it.
  struct Exit {
    uint32_t node = 0;  // of the byte that ends it
    std::string text;   // before that
  };
  struct Run {
    std::vector<uint32_t> mask;  // of tokens that stay inside, or end it with their last byte
    std::vector<Exit> exits;
  };

  const Run& RunOf(const TextRun& run, size_t mask_words);
  void FillExits(const Run& run, uint8_t end, Recognizer::State state, std::span<uint32_t> mask);
  // Of the nodes in [begin, end), which are all below one; path_ has the state behind that.
  void FillNodes(uint32_t begin, uint32_t end, std::span<uint32_t> mask);

  const TokenTrie& trie_;
  Recognizer& recognizer_;
  std::vector<Recognizer::State> path_;  // behind the bytes of the text that is looked at
  std::map<std::pair<const StringDfa*, StringDfa::State>, Run> runs_;
  std::unordered_map<int64_t, Recognizer::State> ends_;  // of a Fill: by class
};

}  // namespace weft
