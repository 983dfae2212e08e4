// Instances token by token, as a server would let a model write them: before each token the mask of
// those that may come, which the token must be one of.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "grammar/mask/mask_vocabulary.h"
#include "grammar/recognizer.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// Thread CPU time since the thread began.
double ThreadSeconds();

// As Python's json.dumps writes it, or without white space.
std::string InstanceText(const nlohmann::ordered_json& value, bool is_spaced);

// A vocabulary's tokens, and texts in them.
class ReplayVocabulary {
 public:
  // Of a GGUF file, or of a folder with a tokenizer's files. Errors: those of reading them.
  static Result<ReplayVocabulary> Load(const std::string& path);

  // The text as it is written behind other text. Errors: those of Tokenizer::Encode.
  Result<std::vector<TokenId>> TokensOf(const std::string& text) const;
  // By id; empty for tokens that are part of no text.
  std::span<const std::string> texts() const { return texts_; }
  const MaskVocabulary& masks() const { return *masks_; }

 private:
  explicit ReplayVocabulary(std::shared_ptr<const Tokenizer> tokenizer);

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
  std::shared_ptr<const MaskVocabulary> masks_;
};

// Where a mask took its time.
struct SlowMask {
  double seconds = 0;
  std::string place;  // the schema, and the text before it
};

// What the masks of many instances took.
struct MaskTimes {
  std::vector<float> seconds;  // of each mask
  SlowMask worst;
  int of_one_token = 0;  // which leave no choice, and no end either
};

// Whether the recognizer takes the text as a whole, in these tokens. Borrows a new recognizer, so
// that nothing is known of it from instances before.
bool ReplayTokens(const ReplayVocabulary& vocabulary, std::span<const TokenId> tokens,
                  Recognizer& recognizer, const std::string& name, MaskTimes& times);

}  // namespace weft
