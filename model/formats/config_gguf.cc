// The hyperparameters of a GGUF file, under the keys that llama.cpp's converters write.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/quoted.h"
#include "model/formats/config_readers.h"
#include "model/formats/dequantize.h"
#include "model/rope.h"

namespace weft {
namespace {

// Reads `{architecture}.{key}`. The first error stays, so that the caller can read field after
// field and ask once.
class Fields {
 public:
  Fields(const GgufMetadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(std::string(architecture) + ".") {}

  bool Has(std::string_view key) const { return metadata_.Contains(prefix_ + std::string(key)); }

  // An integer in [minimum, maximum]; required without a fallback.
  int64_t Int(std::string_view key, int64_t minimum, int64_t maximum,
              std::optional<int64_t> fallback = {}) {
    const std::optional<int64_t> value = Get(key, &GgufMetadata::GetInt);
    if (value && *value >= minimum && *value <= maximum) return *value;
    if (value) {
      Reject(ErrorCode::kInvalidArgument, key,
             fmt::format("is {}, expected {} to {}", *value, minimum, maximum));
    } else if (!fallback) {
      Reject(ErrorCode::kInvalidArgument, key, "is missing");
    }
    return fallback.value_or(minimum);
  }

  // A finite number above 0.
  double Positive(std::string_view key, std::optional<double> fallback = {}) {
    const std::optional<double> value = Get(key, &GgufMetadata::GetDouble);
    if (value && std::isfinite(*value) && *value > 0) return *value;
    if (value) {
      Reject(ErrorCode::kInvalidArgument, key,
             fmt::format("is {}, expected a finite number above 0", *value));
    } else if (!fallback) {
      Reject(ErrorCode::kInvalidArgument, key, "is missing");
    }
    return fallback.value_or(1);
  }

  std::optional<bool> Bool(std::string_view key) { return Get(key, &GgufMetadata::GetBool); }
  std::string_view String(std::string_view key, std::string_view fallback) {
    return Get(key, &GgufMetadata::GetString).value_or(fallback);
  }

  // A key that changes the arithmetic in a way that Weft does not know, unless its value is 0,
  // false or `neutral`.
  void Refuse(std::string_view key, double neutral = 0) {
    const auto found = metadata_.values().find(prefix_ + std::string(key));
    if (found == metadata_.values().end()) return;
    const auto* flag = std::get_if<bool>(&found->second);
    if (flag != nullptr && !*flag) return;
    const auto number = metadata_.GetDouble(prefix_ + std::string(key));
    if (number && (**number == 0 || **number == neutral)) return;
    Reject(ErrorCode::kUnsupported, key, "is not supported");
  }

  Result<void> error() && {
    if (error_) return tl::unexpected(*std::move(error_));
    return {};
  }

  void Reject(ErrorCode code, std::string_view key, std::string_view what) {
    if (error_) return;
    error_ = Error{code, fmt::format("{}: {}{} {}", metadata_.path(), prefix_, key, what)};
  }

 private:
  template <typename T>
  using Getter = Result<std::optional<T>> (GgufMetadata::*)(std::string_view) const;

  template <typename T>
  std::optional<T> Get(std::string_view key, Getter<T> getter) {
    auto value = (metadata_.*getter)(prefix_ + std::string(key));
    if (value) return *value;
    if (!error_) error_ = std::move(value).error();
    return std::nullopt;
  }

  const GgufMetadata& metadata_;
  std::string prefix_;
  std::optional<Error> error_;
};

void ReadSizes(Fields& fields, ModelConfig& config) {
  config.layer_count = fields.Int("block_count", 1, ConfigLimits::kLayers);
  config.context_length = fields.Int("context_length", 1, ConfigLimits::kPositions);
  config.hidden_size = fields.Int("embedding_length", 1, ConfigLimits::kWidth);
  config.head_count = fields.Int("attention.head_count", 1, ConfigLimits::kHeads);
  config.kv_head_count =
      fields.Int("attention.head_count_kv", 1, ConfigLimits::kHeads, config.head_count);
  if (!fields.Has("attention.key_length") && config.hidden_size % config.head_count != 0) {
    fields.Reject(ErrorCode::kInvalidArgument, "attention.head_count",
                  fmt::format("is {}, expected a divisor of the embedding length {}",
                              config.head_count, config.hidden_size));
  }
  config.head_dim = fields.Int("attention.key_length", 1, ConfigLimits::kHeadDim,
                               config.hidden_size / config.head_count);
  const int64_t value_length =
      fields.Int("attention.value_length", 1, ConfigLimits::kHeadDim, config.head_dim);
  if (value_length != config.head_dim) {
    fields.Reject(ErrorCode::kUnsupported, "attention.value_length",
                  fmt::format("is {}, expected the key length {}", value_length, config.head_dim));
  }
  config.norm_epsilon = fields.Positive("attention.layer_norm_rms_epsilon");
  config.sliding_window = fields.Int("attention.sliding_window", 0, ConfigLimits::kPositions, 0);
}

void ReadMlp(Fields& fields, const Architecture& architecture, ModelConfig& config) {
  if (!architecture.is_moe) {
    config.feed_forward_length = fields.Int("feed_forward_length", 1, ConfigLimits::kWidth);
    return;
  }
  config.moe.expert_count = fields.Int("expert_count", 1, ConfigLimits::kExperts);
  config.moe.experts_per_token = fields.Int("expert_used_count", 1, ConfigLimits::kExperts);
  config.moe.feed_forward_length =
      fields.Int(fields.Has("expert_feed_forward_length") ? "expert_feed_forward_length"
                                                          : "feed_forward_length",
                 1, ConfigLimits::kWidth);
  config.moe.renormalize =
      fields.Bool("expert_weights_norm").value_or(architecture.gguf_renormalizes);
  // llama.cpp's numbers: softmax over all experts; 2, a sigmoid; softmax over the chosen ones.
  constexpr int64_t kSoftmax = 1;
  constexpr int64_t kSoftmaxOfChosen = 3;
  const int64_t gating = fields.Int("expert_gating_func", 0, 16, kSoftmax);
  config.moe.softmax_before_choice = gating != kSoftmaxOfChosen;
  if (gating != kSoftmax && gating != kSoftmaxOfChosen) {
    fields.Reject(ErrorCode::kUnsupported, "expert_gating_func",
                  fmt::format("is {}, expected 1 (softmax) or 3 (softmax of the chosen)", gating));
  }
}

void ReadYarn(Fields& fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.scaling = RopeScalingKind::kYarn;
  rope.original_context_length = fields.Int("rope.scaling.original_context_length", 1,
                                            ConfigLimits::kPositions, config.context_length);
  rope.beta_fast = fields.Positive("rope.scaling.yarn_beta_fast", rope.beta_fast);
  rope.beta_slow = fields.Positive("rope.scaling.yarn_beta_slow", rope.beta_slow);
  if (fields.Positive("rope.scaling.yarn_ext_factor", 1.0) != 1.0) {
    fields.Reject(ErrorCode::kUnsupported, "rope.scaling.yarn_ext_factor", "is not 1");
  }
  // The file's factors come on top of yarn's own, as llama.cpp has it.
  rope.attention_factor = YarnMagnitude(rope.factor) *
                          fields.Positive("rope.scaling.attn_factor", 1.0) *
                          fields.Positive("rope.scaling.yarn_attn_factor", 1.0);
}

void ReadRope(Fields& fields, const Architecture& architecture, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.pairing = architecture.gguf_pairing;
  rope.rotary_dim = fields.Int("rope.dimension_count", 1, ConfigLimits::kHeadDim, config.head_dim);
  rope.base = fields.Positive("rope.freq_base", 10000.0);
  // Old files have a linear factor and no type.
  const double old_linear_factor = fields.Positive("rope.scale_linear", 1.0);
  const std::string_view scaling =
      fields.String("rope.scaling.type", old_linear_factor != 1.0 ? "linear" : "none");
  if (scaling == "none") return;
  rope.factor = fields.Positive("rope.scaling.factor", old_linear_factor);
  if (scaling == "linear") {
    rope.scaling = RopeScalingKind::kLinear;
  } else if (scaling == "yarn") {
    ReadYarn(fields, config);
  } else {
    fields.Reject(ErrorCode::kUnsupported, "rope.scaling.type",
                  fmt::format("is {}, expected none, linear or yarn", Quoted(scaling)));
  }
}

// What only the tensors tell.
Result<void> ReadFromTensors(const GgufFile& file, ModelConfig& config) {
  const std::string& path = file.metadata.path();
  const auto embedding = file.tensors.find("token_embd.weight");
  if (embedding == file.tensors.end() || embedding->second.rank != 2) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: tensor token_embd.weight is {}, expected a matrix", path,
                embedding == file.tensors.end() ? "missing" : "not a matrix");
  }
  config.vocab_size = embedding->second.dims[0];
  if (config.vocab_size < 1 || config.vocab_size > ConfigLimits::kVocabulary) {
    return Fail(ErrorCode::kInvalidArgument, "{}: token_embd.weight has {} rows, expected 1 to {}",
                path, config.vocab_size, ConfigLimits::kVocabulary);
  }
  config.tied_head = !file.tensors.contains("output.weight");
  const auto divisors = file.tensors.find("rope_freqs.weight");
  if (divisors == file.tensors.end()) return {};
  const TensorView& view = divisors->second;
  if (view.rank != 1 || view.type != DataType::kF32 || view.dims[0] != config.rope.rotary_dim / 2) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: tensor rope_freqs.weight has {} elements of type {}, expected {} of type F32",
                path, view.element_count(), TraitsOf(view.type).name, config.rope.rotary_dim / 2);
  }
  config.rope.frequency_divisors.resize(static_cast<size_t>(view.dims[0]));
  DequantizeRow(view.type, view.data, view.dims[0], config.rope.frequency_divisors.data());
  for (const float divisor : config.rope.frequency_divisors) {
    if (std::isfinite(divisor) && divisor > 0) continue;
    return Fail(ErrorCode::kInvalidArgument,
                "{}: tensor rope_freqs.weight holds {}, expected finite numbers above 0", path,
                divisor);
  }
  return {};
}

}  // namespace

