#include "loadtest/run/answer_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "loadtest/run/texts_answer.h"

namespace weft {
namespace {

constexpr size_t kEventLimitBytes = 4 << 20;
constexpr int64_t kMostPromptTokens = 1 << 30;  // sums stay far from overflow
constexpr double kMostMilliseconds = 1e9;       // of a server's own times

// FNV-1a, 64 bits (Fowler, Noll, Vo).
constexpr uint64_t kHashBegin = 0xCBF29CE484222325u;
constexpr uint64_t kHashPrime = 0x100000001B3u;

void AddToHash(uint64_t& hash, std::string_view bytes) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * kHashPrime;
  }
}

}  // namespace

AnswerReader::AnswerReader(RequestRecord& record, Answer* answer, int64_t most_tokens)
    : most_tokens_(most_tokens),
      text_hash_(kHashBegin),
      reasoning_hash_(kHashBegin),
      answer_(answer),
      record_(record),
      has_id_(!record.id.empty()) {}

void AnswerReader::Fail(std::string kind, std::string detail) {
  record_.Fail(std::move(kind), std::move(detail));
  failed_ = true;
}

void AnswerReader::ReadEvents(std::string_view bytes) {
  events_.Feed(bytes);
  CompletionChunk chunk;
  std::string_view data;
  while (events_.Next(data)) {
    if (failed_) continue;
    if (data == "[DONE]") {
      done_ = true;
    } else {
      ReadOne(data, chunk);
    }
  }
  if (events_.pending_bytes() > kEventLimitBytes && !failed_) {
    Fail("bad response", "an event of more than 4 MiB");
  }
}

void AnswerReader::ReadOne(std::string_view json, CompletionChunk& chunk) {
  if (const Result<void> read = ReadChunk(json, chunk); !read) {
    Fail("error in stream", read.error().message);
    return;
  }
  ReadMeta(chunk);
  CountTokens(chunk);
  ReadText(chunk);
}

void AnswerReader::CountTokens(const CompletionChunk& chunk) {
  const bool has_text = !chunk.text.empty() || !chunk.reasoning.empty();
  const bool has_count = chunk.completion_tokens || chunk.predicted_tokens;
  if (has_text && !has_text_) {
    has_text_ = true;
    counts_are_exact_ = has_count;
  }
  if (!counts_are_exact_) {
    token_count_ += has_text ? 1 : 0;
  } else if (has_count) {
    token_count_ = std::max(token_count_, final_count_);
  }
}

void AnswerReader::MarkArrival(RequestRecord::Clock::time_point now) {
  if (token_count_ == arrived_count_) return;
  arrivals_.push_back(
      {.time = now, .token_count = static_cast<int32_t>(token_count_ - arrived_count_)});
  arrived_count_ = token_count_;
}

void AnswerReader::ReadMeta(const CompletionChunk& chunk) {
  if (!has_id_ && !chunk.id.empty()) {
    record_.id = chunk.id.substr(0, RequestRecord::kMostNameBytes);
    has_id_ = true;
  }
  if (!chunk.finish_reason.empty()) {
    record_.finish_reason = chunk.finish_reason.substr(0, RequestRecord::kMostNameBytes);
  }
  const auto prompt_count = [](int64_t count) { return std::min(count, kMostPromptTokens); };
  if (chunk.prompt_tokens) prompt_tokens_ = prompt_count(*chunk.prompt_tokens);
  if (chunk.cached_tokens) cached_tokens_ = prompt_count(*chunk.cached_tokens);
  if (chunk.predicted_tokens) final_count_ = *chunk.predicted_tokens;
  if (chunk.completion_tokens) final_count_ = *chunk.completion_tokens;
  if (final_count_ > most_tokens_) {
    Fail("bad response", fmt::format("says that it has generated {} tokens", final_count_));
    final_count_ = token_count_;
  }
  ReadTimings(chunk.timings);
}

void AnswerReader::ReadTimings(const ServerTimings& timings) {
  const auto read = [](const std::optional<double>& said, std::optional<double>& kept) {
    if (said && *said >= 0 && *said <= kMostMilliseconds) kept = said;
  };
  read(timings.queue_ms, record_.server.queue_ms);
  read(timings.prefill_ms, record_.server.prefill_ms);
  read(timings.decode_ms, record_.server.decode_ms);
}

void AnswerReader::ReadText(const CompletionChunk& chunk) {
  AddToHash(text_hash_, chunk.text);
  AddToHash(reasoning_hash_, chunk.reasoning);
  if (answer_ == nullptr) return;
  answer_->text += chunk.text;
  answer_->reasoning += chunk.reasoning;
}

void AnswerReader::FinishEvents(bool must_be_whole) {
  if (must_be_whole && !done_ && record_.failure.empty()) {
    Fail("cut stream", "the stream ended without [DONE]");
  }
  if (done_ && !counts_are_exact_ && final_count_ > 0 && final_count_ != token_count_) {
    SpreadTokens();
  }
  record_.arrivals = std::move(arrivals_);
  Finish();
}

void AnswerReader::Finish() {
  record_.prompt_tokens = prompt_tokens_;
  record_.cached_tokens = cached_tokens_;
  record_.output_tokens = token_count_;
  record_.output_hash = reasoning_hash_ * kHashPrime ^ text_hash_;
}

void AnswerReader::SpreadTokens() {
  const auto arrival_count = std::ssize(arrivals_);
  token_count_ = final_count_;
  int64_t given = 0;
  for (int64_t i = 0; i < arrival_count; ++i) {
    // Rounded up: the first arrival is at least a token.
    const int64_t by_now = (final_count_ * (i + 1) + arrival_count - 1) / arrival_count;
    arrivals_[static_cast<size_t>(i)].token_count = static_cast<int32_t>(by_now - given);
    given = by_now;
  }
}

void AnswerReader::ReadWhole(std::string_view body) {
  CompletionChunk chunk;
  if (const Result<void> read = ReadChunk(body, chunk); !read) {
    Fail("bad response", read.error().message);
    return;
  }
  ReadMeta(chunk);
  ReadText(chunk);
  token_count_ = final_count_;
  Finish();
}

void AnswerReader::ReadTexts(std::string_view body, int32_t text_count) {
  Result<TextsAnswer> read = ReadTextsAnswer(body, text_count);
  if (!read) {
    Fail("bad response", read.error().message);
    return;
  }
  if (!has_id_) record_.id = read->id.substr(0, RequestRecord::kMostNameBytes);
  if (read->prompt_tokens) prompt_tokens_ = std::min(*read->prompt_tokens, kMostPromptTokens);
  record_.text_count = text_count;
  AddToHash(text_hash_, read->values);
  if (answer_ != nullptr) answer_->text = std::move(read->values);
  Finish();
}

}  // namespace weft
