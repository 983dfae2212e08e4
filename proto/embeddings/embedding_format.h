// What the numbers of an embedding are on the wire.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// kInt8: the largest number of a vector, without its sign, becomes 127; kUint8: the same plus 128.
// kUbinary: eight numbers a byte, the first its highest bit, 1 what is above 0; kBinary: the same
// less 128 (sentence-transformers' and Cohere's).
enum class EmbeddingFormat { kFloat, kBase64, kInt8, kUint8, kBinary, kUbinary };

// Of the formats with whole numbers, what stands for these; the last byte of bits is filled up with
// zeros.
std::vector<int32_t> WholeNumbers(std::span<const float> numbers, EmbeddingFormat format);

}  // namespace weft
