#include "model/hyperparameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "base/quoted.h"

namespace weft {
namespace {

// Keys of config.json that change what is computed, wherever they stand, with the value under which
// they do not. A family that knows one reads it; with another value nobody else may pass over it.
// GGUF needs no such list: of "{architecture}." every key is read, or is one of kHarmlessGgufKeys.
struct KeyThatMatters {
  std::string_view key;
  ConfigValue neutral = {};  // null is always neutral
};

const std::vector<KeyThatMatters>& KeysThatMatter() {
  static const std::vector<KeyThatMatters> kKeys = {
      {"activation_function"},
      {"add_cross_attention", false},
      {"alibi", false},
      {"attention_bias", false},
      {"attention_chunk_size"},
      {"attention_k_eq_v", false},
      {"attention_out_bias", false},
      {"attention_multiplier"},
      {"attention_value_scale"},
      {"attn_logit_softcapping"},
      {"attn_temperature_tuning", false},
      {"clip_qkv"},
      {"decoder_sparse_step", int64_t{1}},
      {"embedding_multiplier", 1.0},
      {"enable_moe_block", false},
      {"final_logit_softcapping"},
      {"first_k_dense_replace", int64_t{0}},
      {"hidden_act"},
      {"hidden_activation"},
      {"hidden_size_per_layer_input", int64_t{0}},
      {"is_causal", true},
      {"is_decoder", true},
      {"is_encoder_decoder", false},
      {"kv_lora_rank"},
      {"logit_scale", 1.0},
      {"logits_scaling", 1.0},
      {"mlp_bias", false},
      {"mlp_layer_types"},
      {"mlp_only_layers"},
      {"moe_intermediate_size"},
      {"moe_layer_freq", int64_t{1}},
      {"moe_layer_interval", int64_t{1}},
      {"moe_layers"},
      {"n_group", int64_t{1}},
      {"n_routed_experts", int64_t{0}},
      {"n_shared_experts", int64_t{0}},
      {"no_rope_layers"},
      {"norm_topk_prob"},
      {"num_experts", int64_t{0}},
      {"num_kv_shared_layers", int64_t{0}},
      {"num_local_experts", int64_t{0}},
      {"parallel_attn", false},
      {"partial_rotary_factor", 1.0},
      {"q_lora_rank"},
      {"qk_layernorm", false},
      {"query_pre_attn_scalar"},
      {"residual_multiplier", 1.0},
      {"rotary_pct", 1.0},
      {"routed_scaling_factor", 1.0},
      {"scoring_func", std::string("softmax")},
      {"shared_expert_intermediate_size", int64_t{0}},
      {"shared_intermediate_size", int64_t{0}},
      {"use_alibi", false},
      {"use_bias", false},
      {"use_bidirectional_attention", false},
      {"use_cla", false},
      {"use_parallel_residual", false},
      {"use_qk_norm", false},
      {"use_qkv_bias", false},
  };
  return kKeys;
}

// What converters write that repeats the tensors' shapes, or that is about training or people.
constexpr std::string_view kHarmlessGgufKeys[] = {"nextn_predict_layers", "tensor_data_layout",
                                                  "vocab_size"};

// Where 1 changes nothing.
constexpr std::string_view kGgufFactors[] = {"embedding_scale", "expert_weights_scale",
                                             "logit_scale", "residual_scale",
                                             "rope.scaling.attn_factor"};

std::string Joined(const std::vector<std::string>& strings) {
  std::string text;
  for (const std::string& string : strings) text += (text.empty() ? "" : ", ") + Quoted(string);
  return "[" + text + "]";
}

// Overloads of one visitor.
template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

// Short and in one line, whatever the value is.
std::string Spelling(const ConfigValue& value) {
  return std::visit(Overloaded{
                        [](std::monostate) -> std::string { return "null"; },
                        [](const std::string& v) { return Quoted(v); },
                        [](const OtherValue& v) { return v.description; },
                        [](const std::vector<std::string>& v) {
                          return v.size() <= 4 ? Joined(v)
                                               : fmt::format("an array of {} strings", v.size());
                        },
                        []<typename T>(const std::vector<T>& v) {
                          return fmt::format("an array of {}", v.size());
                        },
                        [](const auto& v) { return fmt::format("{}", v); },
                    },
                    value);
}

// Of what is a list: how many elements it has.
std::optional<size_t> ListSize(const ConfigValue& value) {
  using Size = std::optional<size_t>;
  return std::visit(Overloaded{[]<typename T>(const std::vector<T>& v) -> Size { return v.size(); },
                               [](const auto&) -> Size { return std::nullopt; }},
                    value);
}

bool IsEmptyList(const ConfigValue& value) { return ListSize(value) == size_t{0}; }

std::optional<double> NumberIn(const ConfigValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

bool SameValue(const ConfigValue& a, const ConfigValue& b) {
  const std::optional<double> x = NumberIn(a);
  const std::optional<double> y = NumberIn(b);
  return x && y ? *x == *y : a == b;
}

ConfigValue FromGgufValue(const GgufValue& value) {
  return std::visit(
      Overloaded{
          [](uint64_t v) -> ConfigValue { return OtherValue{fmt::format("{}", v)}; },
          [](std::string_view v) -> ConfigValue { return std::string(v); },
          [](const std::vector<uint64_t>& v) -> ConfigValue {
            return OtherValue{fmt::format("an array of {} integers, some above 2^63-1", v.size())};
          },
          [](const std::vector<std::string_view>& v) -> ConfigValue {
            return std::vector<std::string>(v.begin(), v.end());
          },
          [](const auto& v) -> ConfigValue { return v; },
      },
      value);
}

}  // namespace

Hyperparameters Hyperparameters::FromGguf(const GgufMetadata& metadata,
                                          std::string_view architecture, const TensorMap& tensors) {
  std::string prefix = std::string(architecture) + ".";
  ConfigValues values;
  for (auto at = metadata.values().lower_bound(prefix);
       at != metadata.values().end() && at->first.starts_with(prefix); ++at) {
    values.emplace(at->first.substr(prefix.size()), FromGgufValue(at->second));
  }
  // xIELU's numbers stand without the architecture.
  for (auto at = metadata.values().lower_bound("xielu.");
       at != metadata.values().end() && at->first.starts_with("xielu."); ++at) {
    values.emplace(at->first, FromGgufValue(at->second));
  }
  return {FileFormat::kGguf, metadata.path(), std::move(prefix), std::move(values), tensors};
}

Hyperparameters::Hyperparameters(FileFormat format, std::string path, std::string prefix,
                                 ConfigValues values, const TensorMap& tensors)
    : format_(format),
      path_(std::move(path)),
      prefix_(std::move(prefix)),
      values_(std::move(values)),
      tensors_(tensors) {}

void Hyperparameters::SetHfDefaults(
    std::initializer_list<std::pair<std::string_view, ConfigValue>> defaults) {
  if (is_gguf()) return;
  for (const auto& [key, value] : defaults) values_.try_emplace(std::string(key), value);
}

bool Hyperparameters::Has(Field field) const {
  const auto found = values_.find(KeyOf(field));
  return found != values_.end() && !KeyOf(field).empty() &&
         !std::holds_alternative<std::monostate>(found->second);
}

bool Hyperparameters::IsList(Field field) const {
  const auto found = values_.find(KeyOf(field));
  return found != values_.end() && ListSize(found->second).has_value();
}

bool Hyperparameters::IsNumber(Field field) {
  const ConfigValue* value = Find(field);
  return value != nullptr && NumberIn(*value).has_value();
}

bool Hyperparameters::IsZero(Field field) {
  const ConfigValue* value = Find(field);
  return value != nullptr && NumberIn(*value) == 0.0;
}

const ConfigValue* Hyperparameters::Find(Field field) {
  const auto found = values_.find(KeyOf(field));
  if (found == values_.end() || KeyOf(field).empty()) return nullptr;
  read_.insert(found->first);
  return std::holds_alternative<std::monostate>(found->second) ? nullptr : &found->second;
}

template <typename T>
T Hyperparameters::Absent(Field field, std::optional<T> fallback, T otherwise) {
  if (!fallback) Reject(ErrorCode::kInvalidArgument, field, "is missing");
  return fallback.value_or(otherwise);
}

int64_t Hyperparameters::Int(Field field, Range range, std::optional<int64_t> fallback) {
  const ConfigValue* value = Find(field);
  if (value == nullptr) return Absent(field, fallback, range.minimum);
  const auto* integer = std::get_if<int64_t>(value);
  if (integer != nullptr && *integer >= range.minimum && *integer <= range.maximum) {
    return *integer;
  }
  RejectValue(field, *value, fmt::format("an integer from {} to {}", range.minimum, range.maximum));
  return fallback.value_or(range.minimum);
}

std::vector<int64_t> Hyperparameters::IntPerLayer(Field field, Range range, int64_t layer_count,
                                                  std::optional<int64_t> fallback) {
  const auto count = static_cast<size_t>(layer_count);
  const ConfigValue* value = Find(field);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  if (list == nullptr) return std::vector<int64_t>(count, Int(field, range, fallback));
  const auto fits = [&](int64_t one) { return one >= range.minimum && one <= range.maximum; };
  if (list->size() == count && std::ranges::all_of(*list, fits)) return *list;
  Reject(ErrorCode::kInvalidArgument, field,
         fmt::format("is {}, expected {} integers from {} to {}, one a layer", Spelling(*value),
                     layer_count, range.minimum, range.maximum));
  return std::vector<int64_t>(count, range.minimum);
}

double Hyperparameters::Positive(Field field, std::optional<double> fallback) {
  const ConfigValue* value = Find(field);
  if (value == nullptr) return Absent(field, fallback, 1.0);
  const std::optional<double> number = NumberIn(*value);
  if (number && std::isfinite(*number) && *number > 0) return *number;
  RejectValue(field, *value, "a finite number above 0");
  return fallback.value_or(1.0);
}

bool Hyperparameters::Bool(Field field, bool fallback) {
  const ConfigValue* value = Find(field);
  if (value == nullptr) return fallback;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  RejectValue(field, *value, "true or false");
  return fallback;
}

std::string Hyperparameters::String(Field field, std::string_view fallback) {
  const ConfigValue* value = Find(field);
  if (value == nullptr) return std::string(fallback);
  if (const auto* string = std::get_if<std::string>(value)) return *string;
  RejectValue(field, *value, "a string");
  return std::string(fallback);
}

template <typename T>
std::vector<T> Hyperparameters::List(Field field, std::string_view expected) {
  const ConfigValue* value = Find(field);
  if (value == nullptr || IsEmptyList(*value)) return {};
  if (const auto* list = std::get_if<std::vector<T>>(value)) return *list;
  RejectValue(field, *value, expected);
  return {};
}

std::vector<std::string> Hyperparameters::Strings(Field field) {
  return List<std::string>(field, "an array of strings");
}
std::vector<int64_t> Hyperparameters::Ints(Field field) {
  return List<int64_t>(field, "an array of integers");
}
std::vector<double> Hyperparameters::Doubles(Field field) {
  const ConfigValue* value = Find(field);
  const auto* integers = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  if (integers != nullptr) return {integers->begin(), integers->end()};
  return List<double>(field, "an array of numbers");
}
std::vector<bool> Hyperparameters::Bools(Field field) {
  return List<bool>(field, "an array of bools");
}

void Hyperparameters::RefuseUnless(Field field, const ConfigValue& expected) {
  const ConfigValue* value = Find(field);
  if (value == nullptr || SameValue(*value, expected)) return;
  Reject(ErrorCode::kUnsupported, field,
         fmt::format("is {}, which is not supported (expected {})", Spelling(*value),
                     Spelling(expected)));
}

void Hyperparameters::ExpectObject(Field field) {
  const ConfigValue* value = Find(field);
  if (value == nullptr || *value == ConfigValue(OtherValue{std::string(kObjectValue)})) return;
  RejectValue(field, *value, kObjectValue);
}

void Hyperparameters::RejectValue(Field field, const ConfigValue& value,
                                  std::string_view expected) {
  Reject(ErrorCode::kInvalidArgument, field,
         fmt::format("is {}, expected {}", Spelling(value), expected));
}

void Hyperparameters::Reject(ErrorCode code, Field field, std::string_view what) {
  if (error_) return;
  error_ = Error{code, fmt::format("{}: {}{} {}", path_, prefix_, KeyOf(field), what)};
}

void Hyperparameters::RejectTensor(std::string_view name, std::string_view what) {
  if (error_) return;
  error_ = Error{ErrorCode::kInvalidArgument, fmt::format("{}: tensor {} {}", path_, name, what)};
}

Result<void> Hyperparameters::CheckSoFar() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

Result<void> Hyperparameters::Finish() {
  // The key is the file's: what it is made of may be anything.
  const auto refuse = [&](const std::string& key, const ConfigValue& value) {
    const bool is_plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
    const std::string name = is_plain ? key : Quoted(key);
    Reject(ErrorCode::kUnsupported, {name, name},
           fmt::format("is {}, which changes what this model computes and is not supported",
                       Spelling(value)));
  };
  for (const auto& [key, value] : values_) {
    if (read_.contains(key) || std::holds_alternative<std::monostate>(value)) continue;
    if (is_gguf()) {
      if (std::ranges::find(kHarmlessGgufKeys, key) != std::end(kHarmlessGgufKeys)) continue;
      // What is switched off.
      if (SameValue(value, false) || SameValue(value, int64_t{0})) continue;
      const bool is_factor = std::ranges::find(kGgufFactors, key) != std::end(kGgufFactors);
      if (is_factor && SameValue(value, int64_t{1})) continue;
      refuse(key, value);
    } else {
      // Of a rotation's parameters, every one matters.
      if (key.starts_with("rope_parameters.") || key.starts_with("rope_scaling.")) {
        refuse(key, value);
        continue;
      }
      const auto& keys = KeysThatMatter();
      const auto known = std::ranges::find(keys, key, &KeyThatMatters::key);
      if (known == keys.end() || SameValue(value, known->neutral) || IsEmptyList(value)) continue;
      refuse(key, value);
    }
  }
  return CheckSoFar();
}

}  // namespace weft
