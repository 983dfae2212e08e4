// Numbers and texts laid out as Python's format specifications say.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tokenizer/jinja/runtime.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

struct FormatSpec {
  std::string fill = " ";  // one character
  char align = 0;          // < > ^ =, or 0: by kind
  char sign = '-';         // - + or space
  bool alternate = false;  // #
  char grouping = 0;       // , or _
  int64_t width = 0;       // characters
  int64_t precision = -1;  // -1: none
  char type = 0;
};

// Longer fields and precisions are refused.
inline constexpr int64_t kMaxFieldWidth = 1'000'000;
inline constexpr int64_t kMaxPrecision = 1000;

// Fields that say `type` e, f, g, E, F, G or %; negative numbers begin with -.
std::string FormatDouble(double value, char type, int64_t precision, bool alternate);
// Fields that say d, b, o, x, X.
std::string FormatInteger(int64_t value, char type, bool alternate);

// Sign, zeros and padding around `text`, the digits with their sign.
std::string LayOutNumber(std::string text, const FormatSpec& spec);
std::string LayOutText(std::string_view text, const FormatSpec& spec, char default_align);

}  // namespace weft::jinja
