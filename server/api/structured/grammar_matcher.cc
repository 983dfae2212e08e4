#include "server/api/structured/grammar_matcher.h"

#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "grammar/regex/symbol_set.h"

namespace weft {
namespace {

// Of a text's first way, and of those behind a token that was drawn.
constexpr WayOutLimits kFirstWay = {.states = 20'000, .width = 256};
constexpr WayOutLimits kWayBehindToken = {.states = 2'000, .width = 64};

// Empty: the token is part of no text.
std::string GrammarBytes(const Tokenizer& tokenizer, TokenId token) {
  if (tokenizer.IsControl(token)) return SpecialTokenBytes(static_cast<uint32_t>(token));
  const std::string_view bytes = tokenizer.TokenBytes(token);
  const bool forges = bytes.find(static_cast<char>(kSpecialByte)) != std::string_view::npos;
  return forges ? std::string() : std::string(bytes);
}

std::vector<std::string> AllGrammarBytes(const Tokenizer& tokenizer) {
  std::vector<std::string> texts(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t token = 0; token < texts.size(); ++token)
    texts[token] = GrammarBytes(tokenizer, static_cast<TokenId>(token));
  return texts;
}

}  // namespace

GrammarVocabulary::GrammarVocabulary(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)), masks_(AllGrammarBytes(*tokenizer_)) {}

std::string GrammarVocabulary::BytesOf(TokenId token) const {
  return token < tokenizer_->vocab_size() ? GrammarBytes(*tokenizer_, token) : std::string();
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const GrammarVocabulary> vocabulary,
                               std::shared_ptr<SharedRecognizer> shared,
                               std::string_view short_text)
    : vocabulary_(std::move(vocabulary)), shared_(std::move(shared)), short_text_(short_text) {
  const std::lock_guard lock(shared_->mutex);
  states_.push_back(shared_->recognizer->Start());
  may_end_ = states_.back() != Recognizer::kDead && shared_->recognizer->Accepts(states_.back());
}

std::unique_ptr<TokenMatcher> GrammarMatcher::Clone() const {
  return std::make_unique<GrammarMatcher>(*this);
}

Result<void> GrammarMatcher::FillMask(TokenMask mask) {
  const std::lock_guard lock(shared_->mutex);
  const Recognizer::State state = states_.back();
  if (state == Recognizer::kDead) return {};
  return shared_->FillMask(state, mask);
}

bool GrammarMatcher::Allows(TokenId token) {
  const std::lock_guard lock(shared_->mutex);
  return Behind(token) != Recognizer::kDead;
}

Result<void> GrammarMatcher::Accept(TokenId token) {
  const std::lock_guard lock(shared_->mutex);
  const Recognizer::State next = Behind(token);
  if (next == Recognizer::kDead) {
    WEFT_RETURN_IF_ERROR(shared_->CountMemory());
    return Fail(ErrorCode::kInternal,
                "the token {} came, which the grammar does not allow behind "
                "{} tokens",
                token, states_.size() - 1);
  }
  WEFT_RETURN_IF_ERROR(shared_->CountMemory());
  states_.push_back(next);
  may_end_ = shared_->recognizer->Accepts(next);
  if (!way_.way.states.empty()) FollowWay(token);
  return {};
}

Result<void> GrammarMatcher::FindWayOut(std::span<const TokenId> unusable) {
  const std::lock_guard lock(shared_->mutex);
  unusable_.assign(unusable.begin(), unusable.end());
  way_.way = {.bytes = std::string(short_text_), .states = states_};
  for (const char byte : short_text_) {
    const Recognizer::State state = way_.way.states.back();
    if (state == Recognizer::kDead) break;
    way_.way.states.push_back(shared_->recognizer->Step(state, static_cast<uint8_t>(byte)));
  }
  WEFT_RETURN_IF_ERROR(shared_->recognizer->status());
  const Recognizer::State end = way_.way.states.back();
  const std::optional<std::vector<TokenId>> tokens =
      SpellInTokens(vocabulary_->masks().trie(), short_text_, unusable_);
  if (!tokens || end == Recognizer::kDead || !shared_->recognizer->Accepts(end))
    return Fail(ErrorCode::kInvalidArgument,
                "no short text of the form that it must have is known");
  way_.tokens = *tokens;
  return {};
}

bool GrammarMatcher::LeadsOut(TokenId token, int32_t most) {
  const auto most_tokens = static_cast<size_t>(most);
  const bool is_on_way = !way_.tokens.empty() && way_.tokens.front() == token;
  if (is_on_way && way_.tokens.size() - 1 <= most_tokens) return true;
  const std::lock_guard lock(shared_->mutex);
  const Recognizer::State from = Behind(token);
  if (from == Recognizer::kDead) return false;
  TokenWay found;
  const auto is_short = [&](const WayOut& way) {
    std::optional<std::vector<TokenId>> tokens =
        SpellInTokens(vocabulary_->masks().trie(), way.bytes, unusable_);
    if (!tokens || tokens->size() > most_tokens) return false;
    found.tokens = *std::move(tokens);
    return true;
  };
  std::optional<WayOut> way =
      weft::FindWayOut(*shared_->recognizer, from, way_.way, kWayBehindToken, is_short);
  if (!way) return false;
  found.way = *std::move(way);
  ways_behind_.insert_or_assign(token, std::move(found));
  return true;
}

void GrammarMatcher::FollowWay(TokenId token) {
  if (const auto found = ways_behind_.find(token); found != ways_behind_.end()) {
    way_ = std::move(found->second);
  } else {
    WEFT_CHECK(!way_.tokens.empty() && way_.tokens.front() == token);
    way_.way.DropFront(vocabulary_->BytesOf(token).size());
    way_.tokens.erase(way_.tokens.begin());
  }
  ways_behind_.clear();
}

void GrammarMatcher::Rollback(size_t count) {
  WEFT_CHECK(count < states_.size());
  const std::lock_guard lock(shared_->mutex);
  states_.resize(states_.size() - count);
  may_end_ = shared_->recognizer->Accepts(states_.back());
}

Recognizer::State GrammarMatcher::Behind(TokenId token) const {
  const std::string bytes = vocabulary_->BytesOf(token);
  Recognizer::State state = bytes.empty() ? Recognizer::kDead : states_.back();
  for (size_t i = 0; i < bytes.size() && state != Recognizer::kDead; ++i)
    state = shared_->recognizer->Step(state, static_cast<uint8_t>(bytes[i]));
  return state;
}

GrammarConstraint::GrammarConstraint(std::shared_ptr<const GrammarVocabulary> vocabulary,
                                     MakeRecognizer make, std::shared_ptr<MatcherPool> pool)
    : vocabulary_(std::move(vocabulary)), make_(std::move(make)), pool_(std::move(pool)) {}

std::shared_ptr<SharedRecognizer> GrammarConstraint::TakeRecognizer() const {
  std::unique_ptr<SharedRecognizer> idle = pool_->Take(this);
  if (idle == nullptr)
    idle = std::make_unique<SharedRecognizer>(pool_.get(), vocabulary_->masks(), make_());
  idle->BeginText();
  // Goes back when its last matcher has gone; the constraint outlives them.
  return {idle.release(), [owner = this](SharedRecognizer* used) {
            std::unique_ptr<SharedRecognizer> shared(used);
            if (shared->recognizer->status()) owner->pool_->Give(owner, std::move(shared));
          }};
}

Result<void> GrammarConstraint::Prepare(bool finishes) {
  const std::shared_ptr<SharedRecognizer> shared = TakeRecognizer();
  compiled_bytes_ = shared->recognizer->bytes();  // it has a copy of all, and knows nothing yet
  const Recognizer::State start = shared->recognizer->Start();
  WEFT_RETURN_IF_ERROR(shared->CountMemory());
  if (start == Recognizer::kDead)
    return Fail(ErrorCode::kInvalidArgument, "there is no text that it allows");
  std::vector<uint32_t> mask(vocabulary_->masks().mask_words());
  WEFT_RETURN_IF_ERROR(GrammarMatcher(vocabulary_, shared).FillMask(mask));
  if (!finishes) return {};
  const auto can_be_spelled = [&](const WayOut& way) {
    return SpellInTokens(vocabulary_->masks().trie(), way.bytes, {}).has_value();
  };
  std::optional<WayOut> way = FindWayOut(*shared->recognizer, start, {}, kFirstWay, can_be_spelled);
  WEFT_RETURN_IF_ERROR(shared->recognizer->status());
  if (!way) {
    return Fail(
        ErrorCode::kResourceExhausted,
        "'finish_by_length' needs a short text that it allows, but within {} steps none was "
        "found",
        kFirstWay.states);
  }
  short_text_ = std::move(way->bytes);
  return {};
}

std::optional<size_t> GrammarConstraint::CountLeastTokens(std::span<const TokenId> unusable) const {
  const std::optional<std::vector<TokenId>> tokens =
      SpellInTokens(vocabulary_->masks().trie(), short_text_, unusable);
  return tokens ? std::optional(tokens->size()) : std::nullopt;
}

std::unique_ptr<TokenMatcher> GrammarConstraint::NewMatcher() const {
  return std::make_unique<GrammarMatcher>(vocabulary_, TakeRecognizer(), short_text_);
}

}  // namespace weft
