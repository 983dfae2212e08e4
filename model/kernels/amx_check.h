// A look at whether this processor's tiles, and its products of pairs of bf16, are what the
// arithmetic is defined to be, before they serve.
#pragma once

#include "model/kernels/kernels.h"

namespace weft {

// Whether two tables of one arithmetic give the same bits for a fixed set of random products: all
// layouts, few rows and many, in order and gathered. Takes some milliseconds. Operands are up to
// `magnitude`, weights from 2^-16 to 1 (but for codes).
bool SameProducts(const KernelTable& a, const KernelTable& b, float magnitude = 1);

// The same for attention over random keys and values of two tables with one type of cache: more
// than a span of them, with and without a window, rows that do not fill their tiles.
bool SameAttention(const KernelTable& a, const KernelTable& b);

}  // namespace weft
