// The state of one beam search: which texts are complete, and which beams go on. As vLLM's: a
// beam's end tokens complete texts, its other tokens make new beams, and as many beams as the width
// go on. What a text is worth: the sum of its tokens' log probabilities, divided by the number of
// its tokens (the end token included) to the power of length_penalty. Plain data and arithmetic;
// used by the engine thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/request.h"

namespace weft {

struct BeamText {
  std::vector<TokenId> tokens;  // without the end token
  std::optional<TokenId> end_token = std::nullopt;
  bool is_cut = false;  // it reached max_tokens
  double logprob_sum = 0;
  double score = 0;  // BeamSearch sets it
};

// What a beam may go on with: its likeliest tokens, in falling order.
struct BeamCandidates {
  int32_t beam = 0;
  bool is_over = false;    // with nothing: the text is complete as it stands
  double logprob_sum = 0;  // of the beam
  std::vector<std::pair<TokenId, float>> tokens;
};

// A beam of the next step.
struct BeamStep {
  int32_t parent = 0;
  TokenId token = 0;
  double logprob_sum = 0;
};

// The sum of a beam that there is only for the number's sake: nothing comes of it.
inline constexpr double kNoFuture = -std::numeric_limits<double>::infinity();

// The step of each of `count` beams: the first that goes on from a beam stays in its place, the
// others take those of beams that end here. What is missing has no future.
std::vector<BeamStep> PlaceSteps(std::vector<BeamStep> steps, size_t count);

class BeamSearch {
 public:
  // Of SamplingParams; `end_tokens` are those that end a text, stop_token_ids included.
  BeamSearch(const SamplingParams& params, int32_t returned_count, std::vector<TokenId> end_tokens);

  // How many of each beam's likeliest tokens Advance needs, so that there are enough that do not
  // end a text.
  int32_t candidate_count() const { return 2 * width_ + static_cast<int32_t>(end_tokens_.size()); }
  // `output_of(beam)` are the tokens generated so far, `output_count` of them for every beam. The
  // likeliest continuations, at most the width, equal ones: lower beam, then lower id first. None:
  // the search is over. Fewer than the width only where a constraint leaves no more.
  template <typename OutputOf>
  std::vector<BeamStep> Advance(std::span<const BeamCandidates> candidates, int32_t output_count,
                                const OutputOf& output_of) {
    std::vector<BeamStep> ends;
    std::vector<BeamStep> steps = Split(candidates, output_count, ends);
    for (const BeamCandidates& beam : candidates) {
      if (beam.is_over && beam.logprob_sum != kNoFuture)
        Complete({.tokens = output_of(beam.beam), .logprob_sum = beam.logprob_sum}, output_count);
    }
    for (const BeamStep& end : ends) {
      Complete(
          {.tokens = output_of(end.parent), .end_token = end.token, .logprob_sum = end.logprob_sum},
          output_count + 1);
    }
    if (output_count + 1 == max_tokens_) {
      for (const BeamStep& step : steps) {
        std::vector<TokenId> tokens = output_of(step.parent);
        tokens.push_back(step.token);
        Complete({.tokens = std::move(tokens), .is_cut = true, .logprob_sum = step.logprob_sum},
                 output_count + 1);
      }
      return {};
    }
    if (IsOver(steps, output_count + 1)) return {};
    return steps;
  }
  // Best first; equal ones: what was completed first.
  const std::vector<BeamText>& texts() const { return texts_; }

 private:
  std::vector<BeamStep> Split(std::span<const BeamCandidates> candidates, int32_t output_count,
                              std::vector<BeamStep>& ends) const;
  // Scores it.
  void Complete(BeamText text, int32_t length);
  // Whether no beam can still get among the texts that are returned.
  bool IsOver(const std::vector<BeamStep>& steps, int32_t output_count) const;
  double Score(double logprob_sum, int32_t length) const;
  bool Ends(TokenId token) const;

  int32_t width_;
  int32_t returned_count_;
  int32_t max_tokens_;
  int32_t min_tokens_;
  double length_penalty_;
  bool early_stopping_;
  std::vector<TokenId> end_tokens_;
  std::vector<BeamText> texts_;  // at most width_
};

}  // namespace weft
