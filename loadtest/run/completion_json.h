// What a server's JSON says besides completions: errors, models. Lenient where OpenAI-compatible
// servers differ.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace weft {

// The message of an answer that is OpenAI's {"error": {"message": ...}}; some servers have a string
// there, or say `"object": "error"` and a message.
std::optional<std::string> ErrorOf(const nlohmann::json& answer);

// Whether the body of an answer is such an error.
bool HasError(std::string_view body);

// What an error response says: its error object's message, otherwise the beginning of the body.
std::string ErrorMessage(std::string_view body);

// The first model of /v1/models.
struct ListedModel {
  std::string id;
  std::string owner;  // which tells servers apart; empty: not said
};
Result<ListedModel> FirstModel(std::string_view json);

}  // namespace weft
