// The bodies of POST /tokenize and /detokenize, validated. Include from .cc files only: a
// conversation is JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"

namespace weft {

struct TokenizeRequest {
  std::optional<std::string> model;
  std::string text;                  // unless `chat` is there
  std::optional<ChatRequest> chat;   // the text is the prompt that it would make
  std::string text_path = "prompt";  // what the client calls it, for errors
  bool add_special_tokens = true;
  bool parse_special_tokens = true;
  bool with_strings = false;  // what each token is, beside its id
  bool as_llama_cpp = false;  // the answer is shaped as llama.cpp's server does it, not as vLLM
  int32_t unknown_field_count = 0;
};

// One of `prompt` and `messages` (vLLM's) and `content` (llama.cpp's). A field that goes with
// another of them is refused.
ApiResult<TokenizeRequest> ParseTokenizeRequest(std::string_view body,
                                                const RequestRules& rules = {});

struct DetokenizeRequest {
  std::optional<std::string> model;
  std::vector<int32_t> tokens;  // >= 0; whether the vocabulary has them is the server's to check
  int32_t unknown_field_count = 0;
};

ApiResult<DetokenizeRequest> ParseDetokenizeRequest(std::string_view body);

}  // namespace weft
