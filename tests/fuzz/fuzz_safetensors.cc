// Any bytes as a safetensors file: most of a byte-wise mutation's chances would die at the header's
// length, so the fuzzer's bytes are also tried as header and data with a length that fits. And as
// the index of a directory. What can be read is then taken for quantised weights of every scheme.
#include <algorithm>
#include <cstring>

#include "model/formats/safetensors.h"
#include "model/formats/safetensors_json.h"
#include "model/formats/schemes/scheme.h"
#include "tests/fuzz/use_tensors.h"

namespace {

// config.json of a checkpoint quantised by `method`.
weft::ConfigValues ConfigOf(const std::string& method) {
  const auto object = weft::OtherValue{std::string(weft::kObjectValue)};
  weft::ConfigValues values;
  const std::string name = method == "mlx" ? "quantization" : "quantization_config";
  values[name] = object;
  if (method != "mlx") values[name + ".quant_method"] = method;
  values[name + ".bits"] = int64_t{4};
  values[name + ".group_size"] = int64_t{32};
  values[name + ".weight_block_size"] = std::vector<int64_t>{2, 2};
  return values;
}

void UseAsQuantized(const weft::TensorMap& tensors) {
  static const std::vector<weft::ConfigValues> kConfigs = {
      ConfigOf("awq"),   ConfigOf("bitsandbytes"), ConfigOf("compressed-tensors"),
      ConfigOf("fp8"),   ConfigOf("gptq"),         ConfigOf("mlx"),
      ConfigOf("mxfp4"), ConfigOf("modelopt")};
  for (const weft::ConfigValues& config : kConfigs) {
    weft::TensorMap left = tensors;
    const auto assembled = weft::AssembleQuantized(config, left, "f");
    if (!assembled) {
      weft::CheckMessage(assembled.error().message);
      continue;
    }
    for (const auto& [name, tensor] : *assembled) {
      const int64_t columns = tensor->view.columns();
      const int64_t rows = tensor->view.element_count() / columns;
      if (columns > (1 << 20)) continue;
      std::vector<std::byte> row(static_cast<size_t>(weft::RowBytes(tensor->view.type, columns)));
      for (const int64_t i : {int64_t{0}, rows / 2, rows - 1}) tensor->read_row(i, row.data());
    }
  }
}

void Parse(std::span<const std::byte> bytes) {
  const weft::Result<weft::TensorMap> tensors = weft::ParseSafetensors(bytes, "f");
  if (tensors) {
    weft::UseTensors(*tensors);
    UseAsQuantized(*tensors);
  } else {
    weft::CheckMessage(tensors.error().message);
  }
}

// The text up to its last brace is the header, the rest data.
std::vector<std::byte> WithFittingLength(std::span<const std::byte> text) {
  const auto last_brace = std::find(text.rbegin(), text.rend(), std::byte{'}'});
  const auto header_bytes = static_cast<uint64_t>(text.rend() - last_brace);
  std::vector<std::byte> file(sizeof header_bytes);
  std::memcpy(file.data(), &header_bytes, sizeof header_bytes);
  file.insert(file.end(), text.begin(), text.end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const auto bytes = std::as_bytes(std::span(data, size_bytes));
  Parse(bytes);
  Parse(WithFittingLength(bytes));
  const std::string_view text(reinterpret_cast<const char*>(data), size_bytes);
  const auto index = weft::ParseSafetensorsIndex(text, "f");
  if (!index) weft::CheckMessage(index.error().message);
  return 0;
}
