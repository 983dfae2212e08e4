// The answers of /v1/score: what a ranker says of pairs, and how alike the embeddings of two texts
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/ranking.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

struct ScoreAnswerOptions {
  std::string model;
  int64_t score_count = 0;
  std::optional<int64_t> truncated_tokens;  // where it was asked for
};

// What has a score for each pair in the end.
class ScoreAnswer : public PoolingAnswer {
 public:
  ScoreAnswer(ScoreAnswerOptions options, int64_t text_count)
      : PoolingAnswer(text_count),
        options_(std::move(options)),
        scores_(static_cast<size_t>(options_.score_count)) {}

  std::string WholeBody() override;

 protected:
  void SetScore(size_t index, double score) { scores_[index] = score; }
  size_t score_count() const { return scores_.size(); }

 private:
  const ScoreAnswerOptions options_;
  std::vector<double> scores_;
};

// Every text is a pair.
class PairScoreAnswer : public ScoreAnswer {
 public:
  // `ranking` outlives the answer.
  PairScoreAnswer(const ScoreAnswerOptions& options, const Ranking& ranking, bool raw_scores)
      : ScoreAnswer(options, options.score_count), ranking_(ranking), raw_scores_(raw_scores) {}

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;

  const Ranking& ranking_;
  const bool raw_scores_;
};

// The texts are the first one and then the second ones, or a first one and a second one in turns;
// so not many vectors wait for their partners.
class SimilarityAnswer : public ScoreAnswer {
 public:
  SimilarityAnswer(const ScoreAnswerOptions& options, bool has_one_first)
      : ScoreAnswer(options, has_one_first ? 1 + options.score_count : 2 * options.score_count),
        has_one_first_(has_one_first),
        vectors_(static_cast<size_t>(has_one_first ? 1 + options.score_count
                                                   : 2 * options.score_count)) {}

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;
  // If both vectors of this pair are there.
  void Compare(size_t pair);

  const bool has_one_first_;
  std::vector<std::vector<float>> vectors_;  // empty: not yet there, or no longer wanted
};

// What they take, with their JSON; vectors of `pooled_size` numbers, as many as are in the engine
// at a time.
uint64_t PairScoreAnswerBytes(int64_t score_count);
uint64_t SimilarityAnswerBytes(int64_t score_count, int64_t pooled_size);

// From -1 to 1; 0 if one of them has no length.
double CosineSimilarity(std::span<const float> a, std::span<const float> b);

}  // namespace weft
