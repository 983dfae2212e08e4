// Any bytes as a GGUF file.
#include "tests/fuzz/use_tensors.h"

namespace {

void UseMetadata(const weft::GgufMetadata& metadata) {
  const auto check = [](const auto& result) {
    if (!result) weft::CheckMessage(result.error().message);
  };
  for (const auto& [key, value] : metadata.values()) {
    check(metadata.GetInt(key));
    check(metadata.GetDouble(key));
    check(metadata.GetBool(key));
    check(metadata.GetString(key));
    check(metadata.GetInts(key));
    check(metadata.GetDoubles(key));
    const auto strings = metadata.GetStrings(key);
    if (!strings) continue;
    for (const std::string_view text : **strings) {
      if (std::string(text).size() != text.size()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const auto bytes = std::as_bytes(std::span(data, size_bytes));
  const weft::Result<weft::GgufContents> file = weft::ParseGguf(bytes, "f");
  if (file) {
    UseMetadata(file->metadata);
    weft::UseTensors(file->tensors);
  } else {
    weft::CheckMessage(file.error().message);
  }
  return 0;
}
