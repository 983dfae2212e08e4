#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "base/quoted.h"
#include "model/formats/schemes/scheme.h"

namespace weft {
namespace schemes {

template <typename T>
const T* Config::Find(std::string_view key) const {
  const auto found = values_.find(prefix_ + std::string(key));
  return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
}

int64_t Config::Int(std::string_view key, int64_t fallback) const {
  const auto* value = Find<int64_t>(key);
  return value != nullptr ? *value : fallback;
}
bool Config::Bool(std::string_view key, bool fallback) const {
  const auto* value = Find<bool>(key);
  return value != nullptr ? *value : fallback;
}
std::string Config::String(std::string_view key, std::string_view fallback) const {
  const auto* value = Find<std::string>(key);
  return value != nullptr ? *value : std::string(fallback);
}
double Config::Number(std::string_view key, double fallback) const {
  if (const auto* integer = Find<int64_t>(key)) return static_cast<double>(*integer);
  const auto* value = Find<double>(key);
  return value != nullptr ? *value : fallback;
}
std::vector<int64_t> Config::Ints(std::string_view key) const {
  const auto* value = Find<std::vector<int64_t>>(key);
  return value != nullptr ? *value : std::vector<int64_t>();
}

std::string Parts::NameOf(std::string_view end) const {
  return fmt::format("{}: tensor {}{}", path_, layer_, end);
}

Result<TensorView> Parts::Take(std::string_view end, std::initializer_list<DataType> types) {
  const std::string name = layer_ + std::string(end);
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return Fail(ErrorCode::kInvalidArgument, "{} is missing, which its weight needs", NameOf(end));
  }
  const TensorView& view = found->second;
  if (std::ranges::find(types, view.type) == types.end()) {
    std::string expected;
    for (const DataType type : types) {
      expected.append(expected.empty() ? "" : " or ").append(TraitsOf(type).name);
    }
    return Fail(ErrorCode::kUnsupported, "{} has type {}, expected {}", NameOf(end),
                TraitsOf(view.type).name, expected);
  }
  taken_.push_back(name);
  return view;
}

Result<TensorView> Parts::Take(std::string_view end, std::initializer_list<DataType> types,
                               std::initializer_list<int64_t> dims) {
  WEFT_ASSIGN_OR_RETURN(const TensorView view, Take(end, types));
  const auto fits = [](int64_t expected, int64_t dim) {
    return expected == kAny || expected == dim;
  };
  const auto* const last = view.dims.begin() + view.rank;
  if (std::equal(dims.begin(), dims.end(), view.dims.begin(), last, fits)) return view;
  std::vector<std::string> expected;
  for (const int64_t dim : dims) expected.push_back(dim == kAny ? "any" : std::to_string(dim));
  return WrongShape(end, view, fmt::format("({})", fmt::join(expected, ", ")));
}

tl::unexpected<Error> Parts::WrongShape(std::string_view end, const TensorView& found,
                                        std::string_view expected) const {
  const auto* const dims = found.dims.begin();
  return Fail(ErrorCode::kInvalidArgument, "{} has shape ({}), expected {}", NameOf(end),
              fmt::join(dims, dims + found.rank, ", "), expected);
}

tl::unexpected<Error> Parts::Corrupt(std::string_view end, std::string_view what) const {
  return Fail(ErrorCode::kCorrupt, "{}: {}", NameOf(end), what);
}

tl::unexpected<Error> Parts::Unsupported(std::string_view what) const {
  return Fail(ErrorCode::kUnsupported, "{}: layer {} is quantised by {}", path_, layer_, what);
}

std::vector<TensorView> Parts::views() const {
  std::vector<TensorView> views;
  for (const std::string& name : taken_) views.push_back(tensors_.find(name)->second);
  return views;
}

void PackNibbles(const uint8_t* codes, std::byte* out) {
  constexpr int64_t kHalf = kBlockColumns / 2;
  for (int64_t k = 0; k < kHalf; ++k) {
    out[k] = static_cast<std::byte>(codes[k] | codes[k + kHalf] << 4);
  }
}

namespace {

// A tensor whose name ends so, of this type, and the weight that it and others are.
struct Scheme {
  std::string_view method;  // quant_method in config.json; MLX names none
  std::string_view marker;
  DataType type;
  std::string_view weight;  // what the weight's name ends with
  Assemble assemble;
};

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kMlx = "mlx";
constexpr Scheme kSchemes[] = {
    {"awq", ".qweight", DataType::kI32, kWeight, AssembleAwq},
    {"bitsandbytes", ".weight.quant_map", DataType::kF32, kWeight, AssembleBitsAndBytes4},
    {"bitsandbytes", ".SCB", DataType::kF32, kWeight, AssembleBitsAndBytes8},
    {"compressed-tensors", ".weight_packed", DataType::kI32, kWeight, AssemblePacked},
    {"compressed-tensors", ".weight_packed", DataType::kU8, kWeight, AssembleNvfp4},
    {"compressed-tensors", ".weight", DataType::kI8, kWeight, AssembleInt8},
    {"compressed-tensors", ".weight", DataType::kF8_E4M3, kWeight, AssembleFp8},
    {"fbgemm_fp8", ".weight", DataType::kF8_E4M3, kWeight, AssembleFp8},
    {"fp8", ".weight", DataType::kF8_E4M3, kWeight, AssembleFp8},
    {"gptq", ".qweight", DataType::kI32, kWeight, AssembleGptq},
    {kMlx, ".weight", DataType::kU32, kWeight, AssembleMlx},
    {"modelopt", ".weight", DataType::kF8_E4M3, kWeight, AssembleFp8},
    {"modelopt", ".weight", DataType::kU8, kWeight, AssembleNvfp4},
    {"mxfp4", "_blocks", DataType::kU8, "_blocks", AssembleMxfp4},
};

// What quantises activations and caches, as the checkpoint's own engine would.
constexpr std::string_view kIgnored[] = {
    ".activation_scale", ".input_global_scale", ".input_scale", ".input_zero_point",
    ".k_scale",          ".output_scale",       ".q_scale",     ".v_scale"};

struct Method {
  std::string name;
  std::string prefix;  // of its keys in config.json
};

// nullopt: the weights are as they are.
Result<std::optional<Method>> MethodOf(const ConfigValues& config, const std::string& path) {
  for (const std::string_view object :
       {"quantization_config", "compression_config", "quantization"}) {
    const auto found = config.find(object);
    if (found == config.end() || std::holds_alternative<std::monostate>(found->second)) continue;
    if (found->second != ConfigValue(OtherValue{std::string(kObjectValue)})) {
      return Fail(ErrorCode::kInvalidArgument, "{}: {} is no object", path, object);
    }
    const std::string prefix = std::string(object) + ".";
    const Config keys(config, prefix);
    // MLX alone has these beside each other, and no name.
    const bool is_mlx = keys.Int("bits", 0) > 0 && keys.Int("group_size", 0) > 0;
    const std::string name = keys.String("quant_method", is_mlx ? kMlx : "");
    if (std::ranges::find(kSchemes, name, &Scheme::method) != std::end(kSchemes)) {
      return Method{name, prefix};
    }
    std::set<std::string_view> known;
    for (const Scheme& scheme : kSchemes) known.insert(scheme.method);
    return Fail(ErrorCode::kUnsupported, "{}: {}.quant_method {} is not supported; known are {}",
                path, object, Quoted(name), fmt::join(known, ", "));
  }
  return std::nullopt;
}

// The row of the table by which a tensor is part of a quantised weight, and its layer's name.
const Scheme* SchemeOf(std::string_view method, std::string_view name, DataType type) {
  const auto* const found = std::ranges::find_if(kSchemes, [&](const Scheme& scheme) {
    return scheme.method == method && scheme.type == type && name.ends_with(scheme.marker);
  });
  return found == std::end(kSchemes) ? nullptr : found;
}

}  // namespace
}  // namespace schemes

