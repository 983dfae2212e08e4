// Which tokens of a vocabulary may come behind a text.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "grammar/mask/mask_vocabulary.h"
#include "grammar/mask/string_run.h"
#include "grammar/mask/token_trie.h"
#include "grammar/recognizer.h"
#include "grammar/regex/string_dfa.h"

namespace weft {

// For one recognizer. What it has found out about the insides of strings it keeps: in them nearly
// all of a vocabulary may come, wherever the string is. One owner at a time.
class MaskMaker {
 public:
  // Both outlive it.
  MaskMaker(const MaskVocabulary* vocabulary, Recognizer* recognizer)
      : vocabulary_(*vocabulary),
        recognizer_(*recognizer),
        path_(vocabulary->trie().longest() + 1) {}

  // Sets the bit of every token whose bytes may come behind `state`, which is not kDead; see
  // TokenTrie::SetTokens.
  void Fill(Recognizer::State state, std::span<uint32_t> mask);
  size_t bytes() const { return runs_.size() * vocabulary_.mask_words() * sizeof(uint32_t); }

 private:
  // A run without its end.
  using RunKey =
      std::tuple<const StringDfa*, StringDfa::State, const WordAutomaton*, WordAutomaton::Node>;

  const StringRun& RunOf(const TextRun& run);
  // Of a run that `state` is in.
  void FillExits(const TokenTrie& trie, std::span<const StringExit> exits, const TextRun& run,
                 Recognizer::State state, std::span<uint32_t> mask);
  // Behind the end of a run that goes on with `rest`.
  Recognizer::State StepRun(const TextRun& run, Recognizer::State state, std::string_view rest);
  // Of the nodes in [begin, end), which are all below one; path_ has the state behind that.
  void FillNodes(const TokenTrie& trie, uint32_t begin, uint32_t end, std::span<uint32_t> mask);

  const MaskVocabulary& vocabulary_;
  Recognizer& recognizer_;
  std::vector<Recognizer::State> path_;  // behind the bytes of the text that is looked at
  std::map<RunKey, StringRun> runs_;
};

}  // namespace weft
