#include "model/blocks/embedding.h"

namespace weft {
namespace {

// Embeddings of another size than the residual stream's, through their projection.
void EmbedProjected(const Step& step, const ForwardBatch& batch) {
  const EmbeddingSpec& embedding = step.spec.embedding;
  const Workspace& b = step.buffers;
  const PackedMatrix& tokens = step.weights.matrix(embedding.tokens);
  const PackedMatrix& projection = step.weights.matrix(embedding.projection.weights);
  const Operands operands = b.normed.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int thread) {
    float* x = b.normed_row[thread];
    step.kernels.unpack_row(tokens, batch.token_ids[static_cast<size_t>(row)], x);
    WriteOperands(step.kernels, {&projection}, x, embedding.size, operands, row);
  });
  ParallelMultiply(step, projection, operands, step.row_count, b.residual);
}

}  // namespace

void Embed(const Step& step, const ForwardBatch& batch) {
  const OperatorTimer timer(step.profile, Operator::kEmbed);
  const EmbeddingSpec& embedding = step.spec.embedding;
  const KernelTable& kernels = step.kernels;
  const int64_t hidden = step.spec.hidden_size;
  const PackedMatrix& tokens = step.weights.matrix(embedding.tokens);
  const float* positions = step.weights.table(embedding.positions);
  const float* types = step.weights.table(embedding.types);
  if (embedding.projection) EmbedProjected(step, batch);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    const auto i = static_cast<size_t>(row);
    float* x = step.buffers.residual[row];
    if (!embedding.projection) kernels.unpack_row(tokens, batch.token_ids[i], x);
    if (embedding.multiplier != 1) kernels.scale(x, embedding.multiplier, hidden);
    if (positions != nullptr) {
      kernels.add(x, positions + (batch.positions[i] + embedding.position_offset) * hidden, hidden);
    }
    if (types != nullptr) {
      const auto of = static_cast<size_t>(step.buffers.row_sequence[i]);
      const bool is_second =
          embedding.type_count > 1 && batch.positions[i] >= batch.sequences[of].second_text;
      kernels.add(x, types + (is_second ? hidden : 0), hidden);
    }
    if (embedding.norm) step.Norm(embedding.norm, x, hidden, x);
  });
}

}  // namespace weft
