// Base64 (RFC 4648, section 4), padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

void AppendBase64(std::string_view bytes, std::string* text);

// The bytes that `text` stands for; nullopt: it is not base64.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace weft
