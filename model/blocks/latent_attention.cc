#include "model/blocks/latent_attention.h"

#include <span>

#include "model/blocks/attention.h"

namespace weft {
namespace {

struct LatentLayer {
  const Step& step;
  const ForwardBatch& batch;
  const AttentionSpec& attention;
  const LatentSpec& latent;
  const int64_t index;
  KvCache& cache;

  const PackedMatrix& Matrix(const LinearSpec& linear) const {
    return step.weights.matrix(linear.weights);
  }
  const LinearSpec& first_of_query() const {
    return latent.query_rank > 0 ? latent.query_down : latent.query;
  }

  void Multiply(const LinearSpec& linear, const Operands& x, FloatRows y) const {
    ParallelMultiply(step, Matrix(linear), x, step.row_count, y);
  }
  void AddBias(const LinearSpec& linear, int64_t width, float* x) const {
    if (const float* bias = step.weights.table(linear.bias)) step.kernels.add(x, bias, width);
  }

  // Norm of the residual stream, its latent into Workspace::key, its queries into head_rows.
  void Project(const NormSpec& norm, OperatorTimer& timer) const {
    const Workspace& b = step.buffers;
    const Operands normed =
        NormedOperands(step, norm, {&Matrix(first_of_query()), &Matrix(latent.down)});
    timer.Next(Operator::kQkv);
    Multiply(latent.down, normed, b.key);
    if (latent.query_rank == 0) {
      Multiply(latent.query, normed, b.head_rows);
      return;
    }
    Multiply(latent.query_down, normed, b.query_latent);
    const Operands query_latent = b.query_latent_operands.Rows(step.row_count);
    ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
      float* x = b.query_latent[row];
      AddBias(latent.query_down, latent.query_rank, x);
      step.Norm(latent.query_norm, x, latent.query_rank, x);
      WriteOperands(step.kernels, {&Matrix(latent.query)}, x, latent.query_rank, query_latent, row);
    });
    Multiply(latent.query, query_latent, b.head_rows);
  }

  // The rows' latents into the cache; the rotated parts of their queries to where attention reads
  // them, the others on their way there.
  void FinishRows() const {
    const Workspace& b = step.buffers;
    const PackedMatrix& of_key = step.weights.stack(latent.key).front();
    const int64_t query_dim = latent.head_query_dim();
    const Operands plain = b.head_operands.Rows(attention.head_count * step.row_count);
    ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
      float* key = b.key[row];
      AddBias(latent.down, latent.rank + latent.rotated_dim, key);
      step.Norm(latent.norm, key, latent.rank, key);
      RotateHead(step, attention.rope, row, key + latent.rank);
      WriteToCache(step, batch, attention, row, key, /*value=*/nullptr, index, cache);
      AddBias(latent.query, attention.head_count * query_dim, b.head_rows[row]);
      for (int64_t head = 0; head < attention.head_count; ++head) {
        const float* query = b.head_rows[row] + head * query_dim;
        WriteOperands(step.kernels, {&of_key}, query, latent.plain_dim, plain,
                      head * step.row_count + row);
        float* rotated = b.query[row] + head * attention.key_dim + latent.rank;
        std::copy_n(query + latent.plain_dim, latent.rotated_dim, rotated);
        RotateHead(step, attention.rope, row, rotated);
      }
    });
    MultiplyHeads(latent.key, plain, b.query, attention.key_dim);
  }

  // What attention found through each head's matrix of values, as operands of the output.
  void FinishAttended(const Operands& result) const {
    const Workspace& b = step.buffers;
    const PackedMatrix& of_value = step.weights.stack(latent.value).front();
    const Operands found = b.head_operands.Rows(attention.head_count * step.row_count);
    ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
      for (int64_t head = 0; head < attention.head_count; ++head) {
        WriteOperands(step.kernels, {&of_value}, b.attended[row] + head * latent.rank, latent.rank,
                      found, head * step.row_count + row);
      }
    });
    MultiplyHeads(latent.value, found, b.head_rows, latent.value_dim);
    ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
      WriteOperands(step.kernels, {&Matrix(attention.output)}, b.head_rows[row],
                    attention.head_count * latent.value_dim, result, row);
    });
  }

  // Each head's operand rows times its own matrix, to y's columns from head * y_dim on.
  void MultiplyHeads(StackId stack, const Operands& x, FloatRows y, int64_t y_dim) const {
    const std::span<const PackedMatrix> matrices = step.weights.stack(stack);
    step.threads.ParallelFor(attention.head_count, [&](int64_t head, int) {
      const PackedMatrix& matrix = matrices[static_cast<size_t>(head)];
      weft::Multiply(step.kernels, matrix, {0, matrix.panel_count()}, x.From(head * step.row_count),
                     nullptr, step.row_count, {y.data + head * y_dim, y.stride});
    });
  }
};

}  // namespace

void LatentAttention(const Step& step, const ForwardBatch& batch, const LayerSpec& layer,
                     int64_t index, KvCache& cache, BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const LatentLayer rows{step, batch, layer.attention, *layer.latent, index, cache};
  rows.Project(layer.attention_norm, timer);
  timer.Next(Operator::kRope);
  rows.FinishRows();
  timer.Next(Operator::kAttention);
  Attend(step, batch, layer.attention, index, cache);
  timer.Next(Operator::kAttentionOutput);
  const Operands result = step.buffers.attention.Rows(step.row_count);
  rows.FinishAttended(result);
  output.Add(layer.attention.output, result);
}

}  // namespace weft
