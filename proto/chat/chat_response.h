// What /v1/chat/completions answers: the whole, or one chunk of a stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/prompt_progress.h"
#include "proto/timings.h"
#include "proto/usage.h"

namespace weft {

struct ChatTokenLogprob {
  std::string token;  // as people may read it
  std::string bytes;  // as they are; empty: the token has none
  float logprob = 0;
};

struct ChatLogprob {
  ChatTokenLogprob chosen;
  std::vector<ChatTokenLogprob> top;
};

struct ChatToolCall {
  int32_t index = 0;
  std::string id;    // in a stream: of the first piece alone
  std::string name;  // likewise
  std::string arguments;
};

// A whole message, or what a chunk adds to one.
struct ChatMessageDelta {
  bool has_role = false;  // "assistant"
  std::optional<std::string> content;
  std::optional<std::string> reasoning;
  std::vector<ChatToolCall> tool_calls;
};

struct ChatChoice {
  int32_t index = 0;
  ChatMessageDelta message;
  std::optional<std::vector<ChatLogprob>> logprobs;
  std::string finish_reason;  // "stop", "length", "tool_calls"; empty: null, not finished
};

struct ChatResponse {
  std::string id;       // "chatcmpl-..."
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string system_fingerprint;
  std::vector<ChatChoice> choices;
  std::optional<Timings> timings;
  std::optional<PromptProgressNumbers> progress;  // of a chunk
};

// One line of JSON each. Bytes that are not UTF-8 become U+FFFD.
std::string ToJson(const ChatResponse& response, const Usage& usage);

// How the "usage" member of a chunk appears: in all but the last of a stream that has it, null or
// what there is so far.
struct ChunkUsage {
  bool present = false;
  const Usage* usage = nullptr;
  const UsageSoFar* so_far = nullptr;  // both nullptr: null
};
std::string ToChunkJson(const ChatResponse& chunk, ChunkUsage usage);

}  // namespace weft
