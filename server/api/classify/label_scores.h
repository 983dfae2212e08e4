// What a classifier's logits say of its labels.
#pragma once

#include <span>
#include <vector>

#include "model/spec.h"

namespace weft {

// kSoftmax: probabilities that sum to 1; kLogistic: each label by itself; kNone: the logits.
std::vector<double> LabelScores(LabelActivation activation, std::span<const float> logits);

}  // namespace weft
