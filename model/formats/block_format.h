// What a file's data types are made of. A format is one file in model/formats/blocks/ and one row
// of WEFT_DATA_TYPES (model/tensor.h); all that loads, dequantises or packs weights asks here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/kernels/panel_format.h"
#include "model/kernels/weight_group.h"
#include "model/tensor.h"

namespace weft {

inline constexpr int64_t kMostBlockGroups = 8;

struct BlockFormat {
  DataTypeTraits traits;
  // ggml's number, which GGUF files write; nothing where they have no such tensors.
  std::optional<uint32_t> ggml_type = std::nullopt;
  // What the type is packed into for the bf16 and int8 arithmetics.
  PanelFormat panel = PanelFormat::kBF16;
  // Of a quantised type: the groups (of 32 elements) of `count` blocks, at any address. What the
  // fields of a group mean, and so what its weights are, is the panel format's to say.
  void (*read_blocks)(const std::byte* blocks, int64_t count, WeightGroup* out) = nullptr;
  // Of a plain type: `count` elements, likewise.
  void (*read_elements)(const std::byte* elements, int64_t count, float* out) = nullptr;
};

const BlockFormat& FormatOf(DataType type);

// Whether the int8 arithmetic multiplies weights of the type as integers.
bool HasIntegerCodes(DataType type);

}  // namespace weft
