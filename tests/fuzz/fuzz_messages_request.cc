// Bodies of /v1/messages, of /tokenize and of Ollama's /api/chat and /api/generate: whatever comes,
// a validated request or an error object. What a message becomes is a chat that could have been
// sent as one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "proto/chat/chat_messages.h"
#include "proto/messages/messages_request.h"
#include "proto/ollama/ollama_request.h"
#include "proto/tokenize/tokenize_request.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Every refusal can be sent, and says something.
void CheckRefusal(const weft::ApiError& error) {
  Require(!error.message.empty() && !weft::ToAnthropicJson(error, "id").empty() &&
          !weft::ToJson(error).empty() && !weft::ToOllamaJson(error).empty());
}

void CheckOllama(weft::ApiResult<weft::OllamaRequest> request) {
  if (!request) return CheckRefusal(request.error());
  weft::ChatRequest& chat = request->chat;
  if (request->load == weft::OllamaLoad::kNone && !request->is_raw) {
    Require(weft::CheckMessages(chat.messages).has_value());
  }
  Require(chat.tools.is_null() || weft::CheckTools(chat.tools).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view body{reinterpret_cast<const char*>(data), size_bytes};
  auto request = weft::ParseCountTokensRequest(body);
  if (request) {
    weft::ChatRequest& chat = request->chat;
    Require(weft::CheckMessages(chat.messages).has_value());
    Require(chat.tools.is_null() || weft::CheckTools(chat.tools).has_value());
    Require(!chat.continue_final_message || chat.messages.back()["role"] == "assistant");
    Require(chat.sampling.temperature >= 0 && chat.sampling.temperature <= 1);
  } else {
    CheckRefusal(request.error());
  }
  CheckOllama(weft::ParseOllamaChatRequest(body));
  CheckOllama(weft::ParseOllamaGenerateRequest(body));
  if (const auto tokenize = weft::ParseTokenizeRequest(body); !tokenize) {
    CheckRefusal(tokenize.error());
  }
  return 0;
}
