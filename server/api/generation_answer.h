// What an endpoint makes of the engine's events: the text of a stream, or one whole body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/prompt_progress.h"
#include "proto/timings.h"
#include "proto/usage.h"
#include "server/api/event_queue.h"

namespace weft {

// How long the parts of a request took; 0 of what did not happen.
struct RequestDurations {
  int64_t total_ns = 0;   // from the whole HTTP request to the end
  int64_t waited_ns = 0;  // of it, until the first step
  int64_t prompt_ns = 0;  // from there to the first token
  int64_t output_ns = 0;  // from there to the end
};

// For the events of one job, in the order they came; one thread. Derived classes are the endpoints.
class GenerationAnswer {
 public:
  explicit GenerationAnswer(int32_t choice_count) : unfinished_choices_(choice_count) {}
  virtual ~GenerationAnswer() = default;
  GenerationAnswer(const GenerationAnswer&) = delete;
  GenerationAnswer& operator=(const GenerationAnswer&) = delete;

  // Before anything else: what the answer is called, and when it began (seconds since 1970).
  virtual void Begin(std::string_view request_id, int64_t created) = 0;
  void Consume(EngineEvent event);
  // The server-sent events that what was consumed since the last call is worth, those that end the
  // stream included; may be empty.
  virtual std::string TakeStreamText() = 0;
  // The body, once finished.
  virtual std::string WholeBody() = 0;
  // Content-Type of the stream.
  virtual std::string_view StreamType() const { return "text/event-stream; charset=utf-8"; }
  // What tells the client of a failure in a stream that has begun.
  virtual std::string StreamError(const ApiError& error) const;

  // Every choice of every prompt has ended.
  bool finished() const { return unfinished_choices_ == 0; }
  // Set as soon as a choice failed or was aborted: the request as a whole has no answer then.
  const std::optional<ApiError>& failure() const { return failure_; }
  const Usage& usage() const { return usage_; }
  // Of all choices of all prompts, so far: from when the first of them did something to when the
  // last one did.
  const RequestTimes& times() const { return times_; }
  // Of the choices that have ended, in that order.
  const std::vector<FinishReason>& finish_reasons() const { return finish_reasons_; }

 protected:
  Usage& mutable_usage() { return usage_; }
  Timings timings() const { return TimingsOf(usage_, times_); }
  static Timings TimingsOf(const Usage& usage, const RequestTimes& times);
  static PromptProgressNumbers NumbersOf(const PromptProgress& progress);
  RequestDurations durations() const;

 private:
  virtual void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) = 0;
  virtual void OnPooled(int32_t, PooledResult&&) {}
  virtual void OnProgress(int32_t, const PromptProgress&) {}
  virtual void OnTokens(int32_t prompt_index, const TokensEvent& event) = 0;
  // Not called for a choice that failed.
  virtual void OnFinish(int32_t prompt_index, const FinishEvent& event) = 0;

  int32_t unfinished_choices_;
  std::optional<ApiError> failure_;
  Usage usage_;
  RequestTimes times_;
  std::vector<FinishReason> finish_reasons_;
};

}  // namespace weft
