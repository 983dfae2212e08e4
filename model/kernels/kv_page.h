// Where keys and values lie in a page of the bf16 KV cache: in the order in which a dot product
// eats them, 16 neighbouring lanes at a time.
//   keys    [head_dim / 2][block_size][2] bf16: lanes are slots, pairs run along head_dim
//   values  [block_size / 2][ValueColumns][2] bf16: lanes are elements of the head, pairs run along
//   slots
#pragma once

#include <cstdint>

namespace weft {

// `static`: every translation unit has its own, so that none leaks from one instruction set to
// another. Elements of a value's row: head_dim rounded up to whole registers.
static constexpr int64_t ValueColumns(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }
// Bytes of a page's keys, which come first.
static constexpr int64_t KeyBytes(int64_t block_size, int64_t head_dim) {
  return block_size * head_dim * 2;
}
static constexpr int64_t KvPageBytesBF16(int64_t block_size, int64_t head_dim) {
  return KeyBytes(block_size, head_dim) + block_size * ValueColumns(head_dim) * 2;
}

// What attention knows after some spans, one query row: the largest score, the sum of probabilities
// relative to it, and from kPartialOutput on ValueColumns elements of output, not divided by the
// sum.
static constexpr int64_t kPartialMaximum = 0;
static constexpr int64_t kPartialSum = 1;
static constexpr int64_t kPartialOutput = 16;
static constexpr int64_t AttentionPartialFloats(int64_t head_dim) {
  return kPartialOutput + ValueColumns(head_dim);
}

}  // namespace weft
