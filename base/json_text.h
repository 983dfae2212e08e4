// Text as a JSON string, for rooms that know no JSON otherwise.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Appends `text` as a string of JSON (RFC 8259), its quotation marks included. Any bytes give valid
// JSON of one line: what is not UTF-8 becomes U+FFFD, as DecodeUtf8 cuts it.
void AppendJsonString(std::string_view text, std::string& output);

}  // namespace weft
