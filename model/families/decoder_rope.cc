// How a decoder's heads are rotated, by the words of either format.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/exact_math.h"
#include "base/quoted.h"
#include "model/families/decoder.h"
#include "model/formats/dequantize.h"
#include "model/rope.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

// config.json's keys of the rotation: transformers 5 has everything in rope_parameters, in an
// object for each type of layer where these differ; 4 has rope_theta and partial_rotary_factor
// beside an optional rope_scaling.
class HfRope {
  template <typename Use>
  auto With(std::string_view key, const Use& use) {
    const std::string name = object_ + "." + std::string(key);
    return use(Field{"", name});
  }

 public:
  HfRope(Hyperparameters& h, std::string_view layer_type)
      : h_(h), object_(h.Has({"", "rope_parameters"}) ? "rope_parameters" : "rope_scaling") {
    h.ExpectObject({"", object_});
    const std::string of_type = fmt::format("rope_parameters.{}", layer_type);
    if (!h.Has({"", of_type})) return;
    object_ = of_type;
    h.ExpectObject({"", object_});
  }

  double Positive(std::string_view key, std::optional<double> fallback = {}) {
    return With(key, [&](Field field) { return h_.Positive(field, fallback); });
  }
  int64_t Positions(std::string_view key, int64_t fallback) {
    return With(key, [&](Field field) { return h_.Int(field, {1, Limits::kPositions}, fallback); });
  }
  // 0 where there is none.
  double NotNegative(std::string_view key) {
    return With(key, [&](Field field) {
      const bool is_zero = h_.IsZero(field);
      return is_zero ? 0.0 : h_.Has(field) ? h_.Positive(field) : 0.0;
    });
  }
  void Ignore(std::string_view key) {
    With(key, [&](Field field) { h_.Ignore(field); });
  }
  bool Bool(std::string_view key, bool fallback) {
    return With(key, [&](Field field) { return h_.Bool(field, fallback); });
  }
  std::vector<double> Doubles(std::string_view key) {
    return With(key, [&](Field field) { return h_.Doubles(field); });
  }
  std::string String(std::string_view key, std::string_view fallback) {
    return With(key, [&](Field field) { return h_.String(field, fallback); });
  }
  bool Has(std::string_view key) {
    return With(key, [&](Field field) { return h_.Has(field); });
  }
  void RefuseUnless(std::string_view key, const ConfigValue& expected) {
    With(key, [&](Field field) { h_.RefuseUnless(field, expected); });
  }
  void Reject(ErrorCode code, std::string_view key, std::string_view what) {
    With(key, [&](Field field) { return h_.Reject(code, field, what); });
  }

 private:
  Hyperparameters& h_;
  std::string object_;
};

void ReadLlama3(HfRope& hf, int64_t context_length, RopeSpec& rope) {
  rope.scaling = RopeScalingKind::kLlama3;
  rope.factor = hf.Positive("factor");
  rope.low_frequency_factor = hf.Positive("low_freq_factor");
  rope.high_frequency_factor = hf.Positive("high_freq_factor");
  rope.original_context_length = hf.Positions("original_max_position_embeddings", context_length);
}

void ReadHfYarn(HfRope& hf, int64_t context_length, RopeSpec& rope) {
  rope.scaling = RopeScalingKind::kYarn;
  rope.original_context_length = hf.Positions("original_max_position_embeddings", context_length);
  rope.factor = hf.Positive("factor", static_cast<double>(context_length) /
                                          static_cast<double>(rope.original_context_length));
  rope.beta_fast = hf.Positive("beta_fast", rope.beta_fast);
  rope.beta_slow = hf.Positive("beta_slow", rope.beta_slow);
  rope.truncates = hf.Bool("truncate", true);
  double magnitude = YarnMagnitude(rope.factor);
  // One without the other, or 0, counts for nothing.
  const double scale = hf.NotNegative("mscale");
  const double scale_of_all = hf.NotNegative("mscale_all_dim");
  if (scale > 0 && scale_of_all > 0) {
    magnitude = YarnMagnitude(rope.factor, scale) / YarnMagnitude(rope.factor, scale_of_all);
  }
  hf.Ignore("finetuned");
  rope.attention_factor = hf.Positive("attention_factor", magnitude);
}

// LongRoPE's factor on cos and sin (https://arxiv.org/abs/2402.13753).
double LongRopeMagnitude(double factor, int64_t original_context_length) {
  if (factor <= 1) return 1;
  return std::sqrt(1 +
                   exact::Log(factor) / exact::Log(static_cast<double>(original_context_length)));
}

std::vector<float> ReadDivisors(HfRope& hf, std::string_view key, int64_t pair_count) {
  const std::vector<double> numbers = hf.Doubles(key);
  const auto is_sound = [](double number) { return std::isfinite(number) && number > 0; };
  if (std::ssize(numbers) != pair_count || !std::ranges::all_of(numbers, is_sound)) {
    hf.Reject(ErrorCode::kInvalidArgument, key,
              fmt::format("is no list of {} finite numbers above 0", pair_count));
  }
  return {numbers.begin(), numbers.end()};
}

