#include "engine/transformer_runner.h"

#include <utility>

#include "engine/constrained_text.h"
#include "engine/sampler.h"
#include "engine/sparse_pooler.h"

namespace weft {
namespace {

WorkspaceOptions WorkspaceFor(const TransformerRunnerOptions& options, bool has_f16) {
  return {.max_rows = options.max_batch_tokens,
          .block_size = options.block_size,
          .thread_count = options.thread_count,
          .has_f16 = has_f16};
}

}  // namespace

TransformerRunner::TransformerRunner(Transformer transformer,
                                     const TransformerRunnerOptions& options)
    : transformer_(std::move(transformer)),
      cache_(transformer_.spec(), transformer_.kernels(), options.groups, options.block_size),
      workspace_(transformer_.spec(), transformer_.kernels(),
                 WorkspaceFor(options, transformer_.has_f16())) {}

int64_t TransformerRunner::WorkspaceBytes(const ModelSpec& spec, const KernelTable& kernels,
                                          bool has_f16, const TransformerRunnerOptions& options) {
  return Workspace::Bytes(spec, kernels, WorkspaceFor(options, has_f16)) +
         options.thread_count * Sampler::ScratchBytes(spec.vocab_size) +
         (spec.generates() ? options.max_sequences * ConstrainedText::Bytes(spec.vocab_size) : 0) +
         (spec.sparse ? options.max_sequences * SparsePooler::Bytes(spec.vocab_size) : 0);
}

Result<void> TransformerRunner::Run(const ForwardBatch& batch, const LogitsVisitor& visit) {
  transformer_.Forward(batch, cache_, workspace_, visit, profile_);
  return {};
}

}  // namespace weft
