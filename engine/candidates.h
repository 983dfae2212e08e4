// The tokens that may come next, and the filters that thin them out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/tensor.h"

namespace weft {

// One row at a time; used by one thread. A token's weight is exp((logit - the largest) /
// temperature), its probability the weight's share of all that are left. Tokens are ranked by
// falling logit, equal ones by rising id. A draw walks them by id, or by rank after a KeepTopK
// that removed something. No libm.
class Candidates {
 public:
  explicit Candidates(int64_t vocab_size);
  // What it allocates.
  static int64_t ScratchBytes(int64_t vocab_size);

  // A new row: every token whose logit is not -infinity; at least one is not, and none is NaN or
  // +infinity. The logits stay valid until the next Begin.
  void Begin(std::span<const float> logits);
  // Other logits for the same row, of the tokens that are left; the temperature so far is in them.
  void ReplaceLogits(std::span<const float> logits);
  // 1 / the temperature so far.
  float inverse_temperature() const { return inverse_temperature_; }

  void Temper(double temperature);  // > 0
  // llama.cpp's dynamic temperature: from `low` for a certain distribution to `high` for the
  // uniform one, by the entropy's share of the largest possible to the power of `exponent`. Below
  // 1e-5: KeepTopK(1).
  void TemperByEntropy(double low, double high, double exponent);
  // Those within n standard deviations of the largest logit. Tang et al., "Top-nsigma" (2024).
  void KeepTopNSigma(double n);
  void KeepTopK(int64_t k);  // >= 1
  // The shortest beginning of the ranks that weighs p of all, at least one. Holtzman et al. (2020).
  void KeepTopP(double p);
  // The same over the tokens ranked by how near their surprise is to the expected one: locally
  // typical sampling, Meister et al. (2023). Of equally near ones the higher rank comes first.
  void KeepTypical(double p);
  // Those of at least p times the largest weight. Nguyen et al., "Min P" (2024).
  void KeepMinP(double p);
  // XTC: of the tokens whose probability is at least `threshold` all but the last in rank go.
  // p-e-w, text-generation-webui pull request 6335.
  void ExcludeTop(double threshold);
  // Mirostat 2's cut: those of a surprise of at most `bits`, at least one. Basu et al. (2021).
  void KeepSurpriseUpTo(double bits);

  struct Draw {
    TokenId token = 0;
    double probability = 0;  // among those left
  };
  // The token at `uniform`, in [0, 1), of the total weight.
  Draw DrawAt(double uniform);

 private:
  struct Candidate {
    TokenId token = 0;
    float logit = 0;
    float weight = 0;
  };
  static bool RanksBefore(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  }

  float ScaledLogit(float logit) const { return (logit - max_logit_) * inverse_temperature_; }
  // Weights and total of what is left, unless they are known.
  void Weigh();
  void WeighAll();
  // From "all" to a list of those that `keeps(id, scaled logit)`, in the order of ids.
  template <typename Keeps>
  void Gather(const Keeps& keeps);
  void GatherTopK(size_t k);
  // Keeps the first that weigh `limit` together, at least one, by rising key(scaled logit); of
  // equal keys the higher rank comes first. Keys are from 0 to 87 where the weight is not 0.
  template <typename Key>
  void KeepSmallest(const Key& key, double limit);
  template <typename Key, typename ComesBefore>
  void GatherSmallest(const Key& key, const ComesBefore& comes_before, double limit);
  // Removes those in the list that `keeps(candidate)` does not want.
  template <typename Keeps>
  void Filter(const Keeps& keeps);
  // Cuts the list behind the first that weigh `limit` together.
  void CutBehind(double limit);
  void RestoreOrder();
  // The list has changed: its largest logit and weights are to be found again.
  void Changed();
  int64_t CountLeft() const;
  // The mean of the scaled logits, weighted.
  double ExpectedScaledLogit();
  Draw DrawFromAll(double uniform) const;

  std::span<const float> logits_;
  bool all_ = true;      // nothing has been cut: the list is not in use
  bool ranked_ = false;  // the list is in the order of ranks, otherwise in that of ids
  bool weighed_ = false;
  float max_logit_ = 0;
  float inverse_temperature_ = 1;
  double total_ = 0;                // of the weights
  std::vector<float> weights_;      // a token, while all_
  std::vector<double> block_sums_;  // of kWeightBlock consecutive weights, while all_
  std::vector<Candidate> list_;     // room for the vocabulary
};

}  // namespace weft
