// What answers have in common that are made of what the engine pools: one thing for each text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/api/generation_answer.h"

namespace weft {

class PoolingAnswer : public GenerationAnswer {
 public:
  explicit PoolingAnswer(int64_t text_count) : GenerationAnswer(static_cast<int32_t>(text_count)) {}

  void Begin(std::string_view request_id, int64_t created) override {
    request_id_ = request_id;
    created_ = created;
  }
  std::string TakeStreamText() override { return {}; }  // never asked for

 protected:
  const std::string& request_id() const { return request_id_; }
  int64_t created() const { return created_; }  // seconds since 1970

 private:
  void OnPromptLogprobs(int32_t, const PromptLogprobs&) override {}
  void OnPooled(int32_t text_index, PooledResult&& result) override = 0;
  void OnTokens(int32_t, const TokensEvent&) override {}
  void OnFinish(int32_t, const FinishEvent&) override {}

  std::string request_id_;
  int64_t created_ = 0;
};

}  // namespace weft
