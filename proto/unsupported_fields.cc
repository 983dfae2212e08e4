#include "proto/unsupported_fields.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "proto/field_reader.h"

namespace weft {

using nlohmann::json;

ApiResult<void> RefuseUnsupported(const json& body, std::span<const UnsupportedField> fields) {
  for (const UnsupportedField& field : fields) {
    const json* value = FindField(body, field.name);
    if (value == nullptr || *value == json::parse(field.neutral)) continue;
    ApiError error =
        InvalidField(std::string(field.name),
                     fmt::format("'{}' is not supported by this server; leave it out", field.name));
    error.code = "unsupported_parameter";
    return tl::unexpected(std::move(error));
  }
  return {};
}

}  // namespace weft
