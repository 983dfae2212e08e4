#include "server/api/structured/grammar_matcher.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "grammar/mask/mask_maker.h"
#include "grammar/regex/symbol_set.h"

namespace weft {
namespace {

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

struct GrammarMatcher::Shared {
  Shared(const MaskVocabulary& masks, std::unique_ptr<Recognizer> of)
      : recognizer(std::move(of)), maker(&masks, recognizer.get()) {}

  // Masks of states that come again: inside a string, for instance, at every token.
  static constexpr size_t kMostMasks = 16;

  std::mutex mutex;  // guards what follows
  std::unique_ptr<Recognizer> recognizer;
  MaskMaker maker;
  std::unordered_map<Recognizer::State, std::vector<uint32_t>> masks;
};

GrammarMatcher::GrammarMatcher(std::shared_ptr<const GrammarVocabulary> vocabulary,
                               std::unique_ptr<Recognizer> recognizer)
    : vocabulary_(std::move(vocabulary)),
      shared_(std::make_shared<Shared>(vocabulary_->masks(), std::move(recognizer))) {
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
  const auto known = shared_->masks.find(state);
  if (known != shared_->masks.end()) {
    std::ranges::copy(known->second, mask.begin());
    return {};
  }
  shared_->maker.Fill(state, mask);
  if (shared_->masks.size() == Shared::kMostMasks) shared_->masks.clear();
  shared_->masks.emplace(state, std::vector<uint32_t>(mask.begin(), mask.end()));
  return {};
}

bool GrammarMatcher::Allows(TokenId token) {
  const std::lock_guard lock(shared_->mutex);
  return Behind(token) != Recognizer::kDead;
}

Result<void> GrammarMatcher::Accept(TokenId token) {
  const std::lock_guard lock(shared_->mutex);
  const Recognizer::State next = Behind(token);
  if (next == Recognizer::kDead)
    return Fail(ErrorCode::kInternal,
                "the token {} came, which the grammar does not allow behind "
                "{} tokens",
                token, states_.size() - 1);
  states_.push_back(next);
  may_end_ = shared_->recognizer->Accepts(next);
  return {};
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
                                     MakeRecognizer make)
    : vocabulary_(std::move(vocabulary)), make_(std::move(make)) {}

std::unique_ptr<TokenMatcher> GrammarConstraint::NewMatcher() const {
  return std::make_unique<GrammarMatcher>(vocabulary_, make_());
}

}  // namespace weft
