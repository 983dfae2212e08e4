#include "loadtest/run/completion_chunk.h"

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "loadtest/run/completion_json.h"
#include "loadtest/run/json_cursor.h"
#include "loadtest/run/json_member.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// A field that occurs twice means whatever the general parser makes of it.
bool IsFirst(bool& seen) { return !std::exchange(seen, true); }

bool ScanString(JsonCursor& cursor, std::string& value) {
  return cursor.Peek() == 'n' ? cursor.Skip() : value.empty() && cursor.String(value);
}

bool ScanCount(JsonCursor& cursor, std::optional<int64_t>& count) {
  if (cursor.Peek() == 'n') return cursor.Skip();
  return !count && cursor.Count(count.emplace());
}

bool ScanMilliseconds(JsonCursor& cursor, std::optional<double>& ms) {
  if (cursor.Peek() == 'n') return cursor.Skip();
  return !ms && cursor.Number(ms.emplace());
}

bool ScanMessage(JsonCursor& cursor, CompletionChunk& chunk) {
  if (cursor.Peek() == 'n') return cursor.Skip();
  bool has_content = false, has_reasoning = false;
  return cursor.Object([&](std::string_view key) {
    if (key == "content") return IsFirst(has_content) && ScanString(cursor, chunk.text);
    if (key == "reasoning_content" || key == "reasoning") {
      return IsFirst(has_reasoning) && ScanString(cursor, chunk.reasoning);
    }
    return cursor.Skip();
  });
}

bool ScanChoice(JsonCursor& cursor, CompletionChunk& chunk) {
  bool has_text = false, has_finish = false;
  return cursor.Object([&](std::string_view key) {
    if (key == "text") return IsFirst(has_text) && ScanString(cursor, chunk.text);
    if (key == "delta" || key == "message") {
      return IsFirst(has_text) && ScanMessage(cursor, chunk);
    }
    if (key == "finish_reason") {
      return IsFirst(has_finish) && ScanString(cursor, chunk.finish_reason);
    }
    return cursor.Skip();
  });
}

bool ScanUsage(JsonCursor& cursor, CompletionChunk& chunk) {
  if (cursor.Peek() == 'n') return cursor.Skip();
  bool has_details = false, has_prompt = false, has_completion = false;
  return cursor.Object([&](std::string_view key) {
    if (key == "prompt_tokens") {
      return IsFirst(has_prompt) && ScanCount(cursor, chunk.prompt_tokens);
    }
    if (key == "completion_tokens") {
      return IsFirst(has_completion) && ScanCount(cursor, chunk.completion_tokens);
    }
    if (key != "prompt_tokens_details") return cursor.Skip();
    if (!IsFirst(has_details)) return false;
    if (cursor.Peek() == 'n') return cursor.Skip();
    bool has_cached = false;
    return cursor.Object([&](std::string_view detail) {
      if (detail != "cached_tokens") return cursor.Skip();
      return IsFirst(has_cached) && ScanCount(cursor, chunk.cached_tokens);
    });
  });
}

// How servers call their times, in which object.
struct TimeNames {
  const char* queue;
  const char* prefill;
  const char* decode;
};
// llama.cpp's server and Weft: `timings`.
constexpr TimeNames kTimings = {"queue_ms", "prompt_ms", "predicted_ms"};
// vLLM (--enable-per-request-metrics): `metrics`. Its time to the first token is counted from when
// the request was scheduled.
constexpr TimeNames kMetrics = {"queue_time_ms", "time_to_first_token_ms", "generation_time_ms"};

// `count`: of `predicted_n`; null: there is none.
bool ScanTimes(JsonCursor& cursor, const TimeNames& names, ServerTimings& times,
               std::optional<int64_t>* count) {
  if (cursor.Peek() == 'n') return cursor.Skip();
  bool has_queue = false, has_prefill = false, has_decode = false, has_count = false;
  return cursor.Object([&](std::string_view key) {
    if (key == names.queue) return IsFirst(has_queue) && ScanMilliseconds(cursor, times.queue_ms);
    if (key == names.prefill) {
      return IsFirst(has_prefill) && ScanMilliseconds(cursor, times.prefill_ms);
    }
    if (key == names.decode) {
      return IsFirst(has_decode) && ScanMilliseconds(cursor, times.decode_ms);
    }
    if (key == "predicted_n" && count != nullptr) {
      return IsFirst(has_count) && ScanCount(cursor, *count);
    }
    return cursor.Skip();
  });
}

