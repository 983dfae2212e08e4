// What all blocks of a model are made of, as plain data. D is the hidden size.
#pragma once

#include "model/parameters.h"

namespace weft {

// Root mean square norm (https://arxiv.org/abs/1910.07467) or layer norm
// (https://arxiv.org/abs/1607.06450), either of them without weights, too.
enum class NormKind { kNone, kRms, kLayer };

struct NormSpec {
  NormKind kind = NormKind::kNone;
  TableId weight = TableId::kNone;
  TableId bias = TableId::kNone;  // of a layer norm
  float epsilon = 1e-5F;
  explicit operator bool() const { return kind != NormKind::kNone; }
};

// weights * x + bias. Shapes are (outputs, inputs).
struct LinearSpec {
  MatrixId weights = MatrixId::kNone;
  TableId bias = TableId::kNone;
  explicit operator bool() const { return weights != MatrixId::kNone; }
};

}  // namespace weft
