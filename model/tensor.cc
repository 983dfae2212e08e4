#include "model/tensor.h"

#include "base/check.h"

namespace weft {
int64_t RowBytes(DataType type, int64_t columns) {
  const DataTypeTraits& traits = TraitsOf(type);
  WEFT_CHECK(columns % traits.block_elements == 0);
  return columns / traits.block_elements * traits.block_bytes;
}

TensorView TensorView::Contiguous(const std::byte* data, DataType type,
                                  std::initializer_list<int64_t> dims) {
  return Contiguous(data, type, std::span(dims.begin(), dims.size()));
}

TensorView TensorView::Contiguous(const std::byte* data, DataType type,
                                  std::span<const int64_t> dims) {
  WEFT_CHECK(!dims.empty() && dims.size() <= 4);
  TensorView view;
  view.data = data;
  view.type = type;
  for (const int64_t dim : dims) view.dims[static_cast<size_t>(view.rank++)] = dim;
  int64_t stride = RowBytes(type, view.columns());
  for (int i = view.rank - 2; i >= 0; --i) {
    view.strides_bytes[static_cast<size_t>(i)] = stride;
    stride *= view.dims[static_cast<size_t>(i)];
  }
  return view;
}

int64_t TensorView::element_count() const {
  int64_t count = rank == 0 ? 0 : 1;
  for (int i = 0; i < rank; ++i) count *= dims[static_cast<size_t>(i)];
  return count;
}

int64_t TensorView::size_bytes() const {
  return rank == 0 ? 0 : element_count() / columns() * RowBytes(type, columns());
}

TensorView TensorView::operator[](int64_t index) const {
  WEFT_CHECK(rank >= 2 && index >= 0 && index < dims[0]);
  TensorView view;
  view.data = data + index * strides_bytes[0];
  view.type = type;
  view.rank = rank - 1;
  for (size_t i = 0; i + 1 < 4; ++i) {
    view.dims[i] = dims[i + 1];
    view.strides_bytes[i] = strides_bytes[i + 1];
  }
  return view;
}

}  // namespace weft
