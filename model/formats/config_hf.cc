// The hyperparameters of a Hugging Face config.json. Names and defaults are those of transformers'
// configuration classes.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_limits.h"
#include "base/quoted.h"
#include "model/formats/config_readers.h"
#include "model/rope.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// Reads fields of one JSON object. The first error of a file stays, so that the caller can read
// field after field and ask once. null counts as absent, as in transformers.
class Fields {
 public:
  Fields(const Json& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  const Json* Find(std::string_view key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  // Whether the key is there at all, be it null.
  bool Mentions(std::string_view key) const { return object_.contains(key); }

  // An integer in [minimum, maximum]; required without a fallback.
  int64_t Int(std::string_view key, int64_t minimum, int64_t maximum,
              std::optional<int64_t> fallback = {}) {
    const Json* value = Find(key);
    if (value == nullptr) return Absent(key, fallback, minimum);
    // A number above 2^63 is_number_unsigned() and would wrap.
    const bool fits =
        value->is_number_integer() &&
        (!value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(maximum));
    if (fits && value->get<int64_t>() >= minimum && value->get<int64_t>() <= maximum) {
      return value->get<int64_t>();
    }
    Reject(ErrorCode::kInvalidArgument, key,
           fmt::format("is {}, expected an integer from {} to {}", Spelling(*value), minimum,
                       maximum));
    return fallback.value_or(minimum);
  }

  // A finite number above 0.
  double Positive(std::string_view key, std::optional<double> fallback = {}) {
    const Json* value = Find(key);
    if (value == nullptr) return Absent(key, fallback, 1.0);
    if (value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() > 0) {
      return value->get<double>();
    }
    Reject(ErrorCode::kInvalidArgument, key,
           fmt::format("is {}, expected a finite number above 0", Spelling(*value)));
    return fallback.value_or(1.0);
  }

  bool Bool(std::string_view key, bool fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (value->is_boolean()) return value->get<bool>();
    Reject(ErrorCode::kInvalidArgument, key,
           fmt::format("is {}, expected true or false", Spelling(*value)));
    return fallback;
  }

  std::string String(std::string_view key, std::string_view fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return std::string(fallback);
    if (value->is_string()) return value->get<std::string>();
    Reject(ErrorCode::kInvalidArgument, key,
           fmt::format("is {}, expected a string", Spelling(*value)));
    return std::string(fallback);
  }

  // A field that changes the arithmetic in a way that Weft does not know, unless it is `off`.
  void RefuseUnless(std::string_view key, const Json& off) {
    const Json* value = Find(key);
    if (value == nullptr || *value == off) return;
    Reject(ErrorCode::kUnsupported, key,
           fmt::format("is {}, which is not supported (expected {})", Spelling(*value),
                       Spelling(off)));
  }

  void Reject(ErrorCode code, std::string_view key, std::string_view what) {
    if (!error_) error_ = Error{code, fmt::format("{}: {} {}", path_, key, what)};
  }

 private:
  template <typename T>
  T Absent(std::string_view key, std::optional<T> fallback, T otherwise) {
    if (!fallback) Reject(ErrorCode::kInvalidArgument, key, "is missing");
    return fallback.value_or(otherwise);
  }

  // Short and in one line, whatever the value is.
  static std::string Spelling(const Json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return fmt::format("an array of {}", value.size());
    if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
    return value.dump();
  }

  const Json& object_;
  std::string path_;
  std::optional<Error>& error_;
};

void ReadSizes(Fields& fields, ModelConfig& config) {
  config.vocab_size = fields.Int("vocab_size", 1, ConfigLimits::kVocabulary);
  config.context_length = fields.Int("max_position_embeddings", 1, ConfigLimits::kPositions);
  config.layer_count = fields.Int("num_hidden_layers", 1, ConfigLimits::kLayers);
  config.hidden_size = fields.Int("hidden_size", 1, ConfigLimits::kWidth);
  config.head_count = fields.Int("num_attention_heads", 1, ConfigLimits::kHeads);
  config.kv_head_count =
      fields.Int("num_key_value_heads", 1, ConfigLimits::kHeads, config.head_count);
  if (fields.Find("head_dim") == nullptr && config.hidden_size % config.head_count != 0) {
    fields.Reject(ErrorCode::kInvalidArgument, "num_attention_heads",
                  fmt::format("is {}, expected a divisor of the hidden size {}", config.head_count,
                              config.hidden_size));
  }
  config.head_dim =
      fields.Int("head_dim", 1, ConfigLimits::kHeadDim, config.hidden_size / config.head_count);
  config.norm_epsilon = fields.Positive("rms_norm_eps", 1e-6);
  config.tied_head = fields.Bool("tie_word_embeddings", false);
}

void ReadMlp(Fields& fields, const Architecture& architecture, ModelConfig& config) {
  fields.RefuseUnless("hidden_act", "silu");
  if (!architecture.is_moe) {
    config.feed_forward_length = fields.Int("intermediate_size", 1, ConfigLimits::kWidth);
    return;
  }
  MoeConfig& moe = config.moe;
  const char* count = fields.Find("num_experts") ? "num_experts" : "num_local_experts";
  const char* length =
      fields.Find("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size";
  moe.expert_count = fields.Int(count, 1, ConfigLimits::kExperts);
  moe.experts_per_token = fields.Int("num_experts_per_tok", 1, ConfigLimits::kExperts);
  moe.feed_forward_length = fields.Int(length, 1, ConfigLimits::kWidth);
  moe.renormalize = fields.Bool("norm_topk_prob", architecture.hf_renormalizes);
  fields.RefuseUnless("decoder_sparse_step", 1);
  fields.RefuseUnless("mlp_only_layers", Json::array());
}

void ReadSlidingWindow(Fields& fields, const Architecture& architecture, ModelConfig& config) {
  if (architecture.hf_window_needs_switch && !fields.Bool("use_sliding_window", false)) return;
  // An explicit null means none; only an absent field means the family's default.
  config.sliding_window =
      fields.Int("sliding_window", 0, ConfigLimits::kPositions,
                 fields.Mentions("sliding_window") ? 0 : architecture.hf_sliding_window);
  if (config.sliding_window == 0) return;
  if (architecture.hf_window_needs_switch &&
      fields.Int("max_window_layers", 0, ConfigLimits::kLayers, 0) != 0 &&
      fields.Find("layer_types") == nullptr) {
    fields.Reject(ErrorCode::kUnsupported, "max_window_layers",
                  "is not 0: a sliding window in some layers only is not supported");
  }
  const Json* layer_types = fields.Find("layer_types");
  if (layer_types == nullptr || !layer_types->is_array()) return;
  for (const Json& layer_type : *layer_types) {
    if (layer_type == "sliding_attention") continue;
    fields.Reject(ErrorCode::kUnsupported, "layer_types",
                  "mixes kinds: a sliding window in some layers only is not supported");
  }
}

void ReadLlama3(Fields& rope_fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.scaling = RopeScalingKind::kLlama3;
  rope.factor = rope_fields.Positive("factor");
  rope.low_frequency_factor = rope_fields.Positive("low_freq_factor");
  rope.high_frequency_factor = rope_fields.Positive("high_freq_factor");
  rope.original_context_length = rope_fields.Int("original_max_position_embeddings", 1,
                                                 ConfigLimits::kPositions, config.context_length);
}

void ReadYarn(Fields& rope_fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.scaling = RopeScalingKind::kYarn;
  rope.original_context_length = rope_fields.Int("original_max_position_embeddings", 1,
                                                 ConfigLimits::kPositions, config.context_length);
  rope.factor =
      rope_fields.Positive("factor", static_cast<double>(config.context_length) /
                                         static_cast<double>(rope.original_context_length));
  rope.beta_fast = rope_fields.Positive("beta_fast", rope.beta_fast);
  rope.beta_slow = rope_fields.Positive("beta_slow", rope.beta_slow);
  rope_fields.RefuseUnless("truncate", true);
  double magnitude = YarnMagnitude(rope.factor);
  if (rope_fields.Find("mscale") && rope_fields.Find("mscale_all_dim")) {
    magnitude = YarnMagnitude(rope.factor, rope_fields.Positive("mscale")) /
                YarnMagnitude(rope.factor, rope_fields.Positive("mscale_all_dim"));
  }
  rope.attention_factor = rope_fields.Positive("attention_factor", magnitude);
}

// transformers 5 has everything in rope_parameters; 4 has rope_theta and partial_rotary_factor
// beside an optional rope_scaling.
void ReadRope(const Json& json, const std::string& path, std::optional<Error>& error,
              const Architecture& architecture, ModelConfig& config) {
  Fields fields(json, path, error);
  const char* key = fields.Find("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Json* object = fields.Find(key);
  static const Json kEmpty = Json::object();
  if (object == nullptr) object = &kEmpty;
  if (!object->is_object()) {
    fields.Reject(ErrorCode::kInvalidArgument, key, "is not an object");
    return;
  }
  Fields rope_fields(*object, path + ": " + key, error);
  RopeConfig& rope = config.rope;
  rope.pairing = RopePairing::kHalves;
  rope.base =
      rope_fields.Positive("rope_theta", fields.Positive("rope_theta", architecture.hf_rope_base));
  const double part =
      rope_fields.Positive("partial_rotary_factor", fields.Positive("partial_rotary_factor", 1.0));
  rope.rotary_dim =
      part > 1 ? 0 : static_cast<int64_t>(static_cast<double>(config.head_dim) * part);
  const std::string type = rope_fields.String("rope_type", rope_fields.String("type", "default"));
  if (type == "linear") {
    rope.scaling = RopeScalingKind::kLinear;
    rope.factor = rope_fields.Positive("factor");
  } else if (type == "llama3") {
    ReadLlama3(rope_fields, config);
  } else if (type == "yarn") {
    ReadYarn(rope_fields, config);
  } else if (type != "default") {
    rope_fields.Reject(
        ErrorCode::kUnsupported, "rope_type",
        fmt::format("is {}, expected default, linear, llama3 or yarn", Quoted(type)));
  }
  for (const auto& [name, value] : object->items()) {
    if (value.is_object()) {
      rope_fields.Reject(ErrorCode::kUnsupported, Quoted(name),
                         "is an object: parameters a layer type are not supported");
    }
  }
}

Result<const Architecture*> ReadArchitecture(const Json& json, const std::string& path) {
  std::string hf_class;
  const auto classes = json.find("architectures");
  if (classes != json.end() && classes->is_array() && !classes->empty() &&
      classes->front().is_string()) {
    hf_class = classes->front().get<std::string>();
  }
  const auto type = json.find("model_type");
  const std::string hf_type =
      type != json.end() && type->is_string() ? type->get<std::string>() : "";
  if (hf_class.empty() && hf_type.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: neither architectures nor model_type is there",
                path);
  }
  auto found = FindHfArchitecture(hf_class, hf_type);
  if (!found) return Fail(found.error().code, "{}: {}", path, found.error().message);
  return *found;
}

}  // namespace

Result<ConfigAndArchitecture> ReadHfConfig(std::string_view json_text, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(json_text, kConfigJson, path));
  const Json json = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  }
  WEFT_ASSIGN_OR_RETURN(const Architecture* architecture, ReadArchitecture(json, path));
  ConfigAndArchitecture result{{}, architecture};
  ModelConfig& config = result.config;
  config.architecture = architecture->name;
  config.norm = architecture->norm;
  config.qk_norm = architecture->qk_norm;

  std::optional<Error> error;
  Fields fields(json, path, error);
  config.name = fields.String("_name_or_path", "");
  ReadSizes(fields, config);
  ReadMlp(fields, *architecture, config);
  ReadSlidingWindow(fields, *architecture, config);
  ReadRope(json, path, error, *architecture, config);
  fields.RefuseUnless("attention_bias", false);
  fields.RefuseUnless("mlp_bias", false);
  fields.RefuseUnless("clip_qkv", nullptr);
  fields.RefuseUnless("quantization_config", nullptr);
  if (error) return tl::unexpected(*std::move(error));
  WEFT_RETURN_IF_ERROR(CheckConfig(config, path));
  return result;
}

Result<Pooling> ReadHfPooling(std::string_view json_text, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(json_text, kConfigJson, path));
  const Json json = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  const auto mean = json.find("pooling_mode_mean_tokens");
  if (mean == json.end()) return Pooling::kLast;
  if (!mean->is_boolean()) {
    return Fail(ErrorCode::kCorrupt, "{}: pooling_mode_mean_tokens is {}, expected true or false",
                path, mean->type_name());
  }
  return mean->get<bool>() ? Pooling::kMean : Pooling::kLast;
}

}  // namespace weft
