#include "proto/ollama/ollama_fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/ollama/keep_alive.h"
#include "proto/sampling_fields.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::string_view kOptionsPath = "options";

// About the machine and the loading of models; without effect. Defaults of newer versions among
// them.
constexpr auto kMachineOptions = std::to_array<std::string_view>(
    {"num_keep", "num_batch", "num_gpu", "main_gpu", "use_mmap", "use_mlock", "num_thread", "numa",
     "low_vram", "f16_kv", "vocab_only", "logits_all", "embedding_only", "rope_frequency_base",
     "rope_frequency_scale", "num_gqa", "draft_num_predict"});

// Those that would change the text.
constexpr std::array kUnsupportedOptions = {UnsupportedField{"tfs_z", "1"},
                                            UnsupportedField{"penalize_newline", "true"}};

// The same error, of a member of the options.
ApiError InOptions(ApiError error) {
  const std::string quoted = fmt::format("'{}'", error.param);
  const std::string path = fmt::format("{}.{}", kOptionsPath, error.param);
  const size_t at = error.message.find(quoted);
  if (at != std::string::npos) error.message.replace(at + 1, error.param.size(), path);
  error.param = path;
  return error;
}

ApiResult<void> InOptions(ApiResult<void> result) {
  if (result) return result;
  return tl::unexpected(InOptions(std::move(result).error()));
}

// nullptr: there are none.
ApiResult<const json*> FindOptions(const json& body) {
  const json* options = FindField(body, kOptionsPath);
  if (options == nullptr || options->is_object()) return options;
  return RefuseValue(std::string(kOptionsPath), "an object", *options);
}

ApiResult<void> ReadNumCtx(const json& options, std::optional<int32_t>& num_ctx) {
  return ReadInteger(options, "num_ctx", 0, kMaxInt32, num_ctx);
}

ApiResult<void> ReadOptions(json options, GenerationRequest& request,
                            std::optional<int32_t>& num_ctx) {
  WEFT_RETURN_IF_ERROR(ReadNumCtx(options, num_ctx));
  std::optional<int32_t> num_predict;  // 0 and below: as long as there is room
  WEFT_RETURN_IF_ERROR(ReadInteger(options, "num_predict", -2, kMaxInt32, num_predict));
  if (num_predict && *num_predict > 0) request.max_tokens = num_predict;
  const json* seed = FindField(options, "seed");
  if (seed != nullptr && IntegerOf(*seed) == -1) options.erase("seed");  // any
  WEFT_RETURN_IF_ERROR(ReadSamplingFields(options, request.sampling));
  WEFT_RETURN_IF_ERROR(CheckMinTokens(request));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(options, kUnsupportedOptions));
  constexpr auto kOwn =
      JoinFields(std::to_array<std::string_view>({"num_ctx", "num_predict"}), kMachineOptions);
  request.unknown_field_count += CountUnknownGenerationFields(options, kOwn, kUnsupportedOptions);
  return {};
}

}  // namespace

ApiResult<void> ReadOllamaOptions(const json& body, GenerationRequest& request,
                                  std::optional<int32_t>& num_ctx) {
  WEFT_ASSIGN_OR_RETURN(const json* const options, FindOptions(body));
  if (options == nullptr) return {};
  return InOptions(ReadOptions(*options, request, num_ctx));
}

ApiResult<void> ReadOllamaContext(const json& body, std::optional<int32_t>& num_ctx) {
  WEFT_ASSIGN_OR_RETURN(const json* const options, FindOptions(body));
  if (options == nullptr) return {};
  return InOptions(ReadNumCtx(*options, num_ctx));
}

ApiResult<std::optional<std::chrono::milliseconds>> ReadKeepAlive(const json& body) {
  const json* value = FindField(body, "keep_alive");
  std::optional<std::chrono::milliseconds> keep_alive;
  if (value == nullptr || *value == "") return keep_alive;
  if (value->is_number()) keep_alive = KeepAliveOf(value->get<double>());
  if (value->is_string()) keep_alive = ParseKeepAlive(value->get_ref<const std::string&>());
  if (!keep_alive) {
    return RefuseValue("keep_alive", R"(a number of seconds or a duration, "5m")", *value);
  }
  return keep_alive;
}

}  // namespace weft
