#include "model/formats/assembled_tensor.h"

#include "base/check.h"

namespace weft {

AssembledTensor AssembledTensor::operator[](int64_t index) const {
  WEFT_CHECK(view.rank == 3 && index >= 0 && index < view.dims[0]);
  AssembledTensor entry;
  for (const TensorView& part : parts) entry.parts.push_back(part[index]);
  const int64_t first_row = index * view.dims[1];
  entry.view = view[index];
  entry.view.data = entry.parts.front().data;
  entry.read_row = [read_row = read_row, first_row](int64_t row, std::byte* out) {
    read_row(first_row + row, out);
  };
  return entry;
}

}  // namespace weft
