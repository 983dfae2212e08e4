// Texts of a grammar, as the engine's constraint: a recognizer of bytes, asked in tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/token_constraint.h"
#include "grammar/mask/mask_maker.h"
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

// What matchers of one text share: a recognizer, one of them at a time, and what it has found out.
struct SharedRecognizer {
  // The vocabulary outlives it.
  SharedRecognizer(const MaskVocabulary& vocabulary, std::unique_ptr<Recognizer> owned)
      : recognizer(std::move(owned)), maker(&vocabulary, recognizer.get()) {}
  // Masks of states that come again: inside a string, for instance, at every token.
  static constexpr size_t kMostMasks = 16;

  std::mutex mutex;  // guards what follows
  std::unique_ptr<Recognizer> recognizer;
  MaskMaker maker;
  std::unordered_map<Recognizer::State, std::vector<uint32_t>> masks;
  size_t state_count = 0;  // at least so many has the recognizer
};

// Recognizers that no text uses now: the next text of the same constraint begins with what they
// have found out. Bounded; thread-safe.
class MatcherPool {
 public:
  using Owner = const void*;

  // nullptr: there is none of this owner's.
  std::unique_ptr<SharedRecognizer> Take(Owner owner);
  void Give(Owner owner, std::unique_ptr<SharedRecognizer> shared);
  void Drop(Owner owner);

 private:
  static constexpr size_t kMostIdle = 64;
  // Of all of them; a state takes about a KB.
  static constexpr size_t kMostStates = 100'000;

  struct Idle {
    Owner owner = nullptr;
    std::unique_ptr<SharedRecognizer> shared;
  };

  std::mutex mutex_;      // guards what follows
  std::list<Idle> idle_;  // the last given first
  size_t state_count_ = 0;
};

// Clones share the recognizer, one at a time, and what it has found out.
class GrammarMatcher : public TokenMatcher {
 public:
  GrammarMatcher(std::shared_ptr<const GrammarVocabulary> vocabulary,
                 std::shared_ptr<SharedRecognizer> shared);

  std::unique_ptr<TokenMatcher> Clone() const override;
  bool IsNarrow() const override { return true; }
  Result<void> FillMask(TokenMask mask) override;
  bool Allows(TokenId token) override;
  bool MayEnd() const override { return may_end_; }
  Result<void> Accept(TokenId token) override;
  // Takes back the last `count` tokens, of those that were accepted.
  void Rollback(size_t count);

 private:
  // Behind the token, or kDead. The shared part is locked.
  Recognizer::State Behind(TokenId token) const;

  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const std::shared_ptr<SharedRecognizer> shared_;
  std::vector<Recognizer::State> states_;  // before the first token, and behind each
  bool may_end_ = false;
};

// A compiled grammar, whose texts are all that may come.
class GrammarConstraint : public TokenConstraint {
 public:
  using MakeRecognizer = std::function<std::unique_ptr<Recognizer>()>;
  // `make` makes one of the same language every time, on any thread.
  GrammarConstraint(std::shared_ptr<const GrammarVocabulary> vocabulary, MakeRecognizer make,
                    std::shared_ptr<MatcherPool> pool);
  ~GrammarConstraint() override { pool_->Drop(this); }

  // Makes what the first matcher needs, and the first mask. Errors: the language is empty, as far
  // as the limits of recognizers let it be known, or what it begins with is beyond them.
  Result<void> Prepare() const;
  std::unique_ptr<TokenMatcher> NewMatcher() const override;

 private:
  std::shared_ptr<SharedRecognizer> TakeRecognizer() const;

  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const MakeRecognizer make_;
  const std::shared_ptr<MatcherPool> pool_;
};

}  // namespace weft
