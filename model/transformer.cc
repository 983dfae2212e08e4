#include "model/transformer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/attention.h"
#include "model/mlp.h"
#include "model/rope.h"
#include "model/step.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace weft {
namespace {

void Embed(const Step& step, const PackedMatrix& embedding, std::span<const TokenId> token_ids) {
  const OperatorTimer timer(step.profile, Operator::kEmbed);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    step.kernels.unpack_row(embedding, token_ids[static_cast<size_t>(row)],
                            step.buffers.residual[row]);
  });
}

// Final norm and head of these rows: their logits, in `buffers`.
void Head(const Step& step, const Weights& weights, std::span<const int32_t> rows) {
  const OperatorTimer timer(step.profile, Operator::kHead);
  const Workspace& b = step.buffers;
  const int64_t count = std::ssize(rows);
  const Operands normed = b.normed.Rows(count);
  ParallelRows(step.threads, count, [&](int64_t i, int thread) {
    step.kernels.rms_norm(b.residual[rows[static_cast<size_t>(i)]], weights.output_norm().data(),
                          step.config.hidden_size, step.epsilon(), b.normed_row[thread]);
    WriteOperands(step.kernels, {&weights.output_head()}, b.normed_row[thread],
                  step.config.hidden_size, normed, i);
  });
  ParallelMultiply(step, weights.output_head(), normed, count, b.logits);
}

// The logits of the rows that want them, a piece of them at a time.
void Logits(const Step& step, const Weights& weights, std::span<const int32_t> logit_rows,
            const LogitsVisitor& visit) {
  const auto total = static_cast<int64_t>(logit_rows.size());
  for (int64_t first = 0; first < total; first += Workspace::kLogitRowsPerPiece) {
    const int64_t count = std::min(Workspace::kLogitRowsPerPiece, total - first);
    Head(step, weights, logit_rows.subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
    step.threads.ParallelFor(
        count, [&](int64_t i, int thread) { visit(first + i, thread, step.buffers.logits[i]); });
  }
}

// The hidden states of the rows that want them. Overwrites the residual stream.
void HiddenStates(const Step& step, const Weights& weights, const ForwardBatch& batch) {
  const Workspace& b = step.buffers;
  const int64_t size = step.config.hidden_size;
  const int64_t count = std::ssize(batch.hidden_rows);
  const auto row_of = [&](int64_t i) {
    return b.residual[batch.hidden_rows[static_cast<size_t>(i)]];
  };
  ParallelRows(step.threads, count, [&](int64_t i, int thread) {
    float* const normed = b.normed_row[thread];
    step.kernels.rms_norm(row_of(i), weights.output_norm().data(), size, step.epsilon(), normed);
    std::copy_n(normed, size, row_of(i));
  });
  for (int64_t i = 0; i < count; ++i) {
    (*batch.visit_hidden)(i, {row_of(i), static_cast<size_t>(size)});
  }
}

void CheckBatch(const ForwardBatch& batch, const Workspace& workspace, const KvCache& cache,
                const ThreadPool& threads) {
  const WorkspaceOptions& options = workspace.options();
  WEFT_CHECK(batch.row_count() <= options.max_rows);
  WEFT_CHECK(std::ssize(batch.positions) == batch.row_count());
  WEFT_CHECK(std::ssize(batch.logit_rows) <= batch.row_count());
  WEFT_CHECK(batch.hidden_rows.empty() || batch.visit_hidden != nullptr);
  WEFT_CHECK(cache.block_size() == options.block_size);
  WEFT_CHECK(threads.thread_count() <= options.thread_count);
}

}  // namespace

Transformer::Transformer(ModelConfig config, Weights weights, const KernelTable& kernels,
                         ThreadPool& threads)
    : config_(std::move(config)),
      weights_(std::make_unique<Weights>(std::move(weights))),
      kernels_(kernels),
      threads_(threads),
      rope_frequencies_(RopeFrequencies(config_.rope)) {}

Transformer::Transformer(Transformer&&) noexcept = default;
Transformer::~Transformer() = default;

void Transformer::Forward(const ForwardBatch& batch, KvCache& cache, Workspace& workspace,
                          const LogitsVisitor& visit, StepProfile* profile) {
  CheckBatch(batch, workspace, cache, threads_);
  const ScopedCpuBinding bound = threads_.BindCaller();
  const Step step{config_, kernels_, threads_, workspace, batch.row_count(), profile};
  PrepareAttention(step, batch, rope_frequencies_);
  Embed(step, weights_->token_embedding(), batch.token_ids);
  for (int64_t layer = 0; layer < config_.layer_count; ++layer) {
    const LayerWeights& weights = weights_->layers()[static_cast<size_t>(layer)];
    SelfAttention(step, batch, weights, layer, cache);
    if (config_.is_moe()) {
      MixtureMlp(step, weights, layer);
    } else {
      DenseMlp(step, weights);
    }
  }
  Logits(step, *weights_, batch.logit_rows, visit);
  HiddenStates(step, *weights_, batch);
}

}  // namespace weft
