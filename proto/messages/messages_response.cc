#include "proto/messages/messages_response.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json NullIfEmpty(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

// Anthropic counts what was found in the cache apart.
ordered_json MessagesUsageJson(const Usage& usage) {
  ordered_json value;
  value["input_tokens"] = usage.prompt_tokens - usage.cached_tokens;
  value["cache_creation_input_tokens"] = 0;
  value["cache_read_input_tokens"] = usage.cached_tokens;
  value["output_tokens"] = usage.completion_tokens;
  value["output_tokens_details"]["thinking_tokens"] = usage.reasoning_tokens;
  return value;
}

// The model has written it: bounded nesting, no key twice.
ordered_json InputJson(const std::string& text) {
  auto input = ParseOrderedJson(text);
  return input ? *std::move(input) : ordered_json::object();
}

ordered_json BlockJson(const MessagesBlock& block, bool with_text) {
  const std::string text = with_text ? block.text : "";
  ordered_json value;
  switch (block.kind) {
    case MessagesBlockKind::kText:
      value["type"] = "text";
      value["text"] = text;
      value["citations"] = nullptr;
      break;
    case MessagesBlockKind::kThinking:
      value["type"] = "thinking";
      value["thinking"] = text;
      value["signature"] = "";
      break;
    case MessagesBlockKind::kToolUse:
      value["type"] = "tool_use";
      value["id"] = block.id;
      value["name"] = block.name;
      value["input"] = InputJson(text);
      break;
  }
  return value;
}

ordered_json MessageJson(const MessagesResponse& response, const Usage& usage) {
  ordered_json message;
  message["id"] = response.id;
  message["type"] = "message";
  message["role"] = "assistant";
  message["model"] = response.model;
  ordered_json& content = message["content"] = ordered_json::array();
  for (const MessagesBlock& block : response.content) content.push_back(BlockJson(block, true));
  message["stop_reason"] = NullIfEmpty(response.stop_reason);
  message["stop_sequence"] = NullIfEmpty(response.stop_sequence);
  message["usage"] = MessagesUsageJson(usage);
  return message;
}

void AddContextManagement(const MessagesResponse& response, ordered_json& body) {
  if (response.context_management.empty()) return;
  body["context_management"] = ordered_json::parse(response.context_management);
}

ordered_json BlockEvent(std::string_view type, int32_t index) {
  ordered_json event;
  event["type"] = type;
  event["index"] = index;
  return event;
}

}  // namespace

std::string ToJson(const MessagesResponse& response, const Usage& usage) {
  ordered_json message = MessageJson(response, usage);
  AddContextManagement(response, message);
  return DumpJson(message);
}

std::string MessageStartJson(const MessagesResponse& response, const Usage& usage) {
  ordered_json event;
  event["type"] = "message_start";
  event["message"] = MessageJson(response, usage);
  return DumpJson(event);
}

std::string ContentBlockStartJson(int32_t index, const MessagesBlock& block) {
  ordered_json event = BlockEvent("content_block_start", index);
  event["content_block"] = BlockJson(block, false);
  return DumpJson(event);
}

std::string ContentBlockDeltaJson(int32_t index, MessagesBlockKind kind, std::string_view text) {
  ordered_json event = BlockEvent("content_block_delta", index);
  ordered_json& delta = event["delta"];
  switch (kind) {
    case MessagesBlockKind::kText:
      delta["type"] = "text_delta";
      delta["text"] = text;
      break;
    case MessagesBlockKind::kThinking:
      delta["type"] = "thinking_delta";
      delta["thinking"] = text;
      break;
    case MessagesBlockKind::kToolUse:
      delta["type"] = "input_json_delta";
      delta["partial_json"] = text;
      break;
  }
  return DumpJson(event);
}

std::string SignatureDeltaJson(int32_t index) {
  ordered_json event = BlockEvent("content_block_delta", index);
  event["delta"]["type"] = "signature_delta";
  event["delta"]["signature"] = "";
  return DumpJson(event);
}

std::string ContentBlockStopJson(int32_t index) {
  return DumpJson(BlockEvent("content_block_stop", index));
}

std::string MessageDeltaJson(const MessagesResponse& response, const Usage& usage) {
  ordered_json event;
  event["type"] = "message_delta";
  event["delta"]["stop_reason"] = NullIfEmpty(response.stop_reason);
  event["delta"]["stop_sequence"] = NullIfEmpty(response.stop_sequence);
  event["usage"] = MessagesUsageJson(usage);
  AddContextManagement(response, event);
  return DumpJson(event);
}

std::string MessageStopJson() { return R"({"type":"message_stop"})"; }

std::string PingJson() { return R"({"type":"ping"})"; }

std::string CountTokensJson(int64_t token_count, std::optional<int64_t> original_count) {
  ordered_json body;
  body["input_tokens"] = token_count;
  if (original_count) body["context_management"]["original_input_tokens"] = *original_count;
  return DumpJson(body);
}

}  // namespace weft
