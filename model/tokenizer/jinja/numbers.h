// Texts as Python's int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace weft::jinja {

// Nothing if Python would raise ValueError; an error if the number does not fit 64 bits.
Result<std::optional<int64_t>> ParsePythonInt(std::string_view text, int64_t base);
std::optional<double> ParsePythonFloat(std::string_view text);

}  // namespace weft::jinja