void ReadHfLongRope(Hyperparameters& h, HfRope& hf, int64_t context_length, RopeSpec& rope) {
  rope.frequency_divisors = ReadDivisors(hf, "short_factor", rope.rotary_dim / 2);
  rope.long_frequency_divisors = ReadDivisors(hf, "long_factor", rope.rotary_dim / 2);
  // Phi-3 has it outside of the object.
  const int64_t original =
      h.Int({"", "original_max_position_embeddings"}, {1, Limits::kPositions}, context_length);
  rope.original_context_length = hf.Positions("original_max_position_embeddings", original);
  const double factor =
      hf.Positive("factor", static_cast<double>(context_length) /
                                static_cast<double>(rope.original_context_length));
  rope.attention_factor =
      hf.Positive("attention_factor", LongRopeMagnitude(factor, rope.original_context_length));
}

// Heads with a window may be of another size than those without.
int64_t HeadDim(const ModelSpec& spec, bool has_window) {
  const auto found = std::ranges::find_if(spec.layers, [&](const LayerSpec& layer) {
    return (layer.attention.window > 0) == has_window;
  });
  return (found == spec.layers.end() ? spec.layers.front() : *found).attention.key_dim;
}

// The leading elements of a head that are rotated.
int64_t ReadRotaryDim(Hyperparameters& h, HfRope& hf, int64_t head_dim) {
  constexpr const char* kPart = "partial_rotary_factor";
  const double part = hf.Positive(kPart, h.Positive({"", kPart}, 1.0));
  if (part <= 1) return static_cast<int64_t>(static_cast<double>(head_dim) * part);
  const std::string what = fmt::format("is {}, expected at most 1, the whole head", part);
  if (hf.Has(kPart)) {
    hf.Reject(ErrorCode::kInvalidArgument, kPart, what);
  } else {
    h.Reject(ErrorCode::kInvalidArgument, {"", kPart}, what);
  }
  return head_dim;
}

// Pairs and their frequencies are those of the whole head, of which only the first are turned.
void SetProportional(int64_t head_dim, RopeSpec& rope) {
  constexpr float kNotAtAll = 1e30F;
  rope.frequency_divisors.assign(static_cast<size_t>(head_dim / 2), kNotAtAll);
  std::fill_n(rope.frequency_divisors.begin(), rope.rotary_dim / 2, 1.0F);
  rope.rotary_dim = head_dim;
}

RopeSpec ReadHfRope(Hyperparameters& h, int64_t head_dim, int64_t context_length,
                    std::string_view layer_type) {
  HfRope hf(h, layer_type);
  RopeSpec rope;
  rope.base = hf.Positive("rope_theta", h.Positive({"", "rope_theta"}, 10000.0));
  rope.rotary_dim = ReadRotaryDim(h, hf, head_dim);
  const std::string old_type = hf.String("type", "default");
  const std::string type = hf.String("rope_type", old_type);
  if (type == "linear") {
    rope.scaling = RopeScalingKind::kLinear;
    rope.factor = hf.Positive("factor");
  } else if (type == "llama3") {
    ReadLlama3(hf, context_length, rope);
  } else if (type == "yarn") {
    ReadHfYarn(hf, context_length, rope);
  } else if (type == "longrope" || type == "su") {
    ReadHfLongRope(h, hf, context_length, rope);
  } else if (type == "dynamic" && hf.Has("alpha")) {
    // Hunyuan's is not dynamic: a wider base, whatever the length.
    const auto dims = static_cast<double>(rope.rotary_dim);
    rope.base *= exact::Pow(hf.Positive("alpha"), dims / std::max(dims - 2, 1.0));
    for (const char* without_effect : {"factor", "mscale", "mscale_all_dim", "beta_slow"}) {
      hf.RefuseUnless(without_effect, 1.0);
    }
    hf.RefuseUnless("beta_fast", 32.0);
  } else if (type == "dynamic") {
    // Scaled as soon as a sequence is longer than the positions that the model was made for, which
    // none is here.
    (void)hf.Positive("factor");
    hf.RefuseUnless("original_max_position_embeddings", context_length);
  } else if (type == "proportional") {
    SetProportional(head_dim, rope);
  } else if (type != "default") {
    hf.Reject(
        ErrorCode::kUnsupported, "rope_type",
        fmt::format(
            "is {}, expected default, dynamic, linear, llama3, longrope, proportional or yarn",
            Quoted(type)));
  }
  return rope;
}

void ReadGgufYarn(Hyperparameters& h, int64_t context_length, RopeSpec& rope) {
  rope.scaling = RopeScalingKind::kYarn;
  rope.original_context_length =
      h.Int({"rope.scaling.original_context_length", ""}, {1, Limits::kPositions}, context_length);
  rope.beta_fast = h.Positive({"rope.scaling.yarn_beta_fast", ""}, rope.beta_fast);
  rope.beta_slow = h.Positive({"rope.scaling.yarn_beta_slow", ""}, rope.beta_slow);
  h.RefuseUnless({"rope.scaling.yarn_ext_factor", ""}, 1.0);
  // llama.cpp's converter writes config.json's attention_factor, which is all of it.
  const Field all = {"rope.scaling.yarn_attn_factor", ""};
  rope.attention_factor = h.Positive(all, YarnMagnitude(rope.factor)) *
                          h.Positive({"rope.scaling.attn_factor", ""}, 1.0);
}

