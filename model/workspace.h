// Every intermediate buffer of a step, allocated once, so that a step allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/kernels/kernels.h"
#include "model/spec.h"

namespace weft {

// Rows of float32, row r at data + r * stride.
struct FloatRows {
  float* data = nullptr;
  int64_t stride = 0;
  float* operator[](int64_t row) const { return data + row * stride; }
  FloatRows From(int64_t row) const { return {data + row * stride, stride}; }
};

// Operand rows of one type: group g of row r at data + r * row_bytes + g * group_bytes.
struct OperandRows {
  std::byte* data = nullptr;
  int64_t row_bytes = 0;
  int64_t group_bytes = 0;
  std::byte* residuals = nullptr;  // those of row r at residuals + r * residual_row_bytes, if any
  int64_t residual_row_bytes = 0;
  std::byte* ResidualsAt(int64_t row) const { return residuals + row * residual_row_bytes; }
  std::byte* At(int64_t row, int64_t group = 0) const {
    return data + row * row_bytes + group * group_bytes;
  }
};

// The same rows in each type that the kernels may read; those of types that nobody reads hold
// nothing of use.
struct Operands {
  std::array<OperandRows, kOperandTypeCount> by_type;
  const OperandRows& of(OperandType type) const { return by_type[static_cast<size_t>(type)]; }
  Operands From(int64_t row) const {
    Operands rows = *this;
    for (OperandRows& one : rows.by_type) {
      if (one.data != nullptr) one.data = one.At(row);
      if (one.residuals != nullptr) one.residuals = one.ResidualsAt(row);
    }
    return rows;
  }
};

// Room for the operand rows of a step.
class OperandBuffer {
 public:
  OperandBuffer() = default;
  // `residuals` (int8_residual.h): room for those of each row; nullptr: rows have none.
  // `whole_rows`: a row's groups follow one another, as BLAS wants them.
  OperandBuffer(std::array<std::byte*, kOperandTypeCount> data, int64_t columns,
                std::byte* residuals, bool whole_rows)
      : data_(data), columns_(columns), residuals_(residuals), whole_rows_(whole_rows) {}

  // Its first `row_count` rows. Without whole rows a group of all of them is contiguous, which is
  // the order in which products read them.
  Operands Rows(int64_t row_count) const;

 private:
  std::array<std::byte*, kOperandTypeCount> data_ = {};
  int64_t columns_ = 0;
  std::byte* residuals_ = nullptr;
  bool whole_rows_ = false;
};

struct WorkspaceOptions {
  int64_t max_rows = 512;   // rows of one ForwardBatch
  int64_t block_size = 32;  // of the KV cache that it is used with
  int thread_count = 1;     // of the pool that it is used with
  bool has_f16 = false;     // HasF16 of its model, whose products then read rows of float32
};

// Consecutive rows of one sequence whose attention is one task a group of heads
// (AttentionSpec::heads_per_group), or one of its pieces.
struct AttentionRows {
  int32_t sequence = 0;
  int32_t first_row = 0;  // of the batch
  int32_t row_count = 0;
  // A piece: some of the spans that the rows see. Their partial results begin, for group 0, at
  // Workspace::attention_partials + partials, and group_partials further for every other one.
  int64_t first_span = 0;
  int64_t span_count = 0;  // 0: not cut, all spans are one task
  int64_t partials = 0;
  int64_t group_partials = 0;
};

// How a step's attention is cut into tasks, for all layers whose attention has this shape.
struct AttentionPlan {
  int64_t group_count = 0;
  int64_t heads_per_group = 0;
  int64_t value_dim = 0;
  int64_t window = 0;
  int64_t chunk = 0;
  int64_t lookahead = 0;
  bool reads_source = false;
  std::vector<AttentionRows> tasks = {};
  std::vector<AttentionRows> cut = {};  // those row blocks that are cut, all their spans

