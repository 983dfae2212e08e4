#include "server/api/structured/structured_output.h"

#include <utility>

#include <fmt/core.h>
#include <openssl/sha.h>

namespace weft {

OutputKey OutputKeyOf(std::string_view text) {
  OutputKey key;
  static_assert(sizeof(key) == SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  return key;
}

OutputConstraint StructuredOutput::Find(const OutputKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return {};
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->output;
}

ApiResult<OutputConstraint> StructuredOutput::Compile(
    const OutputKey& key, size_t size_bytes, bool finishes,
    const std::function<ApiResult<CompiledOutput>()>& compile) {
  ApiResult<CompiledOutput> compiled = compile();
  if (!compiled) return tl::unexpected(std::move(compiled).error());
  const auto constraint =
      std::make_shared<GrammarConstraint>(Vocabulary(), std::move(compiled->make), matchers_);
  // The engine's thread finds this one, and what it knows.
  if (const Result<void> begins = constraint->Prepare(finishes); !begins) {
    if (begins.error().code == ErrorCode::kUnavailable)
      return tl::unexpected(HttpError(503, "overloaded", begins.error().message));
    ApiError refusal;
    refusal.code = "constraint_too_large";
    refusal.message =
        fmt::format("what the text of the answer may be is too large: {}", begins.error().message);
    return tl::unexpected(std::move(refusal));
  }
  OutputConstraint output{.constraint = constraint, .loose_tool_count = compiled->loose_tool_count};
  Keep({.key = key, .output = output, .size_bytes = size_bytes + constraint->compiled_bytes()});
  return output;
}

std::shared_ptr<const GrammarVocabulary> StructuredOutput::Vocabulary() {
  std::call_once(vocabulary_made_, [this] {
    vocabulary_ = std::make_shared<const GrammarVocabulary>(tokenizer_);
    matchers_->Count(vocabulary_->masks().bytes());
  });
  return vocabulary_;
}

void StructuredOutput::Keep(Entry entry) {
  if (entry.size_bytes > most_bytes() || !matchers_->Reserve(entry.size_bytes)) return;
  std::list<Entry> evicted;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto known = by_key_.find(entry.key);
  if (known != by_key_.end()) {  // compiled by two requests at once
    matchers_->Release(entry.size_bytes);
    return;
  }
  size_bytes_ += entry.size_bytes;
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
  while (entries_.size() > kMostEntries || size_bytes_ > most_bytes()) {
    size_bytes_ -= entries_.back().size_bytes;
    matchers_->Release(entries_.back().size_bytes);
    by_key_.erase(entries_.back().key);
    evicted.splice(evicted.begin(), entries_, std::prev(entries_.end()));
  }
}

}  // namespace weft
