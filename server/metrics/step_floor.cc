#include "server/metrics/step_floor.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/checked_math.h"
#include "model/kv_cache.h"
#include "model/state.h"

namespace weft {
namespace {

ProductCost CostOfMatrix(const BoundMatrix& bound, const KernelTable& kernels) {
  const TensorView& matrix = bound.view;
  const PanelFormat layout = kernels.packed_layout(bound.type());
  const auto weights = static_cast<double>(matrix.rows() * matrix.columns());
  ProductCost cost;
  cost.bytes = static_cast<double>(CeilDivide(matrix.rows(), kPanelRows) *
                                   kernels.panel_bytes(layout, matrix.columns()));
  switch (kernels.operand_type(layout)) {
    case OperandType::kInt8:
      cost.int8_weights = weights;
      break;
    case OperandType::kBF16:
      cost.bf16_weights = weights;
      break;
    case OperandType::kF32:
      cost.float_weights = weights;
      break;
  }
  return cost;
}

// A router is a table of rows; norms and biases are vectors, and count for nothing.
ProductCost CostOfTable(const TensorView& table) {
  if (table.rank < 2) return {};
  const auto weights = static_cast<double>(table.element_count());
  return {.bytes = weights * sizeof(float), .float_weights = weights};
}

// Sum over rows of the positions that each sees, itself included.
double PositionsSeen(const SequenceShape& sequence, const AttentionCost& attention) {
  const int64_t end = sequence.first_position + sequence.row_count;
  int64_t seen = 0;
  for (int64_t position = sequence.first_position; position < end; ++position) {
    seen += EndVisible(position, attention.lookahead, end) -
            FirstVisible(position, attention.window, /*chunk=*/0);
  }
  return static_cast<double>(seen);
}

// Positions that at least one of the rows sees.
double PositionsRead(const SequenceShape& sequence, int64_t window) {
  const int64_t all = sequence.first_position + sequence.row_count;
  return static_cast<double>(window > 0 ? std::min(all, window + sequence.row_count - 1) : all);
}

void AddAttention(const AttentionSpec& attention, const KernelTable& kernels, int64_t block_size,
                  AttentionCost& cost) {
  cost.kv_bytes_per_position +=
      static_cast<double>(KvCache::LayerBlockBytes(attention, kernels, block_size)) /
      static_cast<double>(block_size);
  // Query times key and probability times value: a multiplication and an addition an element each.
  cost.operations_per_read +=
      static_cast<double>(2 * (attention.query_size() + attention.attended_size()));
}

void AddAttention(const AttentionSpec& attention, const KernelTable& kernels, int64_t block_size,
                  std::vector<AttentionCost>& costs) {
  // Of a chunk a row sees half on average; as a window it counts at its most.
  const int64_t window = attention.chunk > 0 ? attention.chunk : attention.window;
  auto cost = std::ranges::find_if(costs, [&](const AttentionCost& each) {
    return each.window == window && each.lookahead == attention.lookahead;
  });
  if (cost == costs.end()) {
    cost = costs.insert(costs.end(), {.window = window, .lookahead = attention.lookahead});
  }
  AddAttention(attention, kernels, block_size, *cost);
}

// What a layer keeps in a fixed size: read once a sequence, and changed by every row.
void AddStates(const ModelSpec& spec, const LayerSpec& layer, StateCost& cost) {
  cost.bytes += static_cast<double>(RecurrentFloats(spec, layer)) * sizeof(float);
  if (const std::optional<DeltaNetSpec>& net = layer.delta_net) {
    // Of an element: times the key, times the decay, the change with the key, times the query.
    constexpr int64_t kOfElement = 7;
    cost.operations_per_row +=
        static_cast<double>(kOfElement * (net->state_floats() - net->conv_floats()));
  }
  if (const std::optional<StateSpaceSpec>& space = layer.state_space) {
    // Of an element: times the decay, the change with B, times C.
    constexpr int64_t kOfElement = 5;
    cost.operations_per_row +=
        static_cast<double>(kOfElement * (space->state_floats() - space->conv_floats()));
  }
}

// The matrices that rows of sources alone are multiplied with: an encoder's, and those of the keys
// and values that its decoder's cross-attentions read.
std::set<MatrixId> SourceMatrices(const ModelSpec& spec) {
  std::set<MatrixId> ids;
  if (spec.encoder == nullptr) return ids;
  for (const LayerSpec& layer : spec.encoder->layers) {
    const auto& mlp = std::get<DenseMlpSpec>(layer.mlp);
    for (const LinearSpec* linear :
         {&layer.attention.query, &layer.attention.key, &layer.attention.value,
          &layer.attention.output, &mlp.gate, &mlp.up, &mlp.down}) {
      ids.insert(linear->weights);
    }
  }
  for (const LayerSpec& layer : spec.layers) {
    ids.insert(layer.cross->key.weights);
    ids.insert(layer.cross->value.weights);
  }
  return ids;
}

}  // namespace

void ProductCost::Add(const ProductCost& other, double factor) {
  bytes += factor * other.bytes;
  int8_weights += factor * other.int8_weights;
  bf16_weights += factor * other.bf16_weights;
  float_weights += factor * other.float_weights;
}

void StepWork::Add(const StepWork& other) {
  bytes += other.bytes;
  int8_operations += other.int8_operations;
  bf16_operations += other.bf16_operations;
  float_operations += other.float_operations;
}

ModelCost CostOf(const Checkpoint& checkpoint, const KernelTable& kernels, int64_t block_size) {
  const ModelSpec& spec = checkpoint.spec;
  const ModelTensors& tensors = checkpoint.tensors;
  ModelCost cost;
  const ProductCost embedding = CostOfMatrix(tensors.matrix(spec.embedding.tokens), kernels);
  cost.embedding_row_bytes = embedding.bytes / static_cast<double>(spec.vocab_size);
  if (spec.has_head()) {
    cost.head = CostOfMatrix(tensors.matrix(spec.head.linear.weights), kernels);
  }
  const std::set<MatrixId> of_sources = SourceMatrices(spec);
  for (size_t i = 0; i < tensors.matrices.size(); ++i) {
    const auto id = static_cast<MatrixId>(i);
    if (id == spec.embedding.tokens || id == spec.head.linear.weights) continue;
    ProductCost& sum = of_sources.contains(id) ? cost.sources : cost.dense;
    sum.Add(CostOfMatrix(tensors.matrix(id), kernels));
  }
  for (const BoundTable& table : tensors.tables) cost.dense.Add(CostOfTable(table.view));
  for (size_t i = 0; i < tensors.stacks.size(); ++i) {
    ProductCost& sum = spec.holds_experts(static_cast<StackId>(i)) ? cost.experts : cost.dense;
    for (const BoundMatrix& matrix : tensors.stacks[i]) {
      sum.Add(CostOfMatrix(matrix, kernels));
    }
  }
  for (const LayerSpec& layer : spec.layers) {
    if (const MixtureSpec* mixture = layer.mixture()) {
      cost.expert_count = static_cast<double>(mixture->expert_count);
      cost.experts_per_token = static_cast<double>(mixture->experts_per_token);
    }
    if (layer.attention) AddAttention(layer.attention, kernels, block_size, cost.attention);
    AddStates(spec, layer, cost.states);
    if (layer.cross) AddAttention(*layer.cross, kernels, block_size, cost.cross_attention);
  }
  if (spec.encoder != nullptr) {
    for (const LayerSpec& layer : spec.encoder->layers) {
      AddAttention(layer.attention, kernels, block_size, cost.source_attention);
    }
  }
  cost.attention_on_tiles = kernels.isa == Isa::kAmx && kernels.kv_type == KvType::kBF16;
  return cost;
}

StepWork CountWork(const ModelCost& cost, std::span<const SequenceShape> sequences,
                   int64_t logit_row_count, std::span<const int64_t> source_lengths) {
  double rows = 0;
  StepWork work;
  double& operations = cost.attention_on_tiles ? work.bf16_operations : work.float_operations;
  const auto attend = [&](const AttentionCost& attention, int64_t row_count, int64_t length) {
    work.bytes += attention.kv_bytes_per_position * static_cast<double>(length);
    operations += attention.operations_per_read * static_cast<double>(row_count) *
                  static_cast<double>(length);
  };
  for (const SequenceShape& sequence : sequences) {
    const auto sequence_rows = static_cast<double>(sequence.row_count);
    rows += sequence_rows;
    work.bytes += cost.states.bytes;
    work.float_operations += cost.states.operations_per_row * sequence_rows;
    attend(cost.cross_attention, sequence.row_count, sequence.source_count);
    for (const AttentionCost& attention : cost.attention) {
      work.bytes += attention.kv_bytes_per_position * PositionsRead(sequence, attention.window);
      operations += attention.operations_per_read * PositionsSeen(sequence, attention);
    }
  }
  const auto multiply = [&](const ProductCost& product, double product_rows, double share_read) {
    work.bytes += product.bytes * share_read;
    work.int8_operations += 2 * product.int8_weights * product_rows;
    work.bf16_operations += 2 * product.bf16_weights * product_rows;
    work.float_operations += 2 * product.float_weights * product_rows;
  };
  double source_rows = 0;
  for (const int64_t length : source_lengths) {
    source_rows += static_cast<double>(length);
    attend(cost.source_attention, length, length);
  }
  work.bytes += cost.embedding_row_bytes * (rows + source_rows);
  multiply(cost.dense, rows, 1);
  if (source_rows > 0) multiply(cost.sources, source_rows, 1);
  if (cost.expert_count > 0) {
    const double chosen = cost.experts_per_token / cost.expert_count;
    multiply(cost.experts, rows * chosen, 1 - std::pow(1 - chosen, rows));
  }
  if (logit_row_count > 0) multiply(cost.head, static_cast<double>(logit_row_count), 1);
  return work;
}

NeededSeconds NeededFor(const StepWork& work, const MachineLimits& limits) {
  const auto seconds = [](double count, double per_second) {
    return per_second > 0 ? count / per_second : 0;
  };
  return {.memory = seconds(work.bytes, limits.read_bytes_per_s),
          .arithmetic = seconds(work.int8_operations, limits.int8.operations_per_s) +
                        seconds(work.bf16_operations, limits.bf16.operations_per_s) +
                        seconds(work.float_operations, limits.float32.operations_per_s)};
}

StepFloor FloorOf(const StepWork& work, const MachineLimits& limits) {
  const NeededSeconds needed = NeededFor(work, limits);
  return needed.arithmetic > needed.memory ? StepFloor{needed.arithmetic, Bound::kCompute}
                                           : StepFloor{needed.memory, Bound::kMemory};
}

}  // namespace weft
