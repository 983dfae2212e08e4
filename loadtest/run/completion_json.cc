#include "loadtest/run/completion_json.h"

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "loadtest/run/json_member.h"

namespace weft {
namespace {

using Json = nlohmann::json;

Json Parse(std::string_view text) {
  return Json::parse(text, /*callback=*/nullptr, /*allow_exceptions=*/false);
}

}  // namespace

std::optional<std::string> ErrorOf(const Json& json) {
  const Json& error = Member(json, "error");
  if (error.is_string()) return error.get<std::string>();
  if (error.is_object()) return StringOr(Member(error, "message"), "error without a message");
  if (Member(json, "object") == "error" && !json.contains("choices")) {
    return StringOr(Member(json, "message"), "error without a message");
  }
  return std::nullopt;
}

std::string ErrorMessage(std::string_view body) {
  constexpr size_t kMostBytes = 200;
  return ErrorOf(Parse(body)).value_or(std::string(body.substr(0, kMostBytes)));
}

Result<ListedModel> FirstModel(std::string_view json) {
  const Json parsed = Parse(json);
  const Json& models = Member(parsed, "data");
  if (!models.is_array() || models.empty() || !Member(models[0], "id").is_string()) {
    return Fail(ErrorCode::kCorrupt, "/v1/models lists no model: {}", Quoted(json));
  }
  return ListedModel{.id = StringOr(Member(models[0], "id"), ""),
                     .owner = StringOr(Member(models[0], "owned_by"), "")};
}

bool HasError(std::string_view body) { return ErrorOf(Parse(body)).has_value(); }

}  // namespace weft
