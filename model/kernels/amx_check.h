// A look at whether this processor's tiles multiply as the arithmetic is defined, before they
// serve.
#pragma once

#include "model/kernels/kernels.h"

namespace weft {

// Whether two tables of one arithmetic give the same bits for a fixed set of random products: all
// layouts, few rows and many, in order and gathered. Takes some milliseconds.
bool SameProducts(const KernelTable& a, const KernelTable& b);

}  // namespace weft