std::optional<int64_t> Count(const Json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > JsonCursor::kMaxCount)
    return std::nullopt;
  return value.get<int64_t>();
}

std::optional<double> Milliseconds(const Json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// What is known already stays.
void ParseTimes(const Json& object, const TimeNames& names, ServerTimings& times) {
  const auto parse = [&object](const char* name, std::optional<double>& time) {
    if (!time) time = Milliseconds(Member(object, name));
  };
  parse(names.queue, times.queue_ms);
  parse(names.prefill, times.prefill_ms);
  parse(names.decode, times.decode_ms);
}

void ParseChoice(const Json& choice, CompletionChunk& chunk) {
  chunk.finish_reason = StringOr(Member(choice, "finish_reason"), "");
  chunk.text = StringOr(Member(choice, "text"), "");
  for (const char* name : {"delta", "message"}) {
    const Json& message = Member(choice, name);
    chunk.text += StringOr(Member(message, "content"), "");
    const Json& reasoning = Member(message, "reasoning_content");
    chunk.reasoning += StringOr(reasoning.is_null() ? Member(message, "reasoning") : reasoning, "");
  }
}

}  // namespace

void CompletionChunk::Clear() {
  id.clear();
  text.clear();
  reasoning.clear();
  finish_reason.clear();
  prompt_tokens.reset();
  cached_tokens.reset();
  completion_tokens.reset();
  predicted_tokens.reset();
  timings = {};
}

Result<void> ReadChunk(std::string_view json, CompletionChunk& chunk) {
  if (ScanChunk(json, chunk)) return {};
  return ParseChunk(json, chunk);
}

bool ScanChunk(std::string_view json, CompletionChunk& chunk) {
  chunk.Clear();
  JsonCursor cursor(json);
  bool has_id = false, has_choices = false, has_usage = false, has_timings = false,
       has_metrics = false;
  const bool read = cursor.Object([&](std::string_view key) {
    if (key == "id") return IsFirst(has_id) && ScanString(cursor, chunk.id);
    if (key == "choices") {
      return IsFirst(has_choices) && cursor.Array([&](int64_t index) {
        return index == 0 ? ScanChoice(cursor, chunk) : cursor.Skip();
      });
    }
    if (key == "usage") return IsFirst(has_usage) && ScanUsage(cursor, chunk);
    if (key == "timings") {
      return IsFirst(has_timings) &&
             ScanTimes(cursor, kTimings, chunk.timings, &chunk.predicted_tokens);
    }
    if (key == "metrics") {
      return IsFirst(has_metrics) && ScanTimes(cursor, kMetrics, chunk.timings, nullptr);
    }
    return key != "error" && cursor.Skip();
  });
  // Without choices it may be the dialect of an error.
  return read && has_choices && cursor.AtEnd();
}

Result<void> ParseChunk(std::string_view json, CompletionChunk& chunk) {
  chunk.Clear();
  const Json parsed = Json::parse(json, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    return Fail(ErrorCode::kCorrupt, "expected a JSON object, found {}", Quoted(json));
  }
  if (const auto error = ErrorOf(parsed)) return Fail(ErrorCode::kUnavailable, "{}", *error);
  chunk.id = StringOr(Member(parsed, "id"), "");
  const Json& choices = Member(parsed, "choices");
  if (choices.is_array() && !choices.empty()) ParseChoice(choices[0], chunk);
  const Json& usage = Member(parsed, "usage");
  chunk.prompt_tokens = Count(Member(usage, "prompt_tokens"));
  chunk.completion_tokens = Count(Member(usage, "completion_tokens"));
  chunk.cached_tokens = Count(Member(Member(usage, "prompt_tokens_details"), "cached_tokens"));
  const Json& timings = Member(parsed, "timings");
  chunk.predicted_tokens = Count(Member(timings, "predicted_n"));
  ParseTimes(timings, kTimings, chunk.timings);
  ParseTimes(Member(parsed, "metrics"), kMetrics, chunk.timings);
  return {};
}

}  // namespace weft
