#include "proto/ollama/ollama_response.h"

#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/json_reader.h"
#include "proto/logprob_json.h"
#include "proto/rfc3339.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// The model has written them: bounded nesting, no key twice.
ordered_json ArgumentsJson(const std::string& text) {
  auto arguments = ParseOrderedJson(text);
  return arguments && arguments->is_object() ? *std::move(arguments) : ordered_json::object();
}

ordered_json CallJson(const ChatToolCall& call) {
  ordered_json value;
  value["id"] = call.id;
  value["function"]["index"] = call.index;
  value["function"]["name"] = call.name;
  value["function"]["arguments"] = ArgumentsJson(call.arguments);
  return value;
}

void AddText(const OllamaReply& reply, ordered_json& body) {
  if (reply.is_generate) {
    body["response"] = reply.content;
    if (!reply.thinking.empty()) body["thinking"] = reply.thinking;
    return;
  }
  ordered_json& message = body["message"];
  message["role"] = "assistant";
  message["content"] = reply.content;
  if (!reply.thinking.empty()) message["thinking"] = reply.thinking;
  for (const ChatToolCall& call : reply.tool_calls) message["tool_calls"].push_back(CallJson(call));
}

void AddEnd(const OllamaEnd& end, ordered_json& body) {
  body["done_reason"] = end.reason;
  if (!end.cost) return;
  body["total_duration"] = end.cost->total_ns;
  body["load_duration"] = end.cost->load_ns;
  body["prompt_eval_count"] = end.cost->prompt_tokens;
  body["prompt_eval_duration"] = end.cost->prompt_ns;
  body["eval_count"] = end.cost->output_tokens;
  body["eval_duration"] = end.cost->output_ns;
}

// "134.52M", "7.2B"
std::string ParameterSize(int64_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.1f}B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  return fmt::format("{:.2f}K", value / 1e3);
}

ordered_json DetailsJson(const OllamaModel& model) {
  ordered_json details;
  details["parent_model"] = "";
  details["format"] = model.format;
  details["family"] = model.family;
  details["families"] = ordered_json::array();
  if (!model.family.empty()) details["families"].push_back(model.family);
  details["parameter_size"] =
      model.parameter_count > 0 ? ParameterSize(model.parameter_count) : std::string();
  details["quantization_level"] = model.weight_type;
  return details;
}

ordered_json ModelJson(const OllamaModel& model, bool is_running) {
  constexpr std::string_view kNever = "9999-12-31T23:59:59Z";
  ordered_json value;
  value["name"] = model.name;
  value["model"] = model.name;
  if (!is_running) value["modified_at"] = Rfc3339(model.created);
  value["size"] = model.size_bytes;
  value["digest"] = model.digest;
  value["details"] = DetailsJson(model);
  if (!is_running) return value;
  value["expires_at"] = model.expires_at ? Rfc3339(*model.expires_at) : std::string(kNever);
  value["size_vram"] = 0;
  value["context_length"] = model.context;
  return value;
}

ordered_json InfoJson(const OllamaModel& model) {
  ordered_json info;
  info["general.architecture"] = model.family;
  info["general.basename"] = model.name;
  info["general.parameter_count"] = model.parameter_count;
  if (model.family.empty()) return info;
  info[model.family + ".block_count"] = model.layer_count;
  info[model.family + ".context_length"] = model.context;
  info[model.family + ".embedding_length"] = model.embedding_size;
  return info;
}

}  // namespace

std::string ToJson(const OllamaReply& reply, const OllamaEnd* end) {
  ordered_json body;
  body["model"] = reply.model;
  body["created_at"] = Rfc3339(reply.created);
  AddText(reply, body);
  for (const ChatLogprob& logprob : reply.logprobs) {
    body["logprobs"].push_back(LogprobJson(logprob, ordered_json::array()));
  }
  body["done"] = end != nullptr;
  if (end != nullptr) AddEnd(*end, body);
  return DumpJson(body);
}

std::string ToJson(const std::vector<OllamaModel>& models, bool is_running) {
  ordered_json list = ordered_json::array();
  for (const OllamaModel& model : models) list.push_back(ModelJson(model, is_running));
  return DumpJson(ordered_json{{"models", std::move(list)}});
}

std::string OllamaShowJson(const OllamaModel& model) {
  ordered_json body;
  body["modelfile"] =
      fmt::format("FROM {}\nTEMPLATE \"\"\"{}\"\"\"\n", model.name, model.chat_template);
  body["parameters"] = model.context > 0 ? fmt::format("num_ctx {}", model.context) : "";
  body["template"] = model.chat_template;
  body["details"] = DetailsJson(model);
  body["model_info"] = InfoJson(model);
  body["capabilities"] = model.capabilities;
  body["modified_at"] = Rfc3339(model.created);
  return DumpJson(body);
}

}  // namespace weft
