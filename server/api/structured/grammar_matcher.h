// Texts of a grammar, as the engine's constraint: a recognizer of bytes, asked in tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/token_constraint.h"
#include "grammar/mask/mask_vocabulary.h"
#include "grammar/mask/way_out.h"
#include "grammar/recognizer.h"
#include "model/tokenizer/tokenizer.h"
#include "server/api/structured/matcher_pool.h"

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
