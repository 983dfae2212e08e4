// Texts of a grammar, as the engine's constraint: a recognizer of bytes, asked in tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/token_constraint.h"
#include "grammar/mask/mask_vocabulary.h"
#include "grammar/recognizer.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// A tokenizer's vocabulary in the bytes that grammars are made of: control tokens are the special
// symbols of their ids. A token whose own bytes hold what only special symbols begin with is part
// of no text. Immutable; thread-safe.
class GrammarVocabulary {
 public:
  explicit GrammarVocabulary(std::shared_ptr<const Tokenizer> tokenizer);

  // Empty: the token is part of no text.
  std::string BytesOf(TokenId token) const;
  const MaskVocabulary& masks() const { return masks_; }

 private:
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const MaskVocabulary masks_;
};

// Clones share the recognizer, one at a time, and what it has found out.
class GrammarMatcher : public TokenMatcher {
 public:
  GrammarMatcher(std::shared_ptr<const GrammarVocabulary> vocabulary,
                 std::unique_ptr<Recognizer> recognizer);

  std::unique_ptr<TokenMatcher> Clone() const override;
  bool IsNarrow() const override { return true; }
  Result<void> FillMask(TokenMask mask) override;
  bool Allows(TokenId token) override;
  bool MayEnd() const override { return may_end_; }
  Result<void> Accept(TokenId token) override;
  // Takes back the last `count` tokens, of those that were accepted.
  void Rollback(size_t count);

 private:
  struct Shared;

  // Behind the token, or kDead. The shared part is locked.
  Recognizer::State Behind(TokenId token) const;

  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const std::shared_ptr<Shared> shared_;
  std::vector<Recognizer::State> states_;  // before the first token, and behind each
  bool may_end_ = false;
};

// A compiled grammar, whose texts are all that may come.
class GrammarConstraint : public TokenConstraint {
 public:
  using MakeRecognizer = std::function<std::unique_ptr<Recognizer>()>;
  // `make` makes one of the same language every time, on any thread.
  GrammarConstraint(std::shared_ptr<const GrammarVocabulary> vocabulary, MakeRecognizer make);

  std::unique_ptr<TokenMatcher> NewMatcher() const override;

 private:
  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const MakeRecognizer make_;
};

}  // namespace weft
