#include "engine/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/exact_math.h"
#include "engine/row_math.h"
#include "engine/sampling_math.h"

namespace weft {
namespace {

constexpr size_t kWeightBlock = 256;
constexpr float kNone = -std::numeric_limits<float>::infinity();
// ExpNonPositive is 0 below.
constexpr float kLeastScaledLogit = -87;
constexpr double kGreedyTemperature = 1e-5;
constexpr double kLn2 = 0.69314718055994530942;

}  // namespace

Candidates::Candidates(int64_t vocab_size)
    : weights_(static_cast<size_t>(vocab_size)),
      block_sums_((static_cast<size_t>(vocab_size) + kWeightBlock - 1) / kWeightBlock) {
  list_.reserve(static_cast<size_t>(vocab_size));
}

int64_t Candidates::ScratchBytes(int64_t vocab_size) {
  constexpr int64_t kPerToken = sizeof(float) + sizeof(Candidate);
  constexpr int64_t kPerBlock = sizeof(double);
  return vocab_size * kPerToken + CeilDivide(vocab_size, int64_t{kWeightBlock}) * kPerBlock;
}

void Candidates::Begin(std::span<const float> logits) {
  WEFT_CHECK(logits.size() == weights_.size());
  logits_ = logits;
  all_ = true;
  ranked_ = false;
  weighed_ = false;
  inverse_temperature_ = 1;
  max_logit_ = Largest(logits);
  WEFT_CHECK(max_logit_ > kNone);
}

void Candidates::ReplaceLogits(std::span<const float> logits) {
  if (all_) {
    Begin(logits);
    return;
  }
  logits_ = logits;
  inverse_temperature_ = 1;
  for (Candidate& candidate : list_) candidate.logit = logits[static_cast<size_t>(candidate.token)];
  RestoreOrder();
  weighed_ = false;
  Changed();
}

void Candidates::Temper(double temperature) {
  inverse_temperature_ =
      static_cast<float>(static_cast<double>(inverse_temperature_) / temperature);
  weighed_ = false;
}

void Candidates::TemperByEntropy(double low, double high, double exponent) {
  const int64_t count = CountLeft();
  if (count < 2) return;
  Weigh();
  // The surprise of a token is log(total) - its scaled logit.
  const double entropy = exact::Log(total_) - ExpectedScaledLogit();
  const double share = std::clamp(entropy / exact::Log(static_cast<double>(count)), 0.0, 1.0);
  const double temperature = low + (high - low) * exact::Pow(share, exponent);
  if (temperature < kGreedyTemperature) {
    KeepTopK(1);
  } else {
    Temper(temperature);
  }
}

void Candidates::KeepTopNSigma(double n) {
  // Compared as squares: no root. A temperature scales both sides alike.
  const auto near = [&](double variance, float logit) {
    const double distance = double{max_logit_} - double{logit};
    return distance * distance <= n * n * variance;
  };
  const auto count = static_cast<double>(CountLeft());
  if (all_) {
    const auto present = [&](size_t i) { return logits_[i] > kNone; };
    const double sum =
        SumInLanes(logits_.size(), [&](size_t i) { return present(i) ? double{logits_[i]} : 0.0; });
    const double squares = SumInLanes(logits_.size(), [&](size_t i) {
      const double difference = present(i) ? double{logits_[i]} - sum / count : 0.0;
      return difference * difference;
    });
    Gather([&](size_t i, float) { return near(squares / count, logits_[i]); });
    return;
  }
  const double sum = SumInLanes(list_.size(), [&](size_t i) { return double{list_[i].logit}; });
  const double squares = SumInLanes(list_.size(), [&](size_t i) {
    const double difference = double{list_[i].logit} - sum / count;
    return difference * difference;
  });
  Filter([&](const Candidate& candidate) { return near(squares / count, candidate.logit); });
}

void Candidates::KeepTopK(int64_t k) {
  const auto kept = static_cast<size_t>(k);
  if (all_) {
    if (kept < logits_.size()) GatherTopK(kept);
  } else if (kept < list_.size()) {
    ranked_ = true;
    RestoreOrder();
    list_.resize(kept);
  }
}

void Candidates::KeepTopP(double p) {
  Weigh();
  KeepSmallest([](float scaled) { return -scaled; }, p * total_);
}

void Candidates::KeepTypical(double p) {
  Weigh();
  // A token's surprise and the entropy differ as its scaled logit and the expected one do.
  const auto expected = static_cast<float>(ExpectedScaledLogit());
  KeepSmallest([=](float scaled) { return std::fabs(scaled - expected); }, p * total_);
  Changed();
}

void Candidates::KeepMinP(double p) {
  if (p <= 0) return;
  const auto least = static_cast<float>(exact::Log(p));
  if (all_) {
    Gather([&](size_t, float scaled) { return scaled >= least; });
  } else {
    Filter([&](const Candidate& candidate) { return ScaledLogit(candidate.logit) >= least; });
  }
}

void Candidates::ExcludeTop(double threshold) {
  Weigh();
  const double least = threshold * total_;
  int64_t count_above = 0;
  Candidate last_above;
  const auto see = [&](const Candidate& candidate) {
    if (double{candidate.weight} < least) return;
    if (count_above++ == 0 || RanksBefore(last_above, candidate)) last_above = candidate;
  };
  if (all_) {
    for (size_t i = 0; i < logits_.size(); ++i) {
      if (logits_[i] > kNone)
        see({.token = static_cast<TokenId>(i), .logit = logits_[i], .weight = weights_[i]});
    }
  } else {
    std::ranges::for_each(list_, see);
  }
  if (count_above < 2) return;
  if (all_) Gather([](size_t, float) { return true; });
  Filter([&](const Candidate& candidate) {
    return double{candidate.weight} < least || candidate.token == last_above.token;
  });
  Changed();
}

void Candidates::KeepSurpriseUpTo(double bits) {
  Weigh();
  const auto least = static_cast<float>(exact::Log(total_) - bits * kLn2);
  const float bound = std::min(least, 0.0F);  // the likeliest always stay
  if (all_) {
    Gather([&](size_t, float scaled) { return scaled >= bound; });
  } else {
    Filter([&](const Candidate& candidate) { return ScaledLogit(candidate.logit) >= bound; });
  }
}

Candidates::Draw Candidates::DrawAt(double uniform) {
  Weigh();
  if (all_) return DrawFromAll(uniform);
  // The last token with a weight takes what rounding leaves over.
  double left = uniform * total_;
  const Candidate* drawn = &list_.front();
  for (const Candidate& candidate : list_) {
    if (candidate.weight == 0) continue;
    drawn = &candidate;
    if (left < double{candidate.weight}) break;
    left -= double{candidate.weight};
  }
  return {.token = drawn->token, .probability = double{drawn->weight} / total_};
}

Candidates::Draw Candidates::DrawFromAll(double uniform) const {
  double left = uniform * total_;
  size_t block = 0;
  while (block + 1 < block_sums_.size() && left >= block_sums_[block]) left -= block_sums_[block++];
  size_t drawn = 0;
  for (size_t i = block * kWeightBlock; i < weights_.size(); ++i) {
    const auto weight = static_cast<double>(weights_[i]);
    if (weight == 0) continue;
    drawn = i;
    if (left < weight) break;
    left -= weight;
  }
  return {.token = static_cast<TokenId>(drawn),
          .probability = static_cast<double>(weights_[drawn]) / total_};
}

void Candidates::Weigh() {
  if (all_) {
    if (!weighed_) WeighAll();
  } else {
    total_ = 0;
    for (Candidate& candidate : list_) {
      if (!weighed_) candidate.weight = ExpNonPositive(ScaledLogit(candidate.logit));
      total_ += double{candidate.weight};
    }
  }
  weighed_ = true;
}

void Candidates::WeighAll() {
  for (size_t i = 0; i < logits_.size(); ++i) weights_[i] = ExpNonPositive(ScaledLogit(logits_[i]));
  total_ = 0;
  for (size_t block = 0; block < block_sums_.size(); ++block) {
    const size_t first = block * kWeightBlock;
    const size_t count = std::min(kWeightBlock, weights_.size() - first);
    block_sums_[block] = SumInLanes(count, [&](size_t i) { return weights_[first + i]; });
    total_ += block_sums_[block];
  }
}

template <typename Keeps>
void Candidates::Gather(const Keeps& keeps) {
  const auto wanted = [&](size_t i) {
    return logits_[i] > kNone && keeps(i, ScaledLogit(logits_[i]));
  };
  list_.clear();
  for (size_t first = 0; first < logits_.size(); first += kRowLanes) {
    const size_t end = std::min(first + kRowLanes, logits_.size());
    int found = 0;
    for (size_t i = first; i < end; ++i) found |= wanted(i) ? 1 : 0;
    if (found == 0) continue;  // nearly always
    for (size_t i = first; i < end; ++i) {
      if (wanted(i))
        list_.push_back(
            {.token = static_cast<TokenId>(i), .logit = logits_[i], .weight = weights_[i]});
    }
  }
  all_ = false;
  ranked_ = false;
}

void Candidates::GatherTopK(size_t k) {
  if (k == 1) {
    const auto top = std::ranges::find(logits_, max_logit_);
    list_.assign(
        1,
        {.token = static_cast<TokenId>(top - logits_.begin()), .logit = max_logit_, .weight = 1});
    all_ = false;
    ranked_ = true;
    return;
  }
  // Whenever room runs out, only the first k of those seen stay, and the last of them is what
  // others have to exceed: equal ones have higher ids.
  const size_t room = std::max<size_t>(4 * k, 1024);
  const auto keep_top_k = [&] {
    if (list_.size() <= k) return;
    const auto last = list_.begin() + static_cast<ptrdiff_t>(k) - 1;
    std::nth_element(list_.begin(), last, list_.end(), RanksBefore);
    list_.resize(k);
  };
  list_.clear();
  float exceeded = kNone;
  for (size_t first = 0; first < logits_.size(); first += kRowLanes) {
    const size_t end = std::min(first + kRowLanes, logits_.size());
    int found = 0;
    for (size_t i = first; i < end; ++i) found |= logits_[i] > exceeded ? 1 : 0;
    if (found == 0) continue;  // nearly always
    for (size_t i = first; i < end; ++i) {
      if (logits_[i] > exceeded)
        list_.push_back({.token = static_cast<TokenId>(i), .logit = logits_[i], .weight = 0});
    }
    if (list_.size() <= room) continue;
    keep_top_k();
    exceeded = list_.back().logit;
  }
  const bool all_fit = exceeded == kNone && list_.size() <= k;
  keep_top_k();
  all_ = false;
  ranked_ = !all_fit;
  weighed_ = false;
  if (ranked_) RestoreOrder();
}

template <typename Key>
void Candidates::KeepSmallest(const Key& key, double limit) {
  const auto comes_before = [&](const Candidate& a, const Candidate& b) {
    const float key_a = key(ScaledLogit(a.logit));
    const float key_b = key(ScaledLogit(b.logit));
    return key_a != key_b ? key_a < key_b : RanksBefore(a, b);
  };
  if (all_) {
    GatherSmallest(key, comes_before, limit);
    return;
  }
  std::sort(list_.begin(), list_.end(), comes_before);
  CutBehind(limit);
  RestoreOrder();
}

template <typename Key, typename ComesBefore>
void Candidates::GatherSmallest(const Key& key, const ComesBefore& comes_before, double limit) {
  // A histogram of the keys finds where the cut lies, so that only the tokens there are sorted.
  constexpr int32_t kBucketsPerUnit = 16;
  constexpr int32_t kBuckets = 88 * kBucketsPerUnit;
  std::array<double, kBuckets> sums{};
  // Tokens without a weight have a bucket behind all others.
  const auto bucket_of = [&](float scaled) {
    const float place = key(scaled) * static_cast<float>(kBucketsPerUnit);
    return scaled < kLeastScaledLogit ? kBuckets
                                      : std::min(static_cast<int32_t>(place), kBuckets - 1);
  };
  for (size_t i = 0; i < logits_.size(); ++i) {
    const int32_t bucket = bucket_of(ScaledLogit(logits_[i]));
    if (bucket < kBuckets) sums[static_cast<size_t>(bucket)] += double{weights_[i]};
  }
  int32_t cut_bucket = 0;
  double before = 0;
  const auto sum_of = [&](int32_t bucket) { return sums[static_cast<size_t>(bucket)]; };
  while (cut_bucket + 1 < kBuckets &&
         (sum_of(cut_bucket) == 0 || before + sum_of(cut_bucket) < limit))
    before += sum_of(cut_bucket++);
  Gather([&](size_t, float scaled) { return bucket_of(scaled) == cut_bucket; });
  if (list_.empty()) {  // rounding: all of them together weigh less than the limit
    Gather([&](size_t, float scaled) { return bucket_of(scaled) < kBuckets; });
    return;
  }
  std::sort(list_.begin(), list_.end(), comes_before);
  CutBehind(limit - before);
  const Candidate last = list_.back();
  Gather([&](size_t i, float scaled) {
    const int32_t bucket = bucket_of(scaled);
    if (bucket != cut_bucket) return bucket < cut_bucket;
    return !comes_before(last,
                         {.token = static_cast<TokenId>(i), .logit = logits_[i], .weight = 0});
  });
}

template <typename Keeps>
void Candidates::Filter(const Keeps& keeps) {
  std::erase_if(list_, [&](const Candidate& candidate) { return !keeps(candidate); });
}

void Candidates::CutBehind(double limit) {
  size_t kept = 0;
  double sum = 0;
  do {
    sum += double{list_[kept++].weight};
  } while (kept < list_.size() && sum < limit);
  list_.resize(kept);
}

void Candidates::RestoreOrder() {
  if (ranked_) {
    std::sort(list_.begin(), list_.end(), RanksBefore);
  } else {
    std::ranges::sort(list_, {}, &Candidate::token);
  }
}

void Candidates::Changed() {
  float largest = kNone;
  for (const Candidate& candidate : list_) largest = std::max(largest, candidate.logit);
  if (largest == max_logit_) return;
  max_logit_ = largest;
  weighed_ = false;
}

int64_t Candidates::CountLeft() const {
  if (!all_) return std::ssize(list_);
  return std::ranges::count_if(logits_, [](float logit) { return logit > kNone; });
}

double Candidates::ExpectedScaledLogit() {
  if (all_) {
    // Scaled logits of weight 0 may be infinite.
    return SumInLanes(logits_.size(),
                      [&](size_t i) {
                        const float scaled = std::max(ScaledLogit(logits_[i]), kLeastScaledLogit);
                        return double{weights_[i]} * double{scaled};
                      }) /
           total_;
  }
  double sum = 0;
  for (const Candidate& candidate : list_) {
    const float scaled = std::max(ScaledLogit(candidate.logit), kLeastScaledLogit);
    sum += double{candidate.weight} * double{scaled};
  }
  return sum / total_;
}

}  // namespace weft
