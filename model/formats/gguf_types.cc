#include "model/formats/gguf_types.h"

#include <algorithm>
#include <string_view>

#include "model/formats/block_format.h"

namespace weft {
namespace {

struct OtherType {
  uint32_t number;
  std::string_view name;
};

// Those that Weft does not compute with; some were removed from ggml, but old files have them.
constexpr OtherType kOtherTypes[] = {
    {4, "Q4_2"},        {5, "Q4_3"},        {9, "Q8_1"},        {15, "Q8_K"},
    {24, "I8"},         {25, "I16"},        {26, "I32"},        {27, "I64"},
    {28, "F64"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},
    {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {41, "Q1_0"},
};

std::string SupportedNames() {
  std::string names;
  for (int i = 0; i < kWeightTypeCount; ++i) {
    const BlockFormat& format = FormatOf(static_cast<DataType>(i));
    if (!format.ggml_type) continue;
    if (!names.empty()) names += ", ";
    names += format.traits.name;
  }
  return names;
}

}  // namespace

Result<DataType> DataTypeOfGgml(uint32_t number) {
  for (int i = 0; i < kWeightTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    if (FormatOf(type).ggml_type == number) return type;
  }
  const auto* const other = std::ranges::find(kOtherTypes, number, &OtherType::number);
  if (other != std::end(kOtherTypes)) {
    return Fail(ErrorCode::kUnsupported, "type {} is not supported, expected one of {}",
                other->name, SupportedNames());
  }
  return Fail(ErrorCode::kUnsupported, "type number {} is not known, expected one of {}", number,
              SupportedNames());
}

}  // namespace weft
