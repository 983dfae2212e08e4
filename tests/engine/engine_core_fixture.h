// An engine over the fake model, one step at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"

namespace weft {

// Token t is the letter 'a' + t; the model continues every token with the next one, round the
// vocabulary.
class EngineCoreTest : public ::testing::Test {
 protected:
  static constexpr int32_t kVocab = 26;

  EngineCoreTest() : runner_({.vocab_size = kVocab, .block_size = 4, .block_count = 16}) {
    options_.max_context = 64;
    options_.max_batch_tokens = 16;
    options_.max_sequences = 4;
    options_.token_bytes = [](TokenId token) {
      return std::string_view("abcdefghijklmnopqrstuvwxyz").substr(static_cast<size_t>(token), 1);
    };
    runner_.fill_logits = [](uint64_t, TokenId token, int32_t, float* logits) {
      std::fill_n(logits, kVocab, 0.0F);
      logits[(token + 1) % kVocab] = 20;
    };
  }

  EngineCore& core() {
    if (!core_) core_.emplace(options_, runner_);
    return *core_;
  }

  Request MakeRequest(std::vector<TokenId> prompt, int32_t max_tokens) {
    return GreedyRequest(next_id_++, std::move(prompt), max_tokens);
  }

  std::shared_ptr<RecordingSink> Add(Request request) {
    return AddRecorded(core(), std::move(request));
  }

  void Finish() {
    for (int steps = 0; core().has_work(); ++steps) {
      ASSERT_LT(steps, 1000);
      core().Step();
    }
    EXPECT_EQ(core().pools().used_count(), 0);
    EXPECT_EQ(runner_.complaint(), "");
  }

  std::string Refusal(const Request& request) {
    Request copy = request;
    copy.sink = std::make_shared<RecordingSink>(1);
    const Result<void> valid = core().Validate(copy);
    if (valid) return "accepted";
    EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
    return valid.error().message;
  }

  FakeModelRunner runner_;
  EngineOptions options_;
  std::optional<EngineCore> core_;
  RequestId next_id_ = 1;
};

}  // namespace weft
