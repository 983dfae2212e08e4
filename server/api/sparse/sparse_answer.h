// The answer of /embed_sparse.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/sparse/sparse_response.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

class SparseAnswer : public PoolingAnswer {
 public:
  explicit SparseAnswer(int64_t text_count)
      : PoolingAnswer(text_count), vectors_(static_cast<size_t>(text_count)) {}

  std::string WholeBody() override { return ToJson(vectors_); }

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override {
    vectors_[static_cast<size_t>(text_index)] = {.tokens = std::move(result.tokens),
                                                 .weights = std::move(result.values)};
  }

  std::vector<SparseVector> vectors_;
};

}  // namespace weft
