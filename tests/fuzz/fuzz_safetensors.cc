// Any bytes as a safetensors file: most of a byte-wise mutation's chances would die at the header's
// length, so the fuzzer's bytes are also tried as header and data with a length that fits. And as
// the index of a directory.
#include <algorithm>
#include <cstring>

#include "model/formats/safetensors.h"
#include "model/formats/safetensors_json.h"
#include "tests/fuzz/use_tensors.h"

namespace {

void Parse(std::span<const std::byte> bytes) {
  const weft::Result<weft::TensorMap> tensors = weft::ParseSafetensors(bytes, "f");
  if (tensors) {
    weft::UseTensors(*tensors);
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
