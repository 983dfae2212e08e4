#include "proto/embeddings/embedding_format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace weft {
namespace {

std::vector<int32_t> PackedBits(std::span<const float> numbers, int32_t offset) {
  std::vector<int32_t> bytes((numbers.size() + 7) / 8);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > 0) bytes[i / 8] |= 0x80 >> (i % 8);
  }
  for (int32_t& byte : bytes) byte += offset;
  return bytes;
}

std::vector<int32_t> ScaledNumbers(std::span<const float> numbers, int32_t offset) {
  constexpr double kLargest = 127;
  double largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(double{number}));
  std::vector<int32_t> scaled;
  scaled.reserve(numbers.size());
  for (const float number : numbers) {
    const double value = largest == 0 ? 0 : std::round(double{number} * kLargest / largest);
    scaled.push_back(static_cast<int32_t>(value) + offset);
  }
  return scaled;
}

}  // namespace

std::vector<int32_t> WholeNumbers(std::span<const float> numbers, EmbeddingFormat format) {
  switch (format) {
    case EmbeddingFormat::kInt8:
      return ScaledNumbers(numbers, 0);
    case EmbeddingFormat::kUint8:
      return ScaledNumbers(numbers, 128);
    case EmbeddingFormat::kBinary:
      return PackedBits(numbers, -128);
    case EmbeddingFormat::kUbinary:
      return PackedBits(numbers, 0);
    case EmbeddingFormat::kFloat:
    case EmbeddingFormat::kBase64:
      break;
  }
  return {};
}

}  // namespace weft
