#include "tests/engine/requests.h"

#include <utility>

#include <gtest/gtest.h>

namespace weft {

Request GreedyRequest(RequestId id, std::vector<TokenId> prompt, int32_t max_tokens) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.max_tokens = max_tokens;
  return request;
}

std::shared_ptr<RecordingSink> AddRecorded(EngineCore& core, Request request) {
  auto sink = std::make_shared<RecordingSink>(request.choice_count);
  request.sink = sink;
  const Result<void> valid = core.Validate(request);
  EXPECT_TRUE(valid) << valid.error().message;
  core.Add(std::move(request));
  return sink;
}

}  // namespace weft
