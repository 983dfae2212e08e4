#include "loadtest/run/completion_json.h"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr size_t kQuotedBytes = 200;  // of a body that is not what was expected

Json Parse(std::string_view text) {
  return Json::parse(text, /*callback=*/nullptr, /*allow_exceptions=*/false);
}

// The member of an object, or null.
const Json& Member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string StringOr(const Json& value, std::string_view fallback) {
  return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

std::optional<int64_t> Count(const Json& value) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0) return std::nullopt;
  return value.get<int64_t>();
}

// OpenAI's {"error": {"message": ...}}; some servers have a string there, or only a message.
std::optional<std::string> ErrorOf(const Json& json) {
  const Json& error = Member(json, "error");
  if (error.is_string()) return error.get<std::string>();
  if (error.is_object()) return StringOr(Member(error, "message"), "error without a message");
  if (Member(json, "object") == "error") {
    return StringOr(Member(json, "message"), "error without a message");
  }
  return std::nullopt;
}

}  // namespace

std::string RequestBody(const CompletionCall& call) {
  Json body = {{"model", call.model},
               {"prompt", call.prompt},
               {"max_tokens", call.max_tokens},
               {"temperature", call.temperature}};
  if (call.stream) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
  }
  if (call.ignore_eos) body["ignore_eos"] = true;
  // A prompt from the command line may be any bytes.
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<CompletionPart> ParseCompletion(std::string_view json) {
  const Json parsed = Parse(json);
  if (!parsed.is_object()) {
    return Fail(ErrorCode::kCorrupt, "expected a JSON object, found '{}'",
                json.substr(0, kQuotedBytes));
  }
  if (const auto error = ErrorOf(parsed)) return Fail(ErrorCode::kUnavailable, "{}", *error);
  CompletionPart part;
  const Json& choices = Member(parsed, "choices");
  if (choices.is_array() && !choices.empty()) {
    part.text = StringOr(Member(choices[0], "text"), "");
    part.finish_reason = StringOr(Member(choices[0], "finish_reason"), "");
  }
  const Json& usage = Member(parsed, "usage");
  part.prompt_tokens = Count(Member(usage, "prompt_tokens"));
  part.completion_tokens = Count(Member(usage, "completion_tokens"));
  return part;
}

std::string ErrorMessage(std::string_view body) {
  return ErrorOf(Parse(body)).value_or(std::string(body.substr(0, kQuotedBytes)));
}

Result<std::string> FirstModelId(std::string_view json) {
  const Json parsed = Parse(json);
  const Json& models = Member(parsed, "data");
  if (!models.is_array() || models.empty() || !Member(models[0], "id").is_string()) {
    return Fail(ErrorCode::kCorrupt, "/v1/models lists no model: '{}'",
                json.substr(0, kQuotedBytes));
  }
  return models[0]["id"].get<std::string>();
}

}  // namespace weft
