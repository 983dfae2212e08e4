// The definition of linear attention and of its convolution; see scalar_recurrence.cc.
#pragma once

#include "model/kernels/kernels.h"

namespace weft::scalar {

void Recurrence(const RecurrenceTask& task);
void Convolution(const ConvolutionTask& task);

}  // namespace weft::scalar
