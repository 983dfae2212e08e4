#include "model/transformer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/blocks/attention.h"
#include "model/blocks/cross_attention.h"
#include "model/blocks/delta_net.h"
#include "model/blocks/embedding.h"
#include "model/blocks/head.h"
#include "model/blocks/latent_attention.h"
#include "model/blocks/mixture.h"
#include "model/blocks/mlp.h"
#include "model/blocks/per_layer_input.h"
#include "model/blocks/pooled_layers.h"
#include "model/blocks/short_conv.h"
#include "model/blocks/state_space.h"
#include "model/rope.h"
#include "model/state.h"
#include "model/step.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace weft {
namespace {

void CheckBatch(const ModelSpec& spec, const ForwardBatch& batch, const Workspace& workspace,
                const KvCache& cache, const ThreadPool& threads) {
  const WorkspaceOptions& options = workspace.options();
  WEFT_CHECK(batch.row_count() <= options.max_rows);
  WEFT_CHECK(std::ssize(batch.positions) == batch.row_count());
  WEFT_CHECK(std::ssize(batch.logit_rows) <= batch.row_count());
  WEFT_CHECK(batch.hidden_rows.empty() || batch.visit_hidden != nullptr);
  WEFT_CHECK(batch.logit_rows.empty() || spec.has_head());
  WEFT_CHECK(cache.block_size() == options.block_size);
  for (const SequenceSpan& sequence : batch.sequences) {
    WEFT_CHECK(sequence.block_tables.size() == cache.groups().size());
    WEFT_CHECK(sequence.first_position == 0 || !spec.is_encoder);
    WEFT_CHECK((sequence.source_count > 0) == (spec.encoder != nullptr));
  }
  WEFT_CHECK(threads.thread_count() <= options.thread_count);
}

// Streams wait for a batch that has generated positions.
Turns::Urgency UrgencyOf(const ForwardBatch& batch) {
  const bool has_streams =
      std::ranges::find(batch.phases, TokenPhase::kGenerated) != batch.phases.end();
  return has_streams ? Turns::Urgency::kUrgent : Turns::Urgency::kPatient;
}

void NormResidual(const Step& step, const NormSpec& norm) {
  if (!norm) return;
  const OperatorTimer timer(step.profile, Operator::kNorm);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    float* x = step.buffers.residual[row];
    step.Norm(norm, x, step.spec.hidden_size, x);
  });
}

void RunCrossAttention(const Step& step, const ForwardBatch& batch, const LayerSpec& layer,
                       int64_t index, KvCache& cache) {
  if (!layer.cross) return;
  BlockOutput output(step, {}, 1);
  CrossAttention(step, batch, layer.cross_norm, *layer.cross, FirstCrossLayer(step.spec) + index,
                 cache, output);
  NormResidual(step, layer.cross_sum_norm);
}

// output += what all of a layer's mixers make of the same norm. `cached` is the cache's number of
// the layer's attention.
void RunMixers(const Step& step, const ForwardBatch& batch, int64_t index, int64_t cached,
               KvCache& cache, BlockOutput& output) {
  const LayerSpec& layer = step.spec.layers[static_cast<size_t>(index)];
  const NormSpec& norm = layer.attention_norm;
  if (layer.short_conv) {
    ShortConvolution(step, batch, norm, *layer.short_conv, index, cache, output);
  }
  if (layer.delta_net) DeltaNet(step, batch, norm, *layer.delta_net, index, cache, output);
  if (layer.state_space) StateSpace(step, batch, norm, *layer.state_space, index, cache, output);
  if (layer.latent) {
    LatentAttention(step, batch, layer, cached, cache, output);
  } else if (layer.attention) {
    SelfAttention(step, batch, norm, layer.attention, cached, cache, output);
  }
}

void RunMlp(const Step& step, const LayerSpec& layer, int64_t index) {
  if (!layer.has_mlp()) return;
  BlockOutput output(step, layer.mlp_output_norm, layer.residual_multiplier);
  if (const MixtureSpec* mixture = layer.mixture()) {
    Mixture(step, layer.mlp_norm, *mixture, index, output);
  } else {
    DenseMlp(step, layer.mlp_norm, std::get<DenseMlpSpec>(layer.mlp), output);
  }
  output.Finish();
}

