// Weights that safetensors keep in several tensors: codes, scales and what belongs to them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/tensor.h"

namespace weft {

// A matrix, or a stack of them, that is put together row by row when it is packed.
struct AssembledTensor {
  // The whole: the type that its rows get, and its shape. Its data is the first part's, which says
  // where it lies, and is not to be read.
  TensorView view;
  // What it is made of, for giving pages back. Of a stack each has the stack's first dimension.
  std::vector<TensorView> parts;
  // Writes one row, of a stack counted through all its matrices: RowBytes(view.type, columns)
  // bytes. Any number of threads at a time.
  std::function<void(int64_t row, std::byte* out)> read_row;
  // Of a matrix whose columns share scales with others than their neighbours ("act-order"): the
  // same one in fewer bits, with its columns in the order in which neighbours do; nullptr: there is
  // none.
  std::shared_ptr<const AssembledTensor> ordered = {};
  // Of such a one: where its columns are in the other.
  std::vector<int32_t> column_order = {};

  // A matrix of a stack.
  AssembledTensor operator[](int64_t index) const;
};
using AssembledTensors = std::map<std::string, std::shared_ptr<const AssembledTensor>, std::less<>>;

}  // namespace weft
