// The shortest time in which this machine could compute a step: the model of cost that `weft bench`
// holds its figures against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/checkpoint.h"
#include "model/kernels/kernels.h"
#include "server/metrics/machine_limits.h"

namespace weft {

// Weights that a row is multiplied with, by the arithmetic of the product, and the bytes that hold
// them once packed.
struct ProductCost {
  double bytes = 0;
  double int8_weights = 0;
  double bf16_weights = 0;
  double float_weights = 0;

  void Add(const ProductCost& other, double factor = 1);
};

// Attention of all layers with one window and lookahead.
struct AttentionCost {
  int64_t window = 0;     // 0: none
  int64_t lookahead = 0;  // AttentionSpec's
  double kv_bytes_per_position = 0;
  double operations_per_read = 0;  // one row, one position that it sees
};

// What the steps of a model cost; sums over all layers.
struct ModelCost {
  double embedding_row_bytes = 0;
  ProductCost dense;    // what every row passes, but for the head
  ProductCost experts;  // all experts
  ProductCost head;
  // Of an encoder-decoder: what every row of a source passes, reading the others as often as there
  // are rows, and what a row of its text reads of each position of its source.
  ProductCost sources = {};
  AttentionCost source_attention = {};
  AttentionCost cross_attention = {};
  double expert_count = 0;
  double experts_per_token = 0;
  std::vector<AttentionCost> attention;  // one entry for each window that layers have
  double state_bytes = 0;           // of the states of fixed size that a sequence's layers keep
  double state_operations = 0;      // a row's
  bool attention_on_tiles = false;  // of AMX, at the rate of bf16 products
};

// The rows of one sequence in a step, at consecutive positions.
struct SequenceShape {
  int64_t first_position = 0;
  int64_t row_count = 1;
  int64_t source_count = 0;  // positions of its source
};

// Bytes read and operations (multiplications and additions) of a step or of several.
struct StepWork {
  double bytes = 0;
  double int8_operations = 0;
  double bf16_operations = 0;
  double float_operations = 0;

  void Add(const StepWork& other);
};

// How long the work would take at the machine's limits; a peak that was not measured limits
// nothing.
struct NeededSeconds {
  double memory = 0;
  double arithmetic = 0;
};

enum class Bound { kMemory, kCompute };

struct StepFloor {
  double seconds = 0;
  Bound bound = Bound::kMemory;
};

// For these weights, packed for these kernels, and a cache that holds a block of `block_size`
// positions as the kernels want it. Before loading: the tensors are there.
ModelCost CostOf(const Checkpoint& checkpoint, const KernelTable& kernels, int64_t block_size);

// Every weight is read once a step, of the embedding only the rows looked up, of the experts those
// that tokens are expected to touch if they choose evenly: E * (1 - (1 - k/E)^rows). K and V of the
// positions that a sequence's rows see are read once, and so are its states. The head counts for
// `logit_row_count` rows. Norms, RoPE, softmax and activations count for nothing, nor does what is
// written. `source_lengths`: of the sources that the step computes.
StepWork CountWork(const ModelCost& cost, std::span<const SequenceShape> sequences,
                   int64_t logit_row_count, std::span<const int64_t> source_lengths = {});

NeededSeconds NeededFor(const StepWork& work, const MachineLimits& limits);

// The larger of the two.
StepFloor FloorOf(const StepWork& work, const MachineLimits& limits);

}  // namespace weft
