// One JSON object of an answer, as far as a load test measures it: a chunk of a stream or a whole
// answer, of /v1/completions or /v1/chat/completions. Lenient where OpenAI-compatible servers
// differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loadtest/run/request_record.h"

namespace weft {

struct CompletionChunk {
  std::string id;
  // Of the first choice.
  std::string text;
  std::string reasoning;      // what a thinking model says before its answer
  std::string finish_reason;  // empty: not finished
  // Of its usage, if it has one.
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> cached_tokens;
  std::optional<int64_t> completion_tokens;
  // Of its timings or metrics, if it has them.
  std::optional<int64_t> predicted_tokens;
  ServerTimings timings;

  void Clear();  // strings keep their memory
};

// Replaces `chunk`. An error object in place of a completion is an error with its message.
Result<void> ReadChunk(std::string_view json, CompletionChunk& chunk);

// The two ways in which it is read. ScanChunk is fast, and false if it cannot (see JsonCursor) or
// if this is no completion; what it reads, ParseChunk reads alike.
bool ScanChunk(std::string_view json, CompletionChunk& chunk);
Result<void> ParseChunk(std::string_view json, CompletionChunk& chunk);

}  // namespace weft
