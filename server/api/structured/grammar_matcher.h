// Texts of a grammar, as the engine's constraint: a recognizer of bytes, asked in tokens.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/token_constraint.h"
#include "grammar/mask/mask_maker.h"
#include "grammar/mask/mask_vocabulary.h"
#include "grammar/mask/way_out.h"
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

class SharedRecognizer;

// The memory of constraints: what all recognizers may take together, and those that no text uses
// now. With what these have found out the next text of the same constraint begins, until others
// need the room. Thread-safe; outlives what it counts.
class MatcherPool {
 public:
  using Owner = const void*;

  explicit MatcherPool(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~MatcherPool();

  // Counts so much more; where there is no room, idle ones go. False: there is none all the same,
  // and nothing was counted.
  bool Reserve(size_t bytes);
  // The same for what is there in any case.
  void Count(size_t bytes) { held_bytes_ += bytes; }
  void Release(size_t bytes) { held_bytes_ -= bytes; }
  size_t held_bytes() const { return held_bytes_; }
  // Of one request, so that there is room for others.
  size_t largest_bytes() const { return limit_bytes_ / 4; }

  // nullptr: there is none of this owner's.
  std::unique_ptr<SharedRecognizer> Take(Owner owner);
  void Give(Owner owner, std::unique_ptr<SharedRecognizer> shared);
  void Drop(Owner owner);

 private:
  static constexpr size_t kMostIdle = 64;

  struct Idle {
    Owner owner = nullptr;
    std::unique_ptr<SharedRecognizer> shared;
  };

  // Destroys the idle one that was given first; false: there is none.
  bool DropOldest();

  const size_t limit_bytes_;
  std::atomic<size_t> held_bytes_ = 0;
  std::mutex mutex_;      // guards what follows
  std::list<Idle> idle_;  // the last given first
};

// What matchers of one text share: a recognizer, one of them at a time, and what it has found out.
class SharedRecognizer {
 public:
  // The pool and the vocabulary outlive it.
  SharedRecognizer(MatcherPool* pool, const MaskVocabulary& vocabulary,
                   std::unique_ptr<Recognizer> owned)
      : recognizer(std::move(owned)), pool_(*pool), maker_(&vocabulary, recognizer.get()) {}
  ~SharedRecognizer() { pool_.Release(counted_bytes_); }
  SharedRecognizer(const SharedRecognizer&) = delete;
  SharedRecognizer& operator=(const SharedRecognizer&) = delete;

  std::mutex mutex;  // guards what follows
  const std::unique_ptr<Recognizer> recognizer;

  // Of a state that is not kDead; the mask is of zeros. Errors: those of CountMemory.
  Result<void> FillMask(Recognizer::State state, TokenMask mask);
  // After steps that were new, perhaps. Errors: a limit of the recognizer's, or there is no memory
  // for what it has found out; then nothing that it says counts.
  Result<void> CountMemory();
  // Another text begins. What was found out for those before does not count against it.
  void BeginText() { before_bytes_ = counted_bytes_; }
  size_t counted_bytes() const { return counted_bytes_; }

 private:
  // Masks of states that come again: inside a string, for instance, at every token.
  static constexpr size_t kMostMasks = 16;

  MatcherPool& pool_;
  MaskMaker maker_;
  std::unordered_map<Recognizer::State, std::vector<uint32_t>> masks_;
  size_t counted_bytes_ = 0;
  size_t before_bytes_ = 0;  // the text
};

// Clones share the recognizer, one at a time, and what it has found out.
class GrammarMatcher : public TokenMatcher {
 public:
  // `short_text` is one of the grammar's, the caller's, for FindWayOut.
  GrammarMatcher(std::shared_ptr<const GrammarVocabulary> vocabulary,
                 std::shared_ptr<SharedRecognizer> shared, std::string_view short_text = {});

  std::unique_ptr<TokenMatcher> Clone() const override;
  bool IsNarrow() const override { return true; }
  Result<void> FillMask(TokenMask mask) override;
  bool Allows(TokenId token) override;
  bool MayEnd() const override { return may_end_; }
  Result<void> Accept(TokenId token) override;
  Result<void> FindWayOut(std::span<const TokenId> unusable) override;
  std::span<const TokenId> way_out() const override { return way_.tokens; }
  bool LeadsOut(TokenId token, int32_t most) override;
  // Takes back the last `count` tokens, of those that were accepted.
  void Rollback(size_t count);

 private:
  struct TokenWay {
    WayOut way;
    std::vector<TokenId> tokens;
  };

  // Behind the token, or kDead. The shared part is locked.
  Recognizer::State Behind(TokenId token) const;
  // The token comes: the way is what is left of it, or the one that was found from behind there.
  void FollowWay(TokenId token);

  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const std::shared_ptr<SharedRecognizer> shared_;
  std::vector<Recognizer::State> states_;  // before the first token, and behind each
  bool may_end_ = false;
  const std::string_view short_text_;
  // Of a text that must come to its end: otherwise empty.
  TokenWay way_;                             // from states_.back()
  std::map<TokenId, TokenWay> ways_behind_;  // tokens that lead out
  std::vector<TokenId> unusable_;
};

// A compiled grammar, whose texts are all that may come.
class GrammarConstraint : public TokenConstraint {
 public:
  using MakeRecognizer = std::function<std::unique_ptr<Recognizer>()>;
  // `make` makes one of the same language every time, on any thread.
  GrammarConstraint(std::shared_ptr<const GrammarVocabulary> vocabulary, MakeRecognizer make,
                    std::shared_ptr<MatcherPool> pool);
  ~GrammarConstraint() override { pool_->Drop(this); }

  // Makes what the first matcher needs, and the first mask; `finishes`: for texts that must come to
  // their end, too; of others FindWayOut finds none. Errors: the language is empty, or no short
  // text of it is found, as far as the limits of recognizers let it be known; or what it begins
  // with is beyond them.
  Result<void> Prepare(bool finishes = false);
  // What the compiled grammar takes, roughly; it is prepared.
  size_t compiled_bytes() const { return compiled_bytes_; }
  // How many tokens the text takes that `finishes` has found; nullopt: it cannot be spelled without
  // `unusable`.
  std::optional<size_t> CountLeastTokens(std::span<const TokenId> unusable) const;
  std::unique_ptr<TokenMatcher> NewMatcher() const override;

 private:
  std::shared_ptr<SharedRecognizer> TakeRecognizer() const;

  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const MakeRecognizer make_;
  const std::shared_ptr<MatcherPool> pool_;
  size_t compiled_bytes_ = 0;
  std::string short_text_;
};

}  // namespace weft