Result<ConfigAndArchitecture> ReadGgufConfig(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata;
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> gguf_name,
                        metadata.GetString("general.architecture"));
  if (!gguf_name) {
    return Fail(ErrorCode::kInvalidArgument, "{}: metadata key general.architecture is missing",
                metadata.path());
  }
  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> experts,
                        metadata.GetInt(std::string(*gguf_name) + ".expert_count"));
  auto architecture = FindGgufArchitecture(*gguf_name, experts.value_or(0) > 0);
  if (!architecture) {
    return Fail(architecture.error().code, "{}: {}", metadata.path(), architecture.error().message);
  }

  ConfigAndArchitecture result{{}, *architecture};
  ModelConfig& config = result.config;
  config.architecture = (*architecture)->name;
  config.norm = (*architecture)->norm;
  config.qk_norm = (*architecture)->qk_norm;
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> name,
                        metadata.GetString("general.name"));
  config.name = name.value_or(*gguf_name);

  Fields fields(metadata, *gguf_name);
  ReadSizes(fields, config);
  ReadMlp(fields, **architecture, config);
  ReadRope(fields, **architecture, config);
  // As llama.cpp numbers them; kinds that Weft does not have count as none.
  constexpr int64_t kMeanPooling = 1;
  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> pooling,
                        metadata.GetInt(std::string(*gguf_name) + ".pooling_type"));
  config.pooling = pooling == kMeanPooling ? Pooling::kMean : Pooling::kLast;
  for (const std::string_view key :
       {"attention.clamp_kqv", "attention.scale", "attention.sliding_window_pattern",
        "attn_logit_softcapping", "final_logit_softcapping", "expert_shared_count",
        "leading_dense_block_count", "rope.dimension_sections",
        "rope.scaling.yarn_log_multiplier"}) {
    fields.Refuse(key);
  }
  for (const std::string_view key :
       {"embedding_scale", "residual_scale", "logit_scale", "expert_weights_scale"}) {
    fields.Refuse(key, /*neutral=*/1);
  }
  WEFT_RETURN_IF_ERROR(std::move(fields).error());
  WEFT_RETURN_IF_ERROR(ReadFromTensors(file, config));
  WEFT_RETURN_IF_ERROR(CheckConfig(config, metadata.path()));
  return result;
}

}  // namespace weft
