// The bodies of Ollama's POST /api/chat, /api/generate, /api/embed, /api/embeddings and /api/show,
// validated and put into the terms of the other endpoints. Include from .cc files only: the
// conversation is JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"
#include "proto/embeddings/embedding_request.h"
#include "proto/request_rules.h"

namespace weft {

// What a request is for that has nothing to generate from: Ollama's clients load models so, and
// unload them.
enum class OllamaLoad { kNone, kLoad, kUnload };

struct OllamaRequest {
  // Its model may be an empty name or end in ":latest". Of /api/generate it holds a conversation of
  // the system's text and the prompt, unless the prompt is to be continued as it is.
  ChatRequest chat;
  bool is_generate = false;
  OllamaLoad load = OllamaLoad::kNone;  // otherwise nothing else counts
  // How long the model is to stay after its last use, as ParseKeepAlive has it.
  std::optional<std::chrono::milliseconds> keep_alive;
  std::optional<int32_t> num_ctx;  // the context that the client counts on
  bool wants_thinking = false;     // it has asked for it, and is refused where there is none
  // Of /api/generate. With `is_raw` the text goes on behind `prompt` without a template, and ends
  // before `suffix` if that is not empty.
  bool is_raw = false;
  std::string prompt;
  std::string suffix;
};

// Errors name the field by its path in the client's body.
ApiResult<OllamaRequest> ParseOllamaChatRequest(std::string_view body,
                                                const RequestRules& rules = {});
ApiResult<OllamaRequest> ParseOllamaGenerateRequest(std::string_view body,
                                                    const RequestRules& rules = {});

struct OllamaEmbedRequest {
  EmbeddingRequest embedding;      // without inputs: nothing but loading is asked for
  std::optional<int32_t> num_ctx;  // as above
  std::optional<std::chrono::milliseconds> keep_alive = {};
};

ApiResult<OllamaEmbedRequest> ParseOllamaEmbedRequest(std::string_view body);
// The older one, of a single text.
ApiResult<OllamaEmbedRequest> ParseOllamaEmbeddingsRequest(std::string_view body);

struct OllamaShowRequest {
  std::string model;  // may be empty
  int32_t unknown_field_count = 0;
};

ApiResult<OllamaShowRequest> ParseOllamaShowRequest(std::string_view body);

}  // namespace weft
