// From the bytes of an answer to the figures of its record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/run/completion_chunk.h"
#include "loadtest/run/request_record.h"
#include "proto/event_stream.h"

namespace weft {

// What was said, where somebody wants to know: the next turn of a conversation, the verification.
struct Answer {
  std::string reasoning;
  std::string text;
};

// The body of a 200. How many tokens came at a time:
//
// 1. Where every chunk says how many tokens there are so far (`usage.completion_tokens`, vLLM's
//    continuous_usage_stats, which Weft has too; or llama.cpp's `timings.predicted_n`), by their
//    differences: exactly, if several come in one event or one has no text (half a character).
// 2. Otherwise a chunk with text is one token, as it is with llama.cpp's server.
// 3. If the usage at the end counts other than 2 did, the count at the end is spread evenly over
//    the arrivals: the sum is right then, the gaps are means.
class AnswerReader {
 public:
  // `record` outlives it, and so does `answer` unless it is null. A server that says it has
  // generated more than `most_tokens` is not believed: the record fails.
  AnswerReader(RequestRecord& record, Answer* answer, int64_t most_tokens);

  // Bytes of an event stream. What is wrong with it fails the record.
  void ReadEvents(std::string_view bytes);
  // The tokens read since the last time have arrived now, together.
  void MarkArrival(RequestRecord::Clock::time_point now);
  // The stream has ended. Without [DONE], it fails the record if it must be whole.
  void FinishEvents(bool must_be_whole);

  // An answer that is no stream.
  void ReadWhole(std::string_view body);
  // One that has a vector or a score for each of so many texts.
  void ReadTexts(std::string_view body, int32_t text_count);

  void Fail(std::string kind, std::string detail);  // the record
  bool failed() const { return failed_; }
  bool is_done() const { return done_; }                // [DONE] has come
  int64_t token_count() const { return token_count_; }  // that have been read

 private:
  void ReadOne(std::string_view json, CompletionChunk& chunk);
  void CountTokens(const CompletionChunk& chunk);
  void ReadMeta(const CompletionChunk& chunk);
  void ReadTimings(const ServerTimings& timings);
  void ReadText(const CompletionChunk& chunk);
  void SpreadTokens();
  void Finish();

  // Of the record, only what is seldom said is written before FinishEvents: it is in no cache.
  EventStream events_;
  std::vector<RequestRecord::Arrival> arrivals_;
  int64_t token_count_ = 0;
  int64_t arrived_count_ = 0;
  int64_t final_count_ = 0;  // as the server says, and so are these:
  std::optional<int64_t> prompt_tokens_;
  std::optional<int64_t> cached_tokens_;
  int64_t most_tokens_;
  uint64_t text_hash_;
  uint64_t reasoning_hash_;
  Answer* answer_;
  RequestRecord& record_;
  bool failed_ = false;
  bool has_id_;
  bool done_ = false;
  bool has_text_ = false;
  bool counts_are_exact_ = false;
};

}  // namespace weft
