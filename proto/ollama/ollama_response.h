// What Ollama's endpoints answer, one line of JSON each. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/chat/chat_response.h"

namespace weft {

// Of a whole text, or what a line of a stream adds to it.
struct OllamaReply {
  std::string model;
  int64_t created = 0;  // seconds since 1970
  bool is_generate = false;
  std::string content;
  std::string thinking;
  std::vector<ChatToolCall> tool_calls;  // of chats; whole ones, also in a stream
  std::vector<ChatLogprob> logprobs;
};

// Times are in nanoseconds.
struct OllamaCost {
  int64_t total_ns = 0;
  int64_t load_ns = 0;  // until the first step
  int64_t prompt_tokens = 0;
  int64_t prompt_ns = 0;
  int64_t output_tokens = 0;
  int64_t output_ns = 0;
};

// How a text ended.
struct OllamaEnd {
  std::string reason;              // "stop", "length", "load", "unload"
  std::optional<OllamaCost> cost;  // of what was generated
};

// `end`: of the last line, or the only one; otherwise nullptr. A call's arguments that broke off,
// so that they are no JSON, become {}.
std::string ToJson(const OllamaReply& reply, const OllamaEnd* end);

struct OllamaModel {
  std::string name;
  int64_t created = 0;  // seconds since 1970
  uint64_t size_bytes = 0;
  std::string digest;       // 64 hexadecimal digits
  std::string format = {};  // "gguf"
  std::string family = {};  // empty, and the numbers 0, of one that is not loaded
  std::string weight_type = {};
  int64_t parameter_count = 0;
  int64_t context = 0;                     // positions that are served
  std::optional<int64_t> expires_at = {};  // seconds since 1970; nullopt: it stays
  int64_t embedding_size = 0;
  int64_t layer_count = 0;
  std::string chat_template = {};
  std::vector<std::string> capabilities = {};
};

// What /api/tags answers, and with `is_running` what /api/ps does.
std::string ToJson(const std::vector<OllamaModel>& models, bool is_running);
// What /api/show answers.
std::string OllamaShowJson(const OllamaModel& model);

}  // namespace weft
