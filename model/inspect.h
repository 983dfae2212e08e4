// What a model file holds, in words: the text of `weft inspect MODEL`.
#pragma once

#include <cstdint>
#include <string>

#include "model/checkpoint.h"
#include "model/kernels/kernels.h"
#include "model/parameters.h"
#include "model/tensor.h"

namespace weft {

// What the memory that a model takes depends on, beside the model.
struct InspectOptions {
  Isa isa = Isa::kScalar;  // of the kernels whose packing is measured
  int thread_count = 1;
  int64_t max_batch_tokens = 512;  // rows of one step
  int64_t block_size = 32;         // positions of a KV block
};

// What a checkpoint's tensors come to. Before it is loaded: then they are gone.
struct TensorTotals {
  int64_t parameter_count = 0;
  DataType main_type = DataType::kF32;  // that most parameters are stored in
};
TensorTotals TotalsOf(const ModelTensors& tensors);

// Several lines, each "name  facts", the last one ended too: architecture and sizes, parameters,
// attention, RoPE, experts, tokenizer, chat template, the types of its tensors with their bytes,
// for each arithmetic the memory for weights, KV cache and workspace, and an 8-bit cache's. Names
// from the file are quoted and escaped.
std::string DescribeCheckpoint(const Checkpoint& checkpoint, const InspectOptions& options);

}  // namespace weft
