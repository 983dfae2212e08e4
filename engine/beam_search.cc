#include "engine/beam_search.h"

#include <algorithm>
#include <tuple>

#include "base/exact_math.h"

namespace weft {

BeamSearch::BeamSearch(const SamplingParams& params, int32_t returned_count,
                       std::vector<TokenId> end_tokens)
    : width_(params.beam_width),
      returned_count_(returned_count),
      max_tokens_(params.max_tokens),
      min_tokens_(params.min_tokens),
      length_penalty_(params.length_penalty),
      early_stopping_(params.early_stopping),
      end_tokens_(std::move(end_tokens)) {}

bool BeamSearch::Ends(TokenId token) const {
  return std::ranges::find(end_tokens_, token) != end_tokens_.end();
}

double BeamSearch::Score(double logprob_sum, int32_t length) const {
  // length^-penalty, so that negative penalties need no special case.
  const double scale = exact::Exp(-length_penalty_ * exact::Log(static_cast<double>(length)));
  return logprob_sum * scale;
}

std::vector<BeamStep> BeamSearch::Split(std::span<const BeamCandidates> candidates,
                                        int32_t output_count, std::vector<BeamStep>& ends) const {
  std::vector<BeamStep> steps;
  for (const BeamCandidates& beam : candidates) {
    if (beam.logprob_sum == kNoFuture) continue;
    for (size_t i = 0; i < beam.tokens.size(); ++i) {
      const auto& [token, logprob] = beam.tokens[i];
      const BeamStep step{
          .parent = beam.beam, .token = token, .logprob_sum = beam.logprob_sum + double{logprob}};
      if (!Ends(token)) {
        steps.push_back(step);
      } else if (output_count >= min_tokens_ && i < static_cast<size_t>(2 * width_)) {
        ends.push_back(step);
      }
    }
  }
  std::ranges::sort(steps, [](const BeamStep& a, const BeamStep& b) {
    return std::tuple(-a.logprob_sum, a.parent, a.token) <
           std::tuple(-b.logprob_sum, b.parent, b.token);
  });
  steps.resize(std::min(steps.size(), static_cast<size_t>(width_)));
  return steps;
}

void BeamSearch::Complete(BeamText text, int32_t length) {
  text.score = Score(text.logprob_sum, std::max(length, 1));
  const auto place =
      std::ranges::find_if(texts_, [&](const BeamText& other) { return other.score < text.score; });
  texts_.insert(place, std::move(text));
  if (texts_.size() > static_cast<size_t>(width_)) texts_.pop_back();
}

bool BeamSearch::IsOver(const std::vector<BeamStep>& steps, int32_t output_count) const {
  if (steps.empty()) return true;
  if (texts_.size() < static_cast<size_t>(width_)) return false;
  if (early_stopping_) return true;
  // Sums only fall. Of all lengths to come the longest is the kindest to a sum, or with a penalty
  // below 0 the shortest.
  const int32_t length = length_penalty_ >= 0 ? max_tokens_ : output_count + 1;
  const double best = Score(steps.front().logprob_sum, length);
  return best <= texts_[static_cast<size_t>(returned_count_) - 1].score;
}

std::vector<BeamStep> PlaceSteps(std::vector<BeamStep> steps, size_t count) {
  steps.resize(
      count,
      {.parent = steps.front().parent, .token = steps.front().token, .logprob_sum = kNoFuture});
  std::vector<std::optional<BeamStep>> places(count);
  std::vector<BeamStep> others;
  for (const BeamStep& step : steps) {
    std::optional<BeamStep>& place = places[static_cast<size_t>(step.parent)];
    if (place) {
      others.push_back(step);
    } else {
      place = step;
    }
  }
  std::vector<BeamStep> placed;
  for (const std::optional<BeamStep>& place : places) {
    placed.push_back(place ? *place : others.back());
    if (!place) others.pop_back();
  }
  return placed;
}

}  // namespace weft
