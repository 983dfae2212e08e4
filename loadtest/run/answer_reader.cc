#include "loadtest/run/answer_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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
    : record_(record),
      answer_(answer),
      most_tokens_(most_tokens),
      text_hash_(kHashBegin),
      reasoning_hash_(kHashBegin) {}

void AnswerReader::ReadEvents(std::string_view bytes, RequestRecord::Clock::time_point now) {
  events_.Feed(bytes);
  std::string_view data;
  while (events_.Next(data)) {
    if (!record_.failure.empty()) continue;
    if (data == "[DONE]") {
      done_ = true;
    } else {
      ReadOne(data, now);
    }
  }
  if (events_.pending_bytes() > kEventLimitBytes && record_.failure.empty()) {
    record_.Fail("bad response", "an event of more than 4 MiB");
  }
}

void AnswerReader::ReadOne(std::string_view json, RequestRecord::Clock::time_point now) {
  if (const Result<void> read = ReadChunk(json, chunk_); !read) {
    record_.Fail("error in stream", read.error().message);
    return;
  }
  ReadMeta();
  CountTokens(now);
  ReadText();
}

void AnswerReader::CountTokens(RequestRecord::Clock::time_point now) {
  const bool has_text = !chunk_.text.empty() || !chunk_.reasoning.empty();
  const bool has_count = chunk_.completion_tokens || chunk_.predicted_tokens;
  if (has_text && !has_text_) {
    has_text_ = true;
    counts_are_exact_ = has_count;
  }
  int64_t new_tokens = has_text ? 1 : 0;
  if (counts_are_exact_) {
    new_tokens = has_count ? std::max<int64_t>(final_count_ - token_count_, 0) : 0;
  }
  if (new_tokens == 0) return;
  token_count_ += new_tokens;
  auto& arrivals = record_.arrivals;
  if (arrivals.empty() || arrivals.back().time != now) arrivals.push_back({.time = now});
  arrivals.back().token_count += static_cast<int32_t>(new_tokens);
}

void AnswerReader::ReadMeta() {
  if (record_.id.empty()) record_.id = chunk_.id.substr(0, RequestRecord::kMostNameBytes);
  if (!chunk_.finish_reason.empty()) {
    record_.finish_reason = chunk_.finish_reason.substr(0, RequestRecord::kMostNameBytes);
  }
  const auto prompt_count = [](int64_t count) { return std::min(count, kMostPromptTokens); };
  if (chunk_.prompt_tokens) record_.prompt_tokens = prompt_count(*chunk_.prompt_tokens);
  if (chunk_.cached_tokens) record_.cached_tokens = prompt_count(*chunk_.cached_tokens);
  if (chunk_.predicted_tokens) final_count_ = *chunk_.predicted_tokens;
  if (chunk_.completion_tokens) final_count_ = *chunk_.completion_tokens;
  if (final_count_ > most_tokens_) {
    record_.Fail("bad response", fmt::format("says that it has generated {} tokens", final_count_));
    final_count_ = token_count_;
  }
  ReadTimings();
}

void AnswerReader::ReadTimings() {
  const auto read = [](const std::optional<double>& said, std::optional<double>& kept) {
    if (said && *said >= 0 && *said <= kMostMilliseconds) kept = said;
  };
  read(chunk_.timings.queue_ms, record_.server.queue_ms);
  read(chunk_.timings.prefill_ms, record_.server.prefill_ms);
  read(chunk_.timings.decode_ms, record_.server.decode_ms);
}

void AnswerReader::ReadText() {
  AddToHash(text_hash_, chunk_.text);
  AddToHash(reasoning_hash_, chunk_.reasoning);
  if (answer_ == nullptr) return;
  answer_->text += chunk_.text;
  answer_->reasoning += chunk_.reasoning;
}

void AnswerReader::FinishEvents(bool must_be_whole) {
  if (must_be_whole && !done_ && record_.failure.empty()) {
    record_.Fail("cut stream", "the stream ended without [DONE]");
  }
  if (done_ && !counts_are_exact_ && final_count_ > 0 && final_count_ != token_count_) {
    SpreadTokens();
  }
  record_.output_tokens = token_count_;
  record_.output_hash = reasoning_hash_ * kHashPrime ^ text_hash_;
}

void AnswerReader::SpreadTokens() {
  const auto arrival_count = static_cast<int64_t>(record_.arrivals.size());
  token_count_ = final_count_;
  int64_t given = 0;
  for (int64_t i = 0; i < arrival_count; ++i) {
    // Rounded up: the first arrival is at least a token.
    const int64_t by_now = (final_count_ * (i + 1) + arrival_count - 1) / arrival_count;
    record_.arrivals[static_cast<size_t>(i)].token_count = static_cast<int32_t>(by_now - given);
    given = by_now;
  }
}

void AnswerReader::ReadWhole(std::string_view body) {
  if (const Result<void> read = ReadChunk(body, chunk_); !read) {
    record_.Fail("bad response", read.error().message);
    return;
  }
  ReadMeta();
  ReadText();
  token_count_ = final_count_;
  record_.output_tokens = final_count_;
  record_.output_hash = reasoning_hash_ * kHashPrime ^ text_hash_;
}

}  // namespace weft
