// How the positions of a step pass the states of fixed size that a sequence keeps, and what blocks
// with such states share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/exact_math.h"
#include "model/forward_batch.h"

namespace weft {

// Consecutive rows of one sequence behind which a block keeps the state.
struct StatePiece {
  int64_t first_row = 0;  // of the batch
  int64_t row_count = 0;
  int32_t from = kNoBlock;  // what holds the state before them; kNoBlock: it is all zeros
  int32_t to = kNoBlock;    // what is to hold it behind them; may be the same
};

// Calls visit(piece) for all of a sequence's rows, in order. `table` has the blocks of states: a
// block is kept as it is behind the last of its positions that are computed, and has no place where
// nobody will look for it.
template <typename Visit>
void ForEachStatePiece(const SequenceSpan& sequence, std::span<const int32_t> table,
                       int64_t block_size, const Visit& visit) {
  const auto block_at = [&](int64_t index) { return table[static_cast<size_t>(index)]; };
  const int64_t first = sequence.first_position;
  const int64_t end = first + sequence.row_count;
  int32_t from = first == 0 ? kNoBlock : block_at((first - 1) / block_size);
  WEFT_CHECK(first == 0 || from != kNoBlock);
  for (int64_t position = first, next = 0; position < end; position = next) {
    int64_t index = position / block_size;
    const int64_t last = (end - 1) / block_size;
    while (index < last && block_at(index) == kNoBlock) ++index;
    next = std::min(end, (index + 1) * block_size);
    const int32_t to = block_at(index);
    WEFT_CHECK(to != kNoBlock);
    visit(StatePiece{.first_row = sequence.first_row + position - first,
                     .row_count = next - position,
                     .from = from,
                     .to = to});
    from = to;
  }
}

// A head's state is kept in pieces of so many columns, its rows one after the other: what a task
// has stays in L1 while positions pass, where rows a power of two apart would drive each other out.
inline constexpr int64_t kStateColumnsPerTask = 32;

// Puts the state before a piece, or some columns of its rows, where it is to be behind it.
inline void CarryState(const StatePiece& piece, const float* from, float* to, int64_t row_count,
                       int64_t stride, int64_t column_count) {
  if (piece.from == piece.to) return;
  for (int64_t row = 0; row < row_count; ++row, to += stride) {
    if (piece.from == kNoBlock) {
      std::fill_n(to, column_count, 0.0F);
    } else {
      std::copy_n(from + row * stride, column_count, to);
    }
  }
}

// log(1 + e^x), where e^x is far below 1 by its series: how fast states forget.
inline double Softplus(double x) {
  constexpr double kLargest = 20;
  constexpr double kSmall = 1e-5;
  if (x > kLargest) return x;
  const double power = exact::Exp(x);
  return power < kSmall ? power - power * power / 2 : exact::Log(1 + power);
}

}  // namespace weft
