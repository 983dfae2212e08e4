// Many prompts on their way through an engine, results in the order in which they were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>

#include "base/result.h"
#include "engine/engine.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

struct PooledPrompt {
  PooledResult result;
  int32_t token_count = 0;
};

// What waits in it is bounded, in prompts and in tokens. One thread; the engine outlives it.
class PoolingPipeline {
 public:
  PoolingPipeline(Engine& engine, PoolingParams params);
  // Aborts what is under way.
  ~PoolingPipeline();
  PoolingPipeline(const PoolingPipeline&) = delete;
  PoolingPipeline& operator=(const PoolingPipeline&) = delete;

  bool is_empty() const { return waiting_.empty(); }
  bool has_room() const;

  // There is room. Errors: those of Engine::Submit.
  Result<void> Submit(EncodedText prompt);
  // Waits for the oldest; there is one.
  Result<PooledPrompt> Next();

 private:
  struct Waiting {
    RequestId id = 0;
    size_t token_count = 0;
    std::future<Result<PooledPrompt>> result;
  };

  Engine& engine_;
  const PoolingParams params_;
  // All of them are one job: nobody else waits, so that no step is cut for somebody's sake.
  const RequestId job_id_;
  std::deque<Waiting> waiting_;
  size_t waiting_tokens_ = 0;
};

// The most prompts that one has under way. An engine's queue should take as many, and besides them
// a step's: what has its result counts as queued until the step has ended.
inline constexpr int32_t kPipelinePrompts = 512;

}  // namespace weft
