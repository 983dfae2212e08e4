// A look at whether this processor's tiles multiply as the arithmetic is defined, before they
// serve.
#pragma once

#include "model/kernels/kernels.h"

namespace weft {

// Whether two tables of one arithmetic give the same bits for a fixed set of random products: all
// layouts, few rows and many, in order and gathered. Takes some milliseconds.
bool SameProducts(const KernelTable& a, const KernelTable& b);

// The same for attention over random keys and values of two tables with one type of cache: more
// than a span of them, with and without a window, rows that do not fill their tiles.
bool SameAttention(const KernelTable& a, const KernelTable& b);

}  // namespace weft
