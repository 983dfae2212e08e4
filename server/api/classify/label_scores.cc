#include "server/api/classify/label_scores.h"

#include <algorithm>

#include "base/exact_math.h"
#include "model/ranking.h"

namespace weft {

std::vector<double> LabelScores(LabelActivation activation, std::span<const float> logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  switch (activation) {
    case LabelActivation::kNone:
      return scores;
    case LabelActivation::kLogistic:
      for (double& score : scores) score = Logistic(score);
      return scores;
    case LabelActivation::kSoftmax:
      break;
  }
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) {
    score = exact::Exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum;
  return scores;
}

}  // namespace weft