Result<AssembledTensors> AssembleQuantized(const ConfigValues& config, TensorMap& tensors,
                                           const std::string& path) {
  using namespace schemes;
  AssembledTensors assembled;
  WEFT_ASSIGN_OR_RETURN(const std::optional<Method> method, MethodOf(config, path));
  if (!method) return assembled;
  const Config keys(config, method->prefix);
  std::vector<std::string> taken;
  for (const auto& entry : tensors) {
    const std::string& name = entry.first;
    if (std::ranges::any_of(kIgnored, [&](auto end) { return name.ends_with(end); })) {
      taken.push_back(name);
    }
    const Scheme* const scheme = SchemeOf(method->name, name, entry.second.type);
    if (scheme == nullptr) continue;
    const std::string layer = name.substr(0, name.size() - scheme->marker.size());
    Parts parts(tensors, layer, path);
    WEFT_ASSIGN_OR_RETURN(AssembledTensor tensor, scheme->assemble(parts, keys));
    taken.insert(taken.end(), parts.taken().begin(), parts.taken().end());
    assembled.emplace(layer + std::string(scheme->weight),
                      std::make_shared<const AssembledTensor>(std::move(tensor)));
  }
  for (const std::string& name : taken) tensors.erase(name);
  return assembled;
}

}  // namespace weft
