#include "proto/chat/chat_response.h"

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/logprob_json.h"
#include "proto/prompt_progress_json.h"
#include "proto/timings_json.h"
#include "proto/usage_json.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json LogprobsJson(const std::optional<std::vector<ChatLogprob>>& logprobs) {
  if (!logprobs) return nullptr;
  ordered_json value;
  ordered_json& content = value["content"] = ordered_json::array();
  for (const ChatLogprob& logprob : *logprobs) content.push_back(LogprobJson(logprob, nullptr));
  value["refusal"] = nullptr;
  return value;
}

ordered_json ToolCallJson(const ChatToolCall& call, bool in_stream) {
  ordered_json value;
  if (in_stream) value["index"] = call.index;
  if (!call.id.empty()) {
    value["id"] = call.id;
    value["type"] = "function";
  }
  ordered_json& function = value["function"];
  if (!call.name.empty()) function["name"] = call.name;
  function["arguments"] = call.arguments;
  return value;
}

void AddToolCalls(const ChatMessageDelta& message, bool in_stream, ordered_json& value) {
  if (message.tool_calls.empty()) return;
  ordered_json& calls = value["tool_calls"] = ordered_json::array();
  for (const ChatToolCall& call : message.tool_calls) {
    calls.push_back(ToolCallJson(call, in_stream));
  }
}

ordered_json MessageJson(const ChatMessageDelta& message) {
  ordered_json value;
  value["role"] = "assistant";
  value["content"] = message.content ? ordered_json(*message.content) : ordered_json();
  value["refusal"] = nullptr;
  if (message.reasoning) value["reasoning_content"] = *message.reasoning;
  AddToolCalls(message, false, value);
  return value;
}

ordered_json DeltaJson(const ChatMessageDelta& delta) {
  ordered_json value = ordered_json::object();
  if (delta.has_role) value = {{"role", "assistant"}, {"content", nullptr}, {"refusal", nullptr}};
  if (delta.content) value["content"] = *delta.content;
  if (delta.reasoning) value["reasoning_content"] = *delta.reasoning;
  AddToolCalls(delta, true, value);
  return value;
}

ordered_json ChatUsageJson(const Usage& usage) {
  ordered_json value = UsageCountsJson(usage.prompt_tokens, usage.completion_tokens);
  value["prompt_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  value["completion_tokens_details"]["reasoning_tokens"] = usage.reasoning_tokens;
  return value;
}

ordered_json BodyJson(const ChatResponse& response, bool is_chunk) {
  ordered_json body;
  body["id"] = response.id;
  body["object"] = is_chunk ? "chat.completion.chunk" : "chat.completion";
  body["created"] = response.created;
  body["model"] = response.model;
  body["system_fingerprint"] = response.system_fingerprint;
  ordered_json& choices = body["choices"] = ordered_json::array();
  for (const ChatChoice& choice : response.choices) {
    ordered_json value;
    value["index"] = choice.index;
    if (is_chunk) {
      value["delta"] = DeltaJson(choice.message);
    } else {
      value["message"] = MessageJson(choice.message);
    }
    value["logprobs"] = LogprobsJson(choice.logprobs);
    value["finish_reason"] =
        choice.finish_reason.empty() ? ordered_json() : ordered_json(choice.finish_reason);
    choices.push_back(std::move(value));
  }
  return body;
}

}  // namespace

std::string ToJson(const ChatResponse& response, const Usage& usage) {
  ordered_json body = BodyJson(response, false);
  body["usage"] = ChatUsageJson(usage);
  if (response.timings) body["timings"] = TimingsJson(*response.timings);
  return DumpJson(body);
}

std::string ToChunkJson(const ChatResponse& chunk, ChunkUsage usage) {
  ordered_json body = BodyJson(chunk, true);
  if (usage.present) {
    body["usage"] = usage.usage != nullptr    ? ChatUsageJson(*usage.usage)
                    : usage.so_far != nullptr ? UsageCountsJson(usage.so_far->prompt_tokens,
                                                                usage.so_far->completion_tokens)
                                              : ordered_json();
  }
  if (chunk.timings) body["timings"] = TimingsJson(*chunk.timings);
  if (chunk.progress) body["prompt_progress"] = ProgressJson(*chunk.progress);
  return DumpJson(body);
}

}  // namespace weft
