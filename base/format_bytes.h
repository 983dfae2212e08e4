// Amounts of memory for people.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// "640 B", "7.2 MiB", "1.50 GiB"
std::string FormatBytes(uint64_t bytes);

}  // namespace weft
