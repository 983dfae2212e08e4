// The engine's model, watched: tells a meter what every step has to read and to compute, and which
// experts its tokens chose.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/transformer_runner.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/step_floor.h"

namespace weft {

// Used by the engine thread.
class MeteredRunner : public ModelRunner {
 public:
  MeteredRunner(std::unique_ptr<TransformerRunner> runner, const ModelCost& cost,
                std::shared_ptr<EngineMeter> meter)
      : runner_(std::move(runner)), cost_(cost), meter_(std::move(meter)) {}

  int64_t vocab_size() const override { return runner_->vocab_size(); }
  int64_t block_size() const override { return runner_->block_size(); }
  std::span<const StateGroup> groups() const override { return runner_->groups(); }
  int thread_count() const override { return runner_->thread_count(); }
  bool generates() const override { return runner_->generates(); }
  bool makes(PooledOutput output) const override { return runner_->makes(output); }
  SparseSpec sparse() const override { return runner_->sparse(); }
  Result<void> Run(const ForwardBatch& batch, const LogitsVisitor& visit) override;
  std::vector<float> FromPooled(PooledOutput output, std::vector<float> pooled) override {
    return runner_->FromPooled(output, std::move(pooled));
  }
  void CopyBlock(size_t group, int32_t from, int32_t to) override {
    runner_->CopyBlock(group, from, to);
  }

 private:
  const std::unique_ptr<TransformerRunner> runner_;
  const ModelCost cost_;
  const std::shared_ptr<EngineMeter> meter_;
  std::vector<SequenceShape> shapes_;  // of the step that runs
  std::vector<int64_t> source_lengths_;
};

}  // namespace weft
