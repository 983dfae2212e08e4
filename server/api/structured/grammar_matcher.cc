#include "server/api/structured/grammar_matcher.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
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

std::unique_ptr<SharedRecognizer> MatcherPool::Take(Owner owner) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(idle_, owner, &Idle::owner);
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<SharedRecognizer> shared = std::move(found->shared);
  state_count_ -= shared->state_count;
  idle_.erase(found);
  return shared;
}

void MatcherPool::Give(Owner owner, std::unique_ptr<SharedRecognizer> shared) {
  std::list<Idle> evicted;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  state_count_ += shared->state_count;
  idle_.push_front({owner, std::move(shared)});
  while (idle_.size() > kMostIdle || state_count_ > kMostStates) {
    state_count_ -= idle_.back().shared->state_count;
    evicted.splice(evicted.begin(), idle_, std::prev(idle_.end()));
  }
}

void MatcherPool::Drop(Owner owner) {
  std::list<Idle> dropped;
  const std::lock_guard lock(mutex_);
  for (auto idle = idle_.begin(); idle != idle_.end();) {
    const auto next = std::next(idle);
    if (idle->owner == owner) {
      state_count_ -= idle->shared->state_count;
      dropped.splice(dropped.begin(), idle_, idle);
    }
    idle = next;
  }
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const GrammarVocabulary> vocabulary,
                               std::shared_ptr<SharedRecognizer> shared)
    : vocabulary_(std::move(vocabulary)), shared_(std::move(shared)) {
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
  const auto known = shared_->masks.find(state);
  if (known != shared_->masks.end()) {
    std::ranges::copy(known->second, mask.begin());
    return {};
  }
  shared_->maker.Fill(state, mask);
  WEFT_RETURN_IF_ERROR(shared_->recognizer->status());
  if (shared_->masks.size() == SharedRecognizer::kMostMasks) shared_->masks.clear();
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
  if (next == Recognizer::kDead) {
    WEFT_RETURN_IF_ERROR(shared_->recognizer->status());
    return Fail(ErrorCode::kInternal,
                "the token {} came, which the grammar does not allow behind "
                "{} tokens",
                token, states_.size() - 1);
  }
  shared_->state_count = std::max(shared_->state_count, static_cast<size_t>(next));
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
                                     MakeRecognizer make, std::shared_ptr<MatcherPool> pool)
    : vocabulary_(std::move(vocabulary)), make_(std::move(make)), pool_(std::move(pool)) {}

std::shared_ptr<SharedRecognizer> GrammarConstraint::TakeRecognizer() const {
  std::unique_ptr<SharedRecognizer> idle = pool_->Take(this);
  if (idle == nullptr) idle = std::make_unique<SharedRecognizer>(vocabulary_->masks(), make_());
  // Goes back when its last matcher has gone; the constraint outlives them.
  return {idle.release(), [owner = this](SharedRecognizer* used) {
            std::unique_ptr<SharedRecognizer> shared(used);
            if (shared->recognizer->status()) owner->pool_->Give(owner, std::move(shared));
          }};
}

Result<void> GrammarConstraint::Prepare() const {
  const std::shared_ptr<SharedRecognizer> shared = TakeRecognizer();
  const bool is_empty = shared->recognizer->Start() == Recognizer::kDead;
  WEFT_RETURN_IF_ERROR(shared->recognizer->status());
  if (is_empty) return Fail(ErrorCode::kInvalidArgument, "there is no text that it allows");
  std::vector<uint32_t> mask(vocabulary_->masks().mask_words());
  return GrammarMatcher(vocabulary_, shared).FillMask(mask);
}

std::unique_ptr<TokenMatcher> GrammarConstraint::NewMatcher() const {
  return std::make_unique<GrammarMatcher>(vocabulary_, TakeRecognizer());
}

}  // namespace weft
