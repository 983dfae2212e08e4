#include "proto/truncation_reader.h"

#include <optional>
#include <string>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"

namespace weft {
namespace {

using nlohmann::json;

// Into `keeps_end`, unless it is absent. Text Embeddings Inference writes the words with capitals.
ApiResult<void> ReadDirection(const json& body, const std::string& name, bool& keeps_end) {
  std::optional<std::string> text;
  WEFT_RETURN_IF_ERROR(ReadString(body, name, text));
  if (!text) return {};
  const bool is_left = *text == "left" || *text == "Left";
  if (!is_left && *text != "right" && *text != "Right") {
    return RefuseValue(name, "'right' or 'left'", json(*text));
  }
  keeps_end = is_left;
  return {};
}

}  // namespace

ApiResult<TruncationFields> ReadTruncation(const json& body) {
  TruncationFields truncation;
  bool by_other_name = false;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "truncate", truncation.is_wanted));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "truncation", by_other_name));
  std::optional<int32_t> max_tokens;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "truncate_prompt_tokens", -1, kMaxInt32, max_tokens));
  if (max_tokens == 0) {
    return RefuseValue("truncate_prompt_tokens", "-1 (the model's length) or at least 1", json(0));
  }
  truncation.is_wanted |= by_other_name || max_tokens.has_value();
  if (max_tokens > 0) truncation.max_tokens = max_tokens;
  WEFT_RETURN_IF_ERROR(ReadDirection(body, "truncation_direction", truncation.keeps_end));
  WEFT_RETURN_IF_ERROR(ReadDirection(body, "truncation_side", truncation.keeps_end));
  return truncation;
}

}  // namespace weft
