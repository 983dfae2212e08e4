// Text from a file or a socket, made fit for an error message of one line.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// 'text', at most 80 bytes of it ("..." says that more followed); bytes outside printable ASCII,
// quotes and backslashes as \xNN.
std::string Quoted(std::string_view text);

}  // namespace weft