  explicit AttentionPlan(const AttentionSpec& attention)
      : group_count(attention.group_count()),
        heads_per_group(attention.heads_per_group()),
        value_dim(attention.value_dim),
        window(attention.window),
        chunk(attention.chunk),
        lookahead(attention.lookahead),
        reads_source(attention.reads_source) {}
  bool IsFor(const AttentionSpec& attention) const {
    return group_count == attention.group_count() &&
           heads_per_group == attention.heads_per_group() && value_dim == attention.value_dim &&
           window == attention.window && chunk == attention.chunk &&
           lookahead == attention.lookahead && reads_source == attention.reads_source;
  }
};

// cos and sin of a step's positions, under one of ModelSpec::ropes.
struct RotationRows {
  FloatRows cos, sin;  // (R, rotary_dim / 2)
};

// Plain buffers for Transformer::Forward, each as wide as the widest layer needs it, an encoder's
// before a decoder included. R is max_rows, T a slot: one (row, chosen expert) pair, R *
// experts_per_token of them, or R where the model is dense. Used by one Forward at a time.
class Workspace {
 public:
  // Wanted logits are computed and handed out in pieces of this many rows.
  static constexpr int64_t kLogitRowsPerPiece = 32;
  // Attention is cut into about this many tasks a thread where long contexts would leave fewer.
  static constexpr int64_t kAttentionTasksPerThread = 2;
  // Query positions of one attention task.
  static constexpr int64_t kRowsPerAttentionTask = 16;

  // Throws std::bad_alloc.
  Workspace(const ModelSpec& spec, const KernelTable& kernels, const WorkspaceOptions& options);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // What a Workspace will allocate.
  static int64_t Bytes(const ModelSpec& spec, const KernelTable& kernels,
                       const WorkspaceOptions& options);

  const WorkspaceOptions& options() const { return options_; }
  // The plan of layers with this attention.
  const AttentionPlan& PlanFor(const AttentionSpec& layer) const;
  std::byte* attention_scratch(int thread) const {
    return attention_scratch_ + thread * attention_scratch_bytes_;
  }

  FloatRows residual;                          // (R, D)
  FloatRows normed_row;                        // (threads, D): a row on its way to `normed`
  FloatRows ordered_row;                       // (threads, D or attended): InColumnOrder
  OperandBuffer normed;                        // (R, D), with residuals
  FloatRows query;                             // (R, query)
  FloatRows key, value;                        // (R, key), (R, value)
  std::vector<RotationRows> rotations;         // one of ModelSpec::ropes each
  FloatRows attended;                          // (R, attended): what attention gives
  OperandBuffer attention;                     // (R, attended): the same as operands
  FloatRows gate, up;                          // (T, width of the MLP)
  OperandBuffer activated;                     // (T, width of the MLP)
  FloatRows block_output;                      // (R, D): what BlockOutput does not add at once
  FloatRows per_layer_inputs;                  // (R, layers * P), if the model has them
  FloatRows per_layer_row;                     // (threads, layers * P)
  FloatRows logits;                            // (pieces of kLogitRowsPerPiece, V), contiguous
  std::vector<int32_t> row_sequence;           // (R): index into ForwardBatch::sequences
  std::vector<AttentionPlan> attention_plans;  // of this step
  float* attention_partials = nullptr;         // of one layer at a time
  int64_t attention_partial_floats = 0;

  // Latent attention only. A head's operand rows follow one another: those of head h begin at h
  // times the step's rows.
  FloatRows query_latent;               // (R, rank of queries)
  OperandBuffer query_latent_operands;  // the same, with residuals
  FloatRows head_rows;                  // (R, heads * query or value of one)
  OperandBuffer head_operands;          // (heads * R, plain part of a query or latent)

  // MoE only.
  FloatRows router_logits;              // (R, E)
  FloatRows router_corrected;           // (R, E): what experts are chosen by, where that is another
  float* row_factors = nullptr;         // (R): of a shared expert
  FloatRows expert_output;              // (T, D)
  std::vector<int32_t> chosen_expert;   // (R, experts_per_token), ascending in a row
  std::vector<float> chosen_weight;     // likewise
  std::vector<int32_t> slot_of_choice;  // likewise: where the pair stands when sorted by expert
  std::vector<int32_t> row_of_slot;     // (T), sorted by expert
  std::vector<int32_t>
      first_slot;  // (E + 1): expert e has slots [first_slot[e], first_slot[e + 1])
  std::vector<int32_t> active_experts;  // those that have slots, ascending
  std::vector<int64_t> expert_tokens;   // (layers, E): rows that chose each, in all steps so far

 private:
  class Arena;
  void Lay(const ModelSpec& spec, const KernelTable& kernels, Arena& arena);
  Workspace(const WorkspaceOptions& options, Arena& arena, const ModelSpec& spec,
            const KernelTable& kernels);

  WorkspaceOptions options_;
  AlignedBuffer storage_;
  std::byte* attention_scratch_ = nullptr;
  int64_t attention_scratch_bytes_ = 0;
};

}  // namespace weft