// `cached` as above.
void RunLayer(const Step& step, const ForwardBatch& batch, int64_t index, int64_t cached,
              KvCache& cache) {
  const LayerSpec& layer = step.spec.layers[static_cast<size_t>(index)];
  const bool has_mixers = layer.mixer_count() > 0;
  BlockOutput attended(step, layer.attention_output_norm, layer.residual_multiplier,
                       /*waits=*/layer.is_parallel || layer.mixer_count() > 1,
                       layer.output_norm_of_sum);
  RunMixers(step, batch, index, cached, cache, attended);
  if (has_mixers && !layer.is_parallel) attended.Finish();
  NormResidual(step, layer.attention_sum_norm);
  RunCrossAttention(step, batch, layer, index, cache);
  RunMlp(step, layer, index);
  if (has_mixers && layer.is_parallel) attended.Finish();
  NormResidual(step, layer.mlp_sum_norm);
  AddPerLayerInput(step, layer.per_layer_input, index);
  if (const float* scale = step.weights.table(layer.output_scale)) {
    ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
      step.kernels.scale(step.buffers.residual[row], *scale, step.spec.hidden_size);
    });
  }
}

// `step` is the encoder's.
void ComputeSources(const Step& step, const ForwardBatch& sources, const ModelSpec& decoder,
                    KvCache& cache) {
  PrepareAttention(step, sources, {});
  Embed(step, sources);
  for (int64_t layer = 0; layer < step.spec.layer_count(); ++layer) {
    RunLayer(step, sources, layer, FirstEncoderLayer(decoder) + layer, cache);
  }
  KeepSources(step, sources, decoder, cache);
}

}  // namespace

Transformer::Transformer(ModelSpec spec, Weights weights, const KernelTable& kernels,
                         ThreadPool& threads)
    : spec_(std::move(spec)),
      weights_(std::make_unique<Weights>(std::move(weights))),
      kernels_(kernels),
      threads_(threads),
      has_f16_(std::ranges::any_of(weights_->all_matrices(), [](const PackedMatrix* matrix) {
        return matrix->layout == PanelFormat::kF16;
      })) {
  for (const RopeSpec& rope : spec_.ropes) rope_frequencies_.push_back(RopeFrequencies(rope));
}

Transformer::Transformer(Transformer&&) noexcept = default;
Transformer::~Transformer() = default;

void Transformer::Forward(const ForwardBatch& batch, KvCache& cache, Workspace& workspace,
                          const LogitsVisitor& visit, StepProfile* profile) {
  CheckBatch(spec_, batch, workspace, cache, threads_);
  WEFT_CHECK(workspace.options().has_f16 || !has_f16_);
  const ScopedTurn turn(threads_.turns(), UrgencyOf(batch));
  const ScopedCpuBinding bound = threads_.BindCaller();
  if (batch.sources != nullptr) {
    const ForwardBatch& sources = *batch.sources;
    CheckBatch(*spec_.encoder, sources, workspace, cache, threads_);
    const Step step{*spec_.encoder, *weights_,           kernels_, threads_,
                    workspace,      sources.row_count(), profile};
    ComputeSources(step, sources, spec_, cache);
  }
  const Step step{spec_, *weights_, kernels_, threads_, workspace, batch.row_count(), profile};
  PrepareAttention(step, batch, rope_frequencies_);
  Embed(step, batch);
  EmbedPerLayer(step, batch);
  for (int64_t layer = 0; layer < spec_.layer_count(); ++layer) {
    RunLayer(step, batch, layer, layer, cache);
  }
  Logits(step, batch.logit_rows, visit);
  HiddenStates(step, batch);
}

std::vector<float> Transformer::FromPooled(PooledOutput output, std::vector<float> pooled) const {
  const bool labels = output == PooledOutput::kLabels;
  WEFT_CHECK(labels || output == PooledOutput::kEmbedding);
  WEFT_CHECK(spec_.makes(output));
  return PooledLayers(kernels_, *weights_,
                      labels ? spec_.classifier->layers : spec_.embedding_layers,
                      std::move(pooled));
}

}  // namespace weft