// Divisors that a tensor brings; none if there is no such tensor.
std::vector<float> ReadDivisors(Hyperparameters& h, std::string_view name, int64_t pair_count) {
  const auto found = h.tensors().find(name);
  if (found == h.tensors().end()) return {};
  const TensorView& view = found->second;
  if (view.rank != 1 || view.type != DataType::kF32 || view.dims[0] != pair_count) {
    h.RejectTensor(name, fmt::format("has {} elements of type {}, expected {} of type F32",
                                     view.element_count(), TraitsOf(view.type).name, pair_count));
    return {};
  }
  std::vector<float> divisors(static_cast<size_t>(pair_count));
  DequantizeRow(view.type, view.data, pair_count, divisors.data());
  for (const float divisor : divisors) {
    if (std::isfinite(divisor) && divisor > 0) continue;
    h.RejectTensor(name, fmt::format("holds {}, expected finite numbers above 0", divisor));
  }
  return divisors;
}

// Llama 3's scaling, worked out by the converter, or LongRoPE's two sets.
void ReadGgufDivisors(Hyperparameters& h, int64_t context_length, RopeSpec& rope) {
  const int64_t pair_count = rope.rotary_dim / 2;
  rope.frequency_divisors = ReadDivisors(h, "rope_freqs.weight", pair_count);
  const Field original = {"rope.scaling.original_context_length", ""};
  if (!h.tensors().contains("rope_factors_short.weight")) {
    h.Ignore(original);  // YaRN reads it
    return;
  }
  rope.frequency_divisors = ReadDivisors(h, "rope_factors_short.weight", pair_count);
  rope.long_frequency_divisors = ReadDivisors(h, "rope_factors_long.weight", pair_count);
  rope.original_context_length = h.Int(original, {1, Limits::kPositions}, context_length);
  rope.attention_factor = h.Positive({"rope.scaling.attn_factor", ""}, 1.0);
}

RopeSpec ReadGgufRope(Hyperparameters& h, const ModelSpec& spec, RopePairing pairing) {
  RopeSpec rope;
  rope.pairing = pairing;
  rope.rotary_dim =
      h.Int({"rope.dimension_count", ""}, {1, Limits::kHeadDim}, HeadDim(spec, false));
  rope.base = h.Positive({"rope.freq_base", ""}, 10000.0);
  ReadGgufDivisors(h, spec.context_length, rope);
  h.Ignore({"rope.scaling.finetuned", ""});
  // Old files have a linear factor and no type.
  const double old_linear_factor = h.Positive({"rope.scale_linear", ""}, 1.0);
  const Field type = {"rope.scaling.type", ""};
  rope.factor = h.Positive({"rope.scaling.factor", ""}, old_linear_factor);
  const std::string scaling = h.String(type, rope.factor != 1.0 ? "linear" : "none");
  if (scaling == "none") return rope;
  if (scaling == "linear") {
    rope.scaling = RopeScalingKind::kLinear;
  } else if (scaling == "yarn") {
    ReadGgufYarn(h, spec.context_length, rope);
  } else {
    h.Reject(ErrorCode::kUnsupported, type,
             fmt::format("is {}, expected none, linear or yarn", Quoted(scaling)));
  }
  return rope;
}

}  // namespace

RopeSpec ReadRope(Hyperparameters& h, const ModelSpec& spec, RopePairing gguf_pairing) {
  if (h.is_gguf()) return ReadGgufRope(h, spec, gguf_pairing);
  return ReadHfRope(h, HeadDim(spec, false), spec.context_length, "full_attention");
}

RopeSpec ReadLocalRope(Hyperparameters& h, const RopeSpec& global, const ModelSpec& spec,
                       double base) {
  const int64_t head_dim = HeadDim(spec, true);
  if (h.Has({"", "rope_parameters.sliding_attention"})) {
    return ReadHfRope(h, head_dim, spec.context_length, "sliding_attention");
  }
  RopeSpec rope;
  rope.pairing = global.pairing;
  rope.rotary_dim = h.Int({"rope.dimension_count_swa", ""}, {1, Limits::kHeadDim},
                          std::min(global.rotary_dim, head_dim));
  rope.base = h.Positive({"rope.freq_base_swa", "rope_local_base_freq"}, base);
  return rope;
}

void SetRopesByWindow(const RopeSpec& global, const RopeSpec& local, ModelSpec& spec) {
  spec.ropes = {global, local};
  for (LayerSpec& layer : spec.layers) layer.attention.rope = layer.attention.window > 0 ? 1 : 0;
}

}  // namespace weft
