#include "proto/responses/responses_response.h"

#include <utility>

#include "proto/json_dump.h"
#include "proto/logprob_json.h"
#include "proto/responses/sealed_text.h"
#include "proto/sse.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json LogprobsJson(const std::vector<ChatLogprob>& logprobs) {
  ordered_json list = ordered_json::array();
  for (const ChatLogprob& logprob : logprobs) {
    list.push_back(LogprobJson(logprob, ordered_json::array()));
  }
  return list;
}

// The one part of a message or of reasoning.
ordered_json PartJson(ItemKind kind, const std::string& text,
                      const std::vector<ChatLogprob>& logprobs) {
  if (kind == ItemKind::kReasoning) return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", ordered_json::array()},
          {"logprobs", LogprobsJson(logprobs)}};
}

bool IsCall(ItemKind kind) {
  return kind == ItemKind::kFunctionCall || kind == ItemKind::kCustomToolCall;
}

// What a call's text is called.
std::string_view TextNameOf(ItemKind kind) {
  return kind == ItemKind::kFunctionCall ? "arguments" : "input";
}

ordered_json ItemJson(const ResponseItem& item) {
  ordered_json value = {{"id", item.id}, {"type", TypeOf(item.kind)}, {"status", item.status}};
  ordered_json content = ordered_json::array();
  const bool has_ended = item.status != "in_progress";
  if (!IsCall(item.kind) && has_ended) {
    content.push_back(PartJson(item.kind, item.text, item.logprobs));
  }
  switch (item.kind) {
    case ItemKind::kMessage:
      value["role"] = "assistant";
      value["content"] = std::move(content);
      break;
    case ItemKind::kReasoning:
      value["summary"] = ordered_json::array();
      value["content"] = std::move(content);
      if (item.is_sealed && has_ended) value["encrypted_content"] = SealText(item.text);
      break;
    case ItemKind::kFunctionCall:
    case ItemKind::kCustomToolCall:
      value["call_id"] = item.call_id;
      if (!item.space.empty()) value["namespace"] = item.space;
      value["name"] = item.name;
      value[TextNameOf(item.kind)] = item.text;
      break;
  }
  return value;
}

ordered_json ResponseJson(const ResponseObject& response) {
  ordered_json value;
  value["id"] = response.id;
  value["object"] = "response";
  value["created_at"] = response.created_at;
  value["completed_at"] =
      response.completed_at ? ordered_json(*response.completed_at) : ordered_json();
  value["status"] = response.status;
  value["model"] = response.model;
  ordered_json& error = value["error"];
  if (!response.error_code.empty()) {
    error = {{"code", response.error_code}, {"message", response.error_message}};
  }
  ordered_json& incomplete = value["incomplete_details"];
  if (!response.incomplete_reason.empty()) incomplete["reason"] = response.incomplete_reason;
  ordered_json& output = value["output"] = ordered_json::array();
  for (const ResponseItem& item : response.output) output.push_back(ItemJson(item));
  value["usage"] = response.usage ? ResponsesUsageJson(*response.usage) : ordered_json();
  value.update(response.echo);
  return value;
}

// Where an event belongs.
ordered_json PlaceOf(size_t output_index, const ResponseItem& item) {
  ordered_json place = {{"item_id", item.id}, {"output_index", output_index}};
  if (!IsCall(item.kind)) place["content_index"] = 0;
  return place;
}

// What the events about a part's text, or about arguments, begin with.
std::string_view StemOf(ItemKind kind) {
  switch (kind) {
    case ItemKind::kMessage:
      return "response.output_text";
    case ItemKind::kReasoning:
      return "response.reasoning_text";
    case ItemKind::kFunctionCall:
      return "response.function_call_arguments";
    case ItemKind::kCustomToolCall:
      break;
  }
  return "response.custom_tool_call_input";
}

// OpenAI describes the members both beside the type and in an object: clients look in either place.
ordered_json ErrorFields(const ApiError& error) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
  };
  ordered_json fields = {
      {"code", or_null(error.code)}, {"message", error.message}, {"param", or_null(error.param)}};
  ordered_json nested = {{"type", error.type}};
  nested.update(fields);
  fields["error"] = std::move(nested);
  return fields;
}

}  // namespace

std::string_view TypeOf(ItemKind kind) {
  switch (kind) {
    case ItemKind::kMessage:
      return "message";
    case ItemKind::kReasoning:
      return "reasoning";
    case ItemKind::kFunctionCall:
      return "function_call";
    case ItemKind::kCustomToolCall:
      break;
  }
  return "custom_tool_call";
}

ordered_json ResponsesUsageJson(const Usage& usage) {
  ordered_json value;
  value["input_tokens"] = usage.prompt_tokens;
  value["input_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  value["output_tokens"] = usage.completion_tokens;
  value["output_tokens_details"]["reasoning_tokens"] = usage.reasoning_tokens;
  value["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  return value;
}

std::string ToJson(const ResponseObject& response) { return DumpJson(ResponseJson(response)); }
std::string ToJson(const ResponseItem& item) { return DumpJson(ItemJson(item)); }

void ResponseEvents::Add(std::string_view type, const ordered_json& fields) {
  ordered_json event = {{"type", type}, {"sequence_number", next_sequence_number_++}};
  event.update(fields);
  events_.push_back(SseEvent(type, DumpJson(event)));
}

void ResponseEvents::AddResponse(std::string_view type, const ResponseObject& response) {
  Add(type, {{"response", ResponseJson(response)}});
}

void ResponseEvents::BeginItem(size_t output_index, const ResponseItem& item) {
  Add("response.output_item.added", {{"output_index", output_index}, {"item", ItemJson(item)}});
  if (IsCall(item.kind)) return;
  ordered_json fields = PlaceOf(output_index, item);
  fields["part"] = PartJson(item.kind, "", {});
  Add("response.content_part.added", fields);
}

void ResponseEvents::AddDelta(size_t output_index, const ResponseItem& item, std::string_view delta,
                              const std::vector<ChatLogprob>& logprobs) {
  ordered_json fields = PlaceOf(output_index, item);
  fields["delta"] = delta;
  if (item.kind == ItemKind::kMessage) fields["logprobs"] = LogprobsJson(logprobs);
  Add(std::string(StemOf(item.kind)) + ".delta", fields);
}

void ResponseEvents::EndItem(size_t output_index, const ResponseItem& item) {
  ordered_json text = PlaceOf(output_index, item);
  if (item.kind == ItemKind::kFunctionCall) text["name"] = item.name;
  text[IsCall(item.kind) ? TextNameOf(item.kind) : "text"] = item.text;
  if (item.kind == ItemKind::kMessage) text["logprobs"] = LogprobsJson(item.logprobs);
  Add(std::string(StemOf(item.kind)) + ".done", text);
  if (!IsCall(item.kind)) {
    ordered_json part = PlaceOf(output_index, item);
    part["part"] = PartJson(item.kind, item.text, item.logprobs);
    Add("response.content_part.done", part);
  }
  Add("response.output_item.done", {{"output_index", output_index}, {"item", ItemJson(item)}});
}

std::string SocketErrorJson(const ApiError& error) {
  ordered_json event = {{"type", "error"}, {"sequence_number", 0}, {"status", error.status}};
  event.update(ErrorFields(error));
  return DumpJson(event);
}

void ResponseEvents::AddError(const ApiError& error) { Add("error", ErrorFields(error)); }

std::vector<std::string> ResponseEvents::Take() { return std::exchange(events_, {}); }

}  // namespace weft
