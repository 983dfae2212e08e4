#include "server/api/generation_answer.h"

#include <algorithm>
#include <chrono>

#include "proto/sse.h"

namespace weft {
namespace {

ApiError FailureOf(const FinishEvent& event) {
  if (event.reason == FinishReason::kAborted) {
    return HttpError(503, "request_aborted",
                     "the server stopped this request before it was done; send it again");
  }
  const std::string& message = event.error.message;
  switch (event.error.code) {
    case ErrorCode::kInvalidArgument:
      return HttpError(400, "nothing_to_sample", message);
    case ErrorCode::kResourceExhausted:
      return HttpError(400, "constraint_too_large", message);
    case ErrorCode::kUnavailable:
      return HttpError(503, "overloaded", message);
    default:
      return HttpError(500, "generation_failed",
                       message.empty() ? "the generation failed" : message);
  }
}

using Time = RequestTimes::Time;

// The earlier of two times that happened, if they did.
Time Earlier(Time a, Time b) { return a == Time() || (b != Time() && b < a) ? b : a; }

// 0 where one of them did not happen.
Time::duration DurationBetween(Time begin, Time end) {
  return begin == Time() || end == Time() ? Time::duration() : end - begin;
}

double MillisecondsBetween(Time begin, Time end) {
  return std::chrono::duration<double, std::milli>(DurationBetween(begin, end)).count();
}

int64_t NanosecondsBetween(Time begin, Time end) {
  return std::chrono::nanoseconds(DurationBetween(begin, end)).count();
}

}  // namespace

PromptProgressNumbers GenerationAnswer::NumbersOf(const PromptProgress& progress) {
  return {.total = progress.prompt_tokens,
          .cached = progress.cached_tokens,
          .processed = progress.processed_tokens,
          .time_ms = MillisecondsBetween(progress.started, progress.now)};
}

void GenerationAnswer::Consume(EngineEvent event) {
  if (const auto* logprobs = std::get_if<PromptLogprobs>(&event.event)) {
    OnPromptLogprobs(event.prompt_index, *logprobs);
    return;
  }
  if (auto* pooled = std::get_if<PooledResult>(&event.event)) {
    OnPooled(event.prompt_index, std::move(*pooled));
    return;
  }
  if (const auto* progress = std::get_if<PromptProgress>(&event.event)) {
    OnProgress(event.prompt_index, *progress);
    return;
  }
  if (const auto* tokens = std::get_if<TokensEvent>(&event.event)) {
    OnTokens(event.prompt_index, *tokens);
    return;
  }
  const auto& finish = std::get<FinishEvent>(event.event);
  --unfinished_choices_;
  finish_reasons_.push_back(finish.reason);
  usage_.completion_tokens += finish.completion_tokens;
  if (finish.choice == 0) {  // the choices of a prompt share it
    usage_.prompt_tokens += finish.prompt_tokens;
    usage_.cached_tokens += finish.cached_tokens;
  }
  times_ = {.received = Earlier(times_.received, finish.times.received),
            .submitted = Earlier(times_.submitted, finish.times.submitted),
            .started = Earlier(times_.started, finish.times.started),
            .first_token = Earlier(times_.first_token, finish.times.first_token),
            .finished = std::max(times_.finished, finish.times.finished)};
  if (finish.reason == FinishReason::kAborted || finish.reason == FinishReason::kFailed) {
    if (!failure_) failure_ = FailureOf(finish);
    return;
  }
  OnFinish(event.prompt_index, finish);
}

Timings GenerationAnswer::TimingsOf(const Usage& usage, const RequestTimes& times) {
  return {.cached_tokens = usage.cached_tokens,
          .prompt_tokens = usage.prompt_tokens - usage.cached_tokens,
          .predicted_tokens = usage.completion_tokens,
          .queue_ms = MillisecondsBetween(times.submitted, times.started),
          .prompt_ms = MillisecondsBetween(times.started, times.first_token),
          .predicted_ms = MillisecondsBetween(times.first_token, times.finished)};
}

RequestDurations GenerationAnswer::durations() const {
  return {.total_ns = NanosecondsBetween(times_.received, times_.finished),
          .waited_ns = NanosecondsBetween(times_.received, times_.started),
          .prompt_ns = NanosecondsBetween(times_.started, times_.first_token),
          .output_ns = NanosecondsBetween(times_.first_token, times_.finished)};
}

std::string GenerationAnswer::StreamError(const ApiError& error) const {
  return SseEvent(ToJson(error));
}

}  // namespace weft
