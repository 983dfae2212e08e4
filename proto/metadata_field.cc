#include "proto/metadata_field.h"

#include <cstddef>
#include <string>

#include <fmt/core.h>

#include "proto/json_checks.h"

namespace weft {

ApiResult<void> CheckMetadata(const nlohmann::ordered_json& value) {
  constexpr size_t kMaxPairs = 16;
  constexpr size_t kMaxKeyBytes = 64;
  constexpr size_t kMaxValueBytes = 512;
  if (!value.is_object()) return RefuseValue("metadata", "an object", value);
  if (value.size() > kMaxPairs) {
    return tl::unexpected(InvalidField(
        "metadata",
        fmt::format("'metadata' has {} pairs; send at most {}", value.size(), kMaxPairs)));
  }
  for (const auto& [key, text] : value.items()) {
    const std::string path = fmt::format("metadata.{}", key.substr(0, kMaxKeyBytes));
    if (key.size() > kMaxKeyBytes) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}': a key of 'metadata' has {} bytes; at most {} are allowed", path,
                            key.size(), kMaxKeyBytes)));
    }
    if (!text.is_string() || text.get_ref<const std::string&>().size() > kMaxValueBytes) {
      return RefuseValue(path, fmt::format("a string of at most {} bytes", kMaxValueBytes), text);
    }
  }
  return {};
}

}  // namespace weft
