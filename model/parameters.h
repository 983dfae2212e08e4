// What a model is made of: one list of parameters. A family writes it, and binding, packing, the
// memory plan, inspection and the cost of a step all go over it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/formats/assembled_tensor.h"
#include "model/kernels/kernels.h"
#include "model/tensor.h"

namespace weft {

// Places in the three lists below. kNone: the model has no such parameter.
enum class MatrixId : int32_t { kNone = -1 };
enum class StackId : int32_t { kNone = -1 };
enum class TableId : int32_t { kNone = -1 };

// Which rows of a tensor a parameter takes: runs of them, `stride` apart.
struct RowOrder {
  int64_t first = 0;
  int64_t run = 0;  // 0: all rows are one run
  int64_t stride = 0;

  int64_t operator()(int64_t row) const {
    return first + (run == 0 ? row : row / run * stride + row % run);
  }
};

// Where a parameter lies in a checkpoint: a tensor, or some rows of one.
struct TensorSource {
  // "{}" stands for an index: a stack's entry's, or a table's row's, where each is a tensor.
  std::string name;
  RowOrder rows = {};          // in the tensor, or in each entry of a stacked one
  int64_t tensor_rows = 0;     // rows of the whole; 0: as many as the parameter has
  bool is_transposed = false;  // the tensor has its rows as columns
  // Of a stack in a tensor of two dimensions: each matrix is among `entry_rows` of its rows, from
  // the `entry_first`-th of these on.
  int64_t entry_rows = 0;
  int64_t entry_first = 0;
  RowOrder columns = {};  // of a table: which columns of the whole
  int64_t tensor_columns = 0;
};

// One matrix, or a stack of equal ones, or a table of float32. Shapes are (rows = outputs, columns
// = inputs).
struct Parameter {
  std::vector<TensorSource> sources;  // the first one that the checkpoint has counts
  int64_t rows = 0;
  int64_t columns = 0;  // of a table 0: a vector of `rows` elements
  int64_t count = 1;    // matrices of a stack
  // The products with this matrix are one loop with those of the matrix before it in the list.
  bool continues_loop = false;
  bool is_optional = false;  // a table that not all checkpoints have
  float plus = 0;   // added to each element of a table: norms of which files hold the weight less 1
  float times = 1;  // and what it is multiplied by
  // Of a table that no tensor holds, since it follows from sizes: made when it is packed, after
  // these have been held against the tensors and the memory.
  std::function<std::vector<float>()> values = {};
  // Of a table that is more than what a tensor holds: what is made of that when it is packed, and
  // how many elements that has.
  std::function<std::vector<float>(const std::vector<float>&)> expand = {};
  int64_t expanded_count = 0;
};

struct ParameterList {
  std::vector<Parameter> matrices;
  std::vector<Parameter> stacks;
  std::vector<Parameter> tables;
  // How tensors begin that the model is computed without: layers that guess tokens further ahead.
  std::vector<std::string> unused_prefixes = {};
};

// Parameters bound to the bytes of a checkpoint. The view has the parameter's shape; where rows are
// not those of a plain range, or transposed, it is to be read through both. What is assembled is
// read through that.
struct BoundMatrix {
  TensorView view;
  RowOrder rows = {};
  bool is_transposed = false;
  bool continues_loop = false;
  std::shared_ptr<const AssembledTensor> assembled = {};
  std::optional<DataType> becomes = {};  // when it is packed: BF16, or a type that HasQuantizer

  // Of what is packed.
  DataType type() const { return becomes.value_or(view.type); }
  bool is_as_stored() const { return rows.run == 0 && !is_transposed && !assembled && !becomes; }
};
struct BoundTable {
  TensorView view = {};
  std::shared_ptr<const AssembledTensor> assembled = {};
  RowOrder rows = {};
  RowOrder columns = {};
  int64_t stored_columns = 0;  // if `columns` are some of more
  float plus = 0;
  float times = 1;
  std::function<std::vector<float>()> values = {};  // if there is no view
  std::function<std::vector<float>(const std::vector<float>&)> expand = {};
  int64_t value_count = 0;  // of what is made, with or without a view; 0: as many as are stored
  std::vector<TensorView> entries = {};  // if each row is a tensor of its own
};

// The same three lists, bound.
struct ModelTensors {
  std::vector<BoundMatrix> matrices;
  std::vector<std::vector<BoundMatrix>> stacks;
  std::vector<BoundTable> tables;

  const BoundMatrix& matrix(MatrixId id) const { return matrices[static_cast<size_t>(id)]; }
};

// Has all matrices that a file holds without quantisation, or in floats of few bits (FP8, nf4,
// fp4), those of stacks included, become `type` (HasQuantizer), before memory is planned. Q8_0
// where their columns make no whole blocks of it, but whole ones of Q8_0; as they are where they
// make neither. `head`, if there is one, becomes Q6_K where `type` has fewer bits, as llama.cpp has
// it.
void QuantizeMatrices(ModelTensors& tensors, DataType type, MatrixId head);

// What matrices are held in.
struct WeightsChoice {
  // QuantizeMatrices; kBF16: F16 and floats of few bits become that. Without a type floats of few
  // bits do, which is what products round them to: twice to three times the memory, and on
  // processors that unpack them slowly as many times the speed of few rows; and where no arithmetic
  // is asked for and the processor multiplies bf16 itself (MultipliesBF16), F16 does, for at least
  // twice the speed of many rows.
  std::optional<DataType> type = {};
  bool keeps_file = false;  // without a type: everything stays what it is
};
// Has matrices become what is chosen, before memory is planned. Under the f32 arithmetic, which
// rounds nothing, what is not quantised stays. `arithmetic`: what was asked for.
void ChooseWeights(ModelTensors& tensors, const WeightsChoice& choice,
                   std::optional<Arithmetic> arithmetic, Isa isa, MatrixId head);

// Whether products with some matrix are those of weights of f16.
bool HasF16(const ModelTensors& tensors);

// What ChooseWeights has decided, as "112 matrices Q4_K, 1 Q6_K, 2 as in the file"; empty:
// nothing becomes another type.
std::string DescribeConversion(const ModelTensors& tensors);

}  // namespace weft
