// The answer of /v1/embeddings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/api/generation_answer.h"

namespace weft {

// The first `dimensions` numbers, scaled to length 1 (zeros stay zeros).
std::vector<float> NormalizedEmbedding(const std::vector<float>& pooled, int64_t dimensions);

// What the answer takes, with its JSON and the vectors, `pooled_size` numbers each, of as many
// inputs as are in the engine at a time.
uint64_t EmbeddingAnswerBytes(int64_t input_count, int64_t dimensions, bool base64,
                              int64_t pooled_size, int64_t in_flight);

struct EmbeddingAnswerOptions {
  std::string model;
  int64_t input_count = 0;
  int64_t dimensions = 0;
  bool base64 = false;
};

class EmbeddingAnswer : public GenerationAnswer {
 public:
  explicit EmbeddingAnswer(EmbeddingAnswerOptions options)
      : GenerationAnswer(static_cast<int32_t>(options.input_count)),
        options_(std::move(options)),
        embeddings_(static_cast<size_t>(options_.input_count)) {}

  void Begin(std::string_view, int64_t) override {}
  std::string TakeStreamText() override { return {}; }  // never asked for
  std::string WholeBody() override;

 private:
  void OnPromptLogprobs(int32_t, const PromptLogprobs&) override {}
  void OnPooled(int32_t prompt_index, PooledResult result) override;
  void OnTokens(int32_t, const TokensEvent&) override {}
  void OnFinish(int32_t, const FinishEvent&) override {}

  const EmbeddingAnswerOptions options_;
  std::vector<std::vector<float>> embeddings_;
};

}  // namespace weft
