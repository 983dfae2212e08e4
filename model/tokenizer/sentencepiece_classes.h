// What transformers' classes make of a SentencePiece file: which ids its
// pieces have, which tokens they add, and what comes before its normalizer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {

struct SentencePieceClass {
  // fairseq's ids: <s>, <pad>, </s> and <unk> come first, then the pieces behind the file's own
  // three special ones.
  bool has_fairseq_ids = false;
  std::vector<std::string> appended = {};  // control tokens behind the pieces
  // What stands around a text; empty: nothing, unless add_bos_token or add_eos_token say so.
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
  std::vector<std::string> between = {};  // two texts
  bool has_types = false;  // whether the tokens of a second text have a type of their own
  // Whether the class is SentencePiece itself (LlamaTokenizer, or none is named), which adds BOS.
  bool is_plain = true;
};

// The class that `hints` name. Of a Unigram model, an unknown one is refused by name; of a BPE
// model, all are SentencePiece itself but for the translators'. `path` is for errors.
Result<SentencePieceClass> FindSentencePieceClass(const SpecialTokenHints& hints, bool is_unigram,
                                                  const std::string& path);

// Steps before SentencePiece's own, which the class and `hints` ask for.
void AddStepsOfClass(const SpecialTokenHints& hints, Normalizer* normalizer);

// Gives the pieces the class's ids; `scores` are theirs. Refused if the file's first three are not
// special, as fairseq's ids ask for.
Result<void> ArrangePieces(const SentencePieceClass& known, const std::string& path,
                           std::vector<Token>* tokens, std::vector<float>* scores);

}  // namespace weft
