#include "proto/stream_options.h"

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_reader.h"

namespace weft {

using nlohmann::json;

ApiResult<StreamOptions> ReadStreamOptions(const json& body) {
  StreamOptions result;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "stream", result.stream));
  const json* options = FindField(body, "stream_options");
  if (options == nullptr) return result;
  if (!options->is_object()) {
    return tl::unexpected(InvalidField(
        "stream_options",
        fmt::format("'stream_options' must be an object, not {}", DescribeJson(*options))));
  }
  if (!result.stream) {
    return tl::unexpected(InvalidField(
        "stream_options", "'stream_options' has a meaning only together with 'stream': true"));
  }
  constexpr const char* kPrefix = "stream_options.";
  WEFT_RETURN_IF_ERROR(ReadBool(*options, "include_usage", result.include_usage, kPrefix));
  bool obfuscation = false;  // OpenAI's padding against eavesdroppers; without effect here
  WEFT_RETURN_IF_ERROR(ReadBool(*options, "include_obfuscation", obfuscation, kPrefix));
  bool continuous_usage = false;
  WEFT_RETURN_IF_ERROR(ReadBool(*options, "continuous_usage_stats", continuous_usage, kPrefix));
  result.continuous_usage = continuous_usage && result.include_usage;  // as vLLM has it
  for (const auto& [name, value] : options->items()) {
    const bool known = name == "include_usage" || name == "include_obfuscation" ||
                       name == "continuous_usage_stats";
    if (!known) ++result.unknown_field_count;
  }
  return result;
}

}  // namespace weft
