// Matrices whose columns are quantised in an order of their own.
#pragma once

#include "model/parameters.h"
#include "model/spec.h"

namespace weft {

// Has matrices that have it (AssembledTensor::ordered) keep their columns in that order, and with
// it their few bits, where blocks can give them what they read in it: a layer's attention and its
// dense MLP. Those of one norm are read in one order (PackedMatrix::column_order), or none of them
// is; an MLP's `down` costs nothing, since the rows of `gate` and `up` are put in its order. Other
// matrices stay what they are. Once, before anything is decided of `tensors`.
void KeepColumnOrders(const ModelSpec& spec, ModelTensors& tensors);

}  // namespace weft
