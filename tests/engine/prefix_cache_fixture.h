// Requests one after the other or together through a whole engine, for what they find of what
// others have computed. The fake model checks every block that is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"

namespace weft {

class PrefixCacheTest : public testing::Test {
 protected:
  static constexpr int32_t kBlockSize = 4;

  struct Outcome {
    std::shared_ptr<RecordingSink> sink;
    const FinishEvent& finish(size_t choice = 0) const {
      return sink->choice(choice).finishes.at(0);
    }
    int32_t cached() const { return finish().cached_tokens; }
    const std::vector<TokenId>& tokens() const { return sink->choice().tokens; }
  };

  void Start(int64_t block_count = 64) { Start({{.block_count = block_count}}); }
  void Start(std::vector<StateGroup> groups) {
    runner_.emplace(FakeModelRunner::Options{
        .vocab_size = 29, .block_size = kBlockSize, .groups = std::move(groups)});
    runner_->is_read_only = [this](size_t group, int32_t block) {
      const BlockPool& pool = core_->pools()[group];
      return pool.reference_count(block) > 1 || pool.content(block) != nullptr;
    };
    options_.max_context = 200;
    core_.emplace(options_, *runner_);
  }

  static std::vector<TokenId> Prompt(int32_t token_count, TokenId first = 1) {
    std::vector<TokenId> prompt;
    for (int32_t i = 0; i < token_count; ++i) prompt.push_back((first + i * 7) % 29);
    return prompt;
  }

  Request MakeRequest(std::vector<TokenId> prompt, int32_t max_tokens = 1) {
    return GreedyRequest(next_id_++, std::move(prompt), max_tokens);
  }

  Outcome Add(Request request) { return {AddRecorded(*core_, std::move(request))}; }

  StepReport Finish() {
    while (core_->has_work()) core_->Step();
    EXPECT_EQ(runner_->complaint(), "");
    EXPECT_EQ(core_->pools().used_count(), 0);
    return core_->TakeReport();
  }

  Outcome Run(Request request) {
    Outcome outcome = Add(std::move(request));
    report_ = Finish();
    return outcome;
  }

  EngineOptions options_;
  std::optional<FakeModelRunner> runner_;
  std::optional<EngineCore> core_;
  StepReport report_;  // of the last Run
  RequestId next_id_ = 1;
};

}  // namespace weft
