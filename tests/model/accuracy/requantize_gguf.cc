// A GGUF file with its matrices in another type.
#include <cstring>
#include <map>
#include <stdexcept>

#include "model/formats/dequantize.h"
#include "model/formats/gguf.h"
#include "model/formats/gguf_types.h"
#include "tests/model/accuracy/quantize.h"
#include "tests/model/formats/gguf_builder.h"

namespace weft {
namespace {

// Walks over metadata that ParseGguf has accepted.
class MetadataReader {
 public:
  explicit MetadataReader(std::span<const std::byte> file) : file_(file) {
    Skip(8);
    Read<uint64_t>();  // tensors
    entry_count_ = Read<uint64_t>();
  }

  // Entry by entry, bytes unchanged.
  void CopyTo(GgufBuilder& builder) {
    for (uint64_t i = 0; i < entry_count_; ++i) {
      const std::string_view key = AsText(Skip(Read<uint64_t>()));
      const auto type = static_cast<GgufType>(Read<uint32_t>());
      const size_t begin = position_;
      SkipValue(type);
      if (key == "general.file_type") continue;
      builder.Entry(key, type, file_.subspan(begin, position_ - begin));
    }
  }

 private:
  std::span<const std::byte> Skip(uint64_t size) {
    position_ += size;
    return file_.subspan(position_ - size, size);
  }
  template <typename T>
  T Read() {
    T value;
    std::memcpy(&value, Skip(sizeof value).data(), sizeof value);
    return value;
  }
  void SkipValue(GgufType type) {
    switch (type) {
      case GgufType::kUint8:
      case GgufType::kInt8:
      case GgufType::kBool:
        Skip(1);
        return;
      case GgufType::kUint16:
      case GgufType::kInt16:
        Skip(2);
        return;
      case GgufType::kUint32:
      case GgufType::kInt32:
      case GgufType::kFloat32:
        Skip(4);
        return;
      case GgufType::kUint64:
      case GgufType::kInt64:
      case GgufType::kFloat64:
        Skip(8);
        return;
      case GgufType::kString:
        Skip(Read<uint64_t>());
        return;
      case GgufType::kArray: {
        const auto element_type = static_cast<GgufType>(Read<uint32_t>());
        const auto count = Read<uint64_t>();
        for (uint64_t i = 0; i < count; ++i) SkipValue(element_type);
      }
    }
  }

  std::span<const std::byte> file_;
  size_t position_ = 0;
  uint64_t entry_count_ = 0;
};

uint32_t GgmlNumberOf(DataType type) {
  for (uint32_t number = 0; number < 64; ++number) {
    const Result<DataType> found = DataTypeOfGgml(number);
    if (found && *found == type) return number;
  }
  throw std::logic_error("a DataType without a number in GGUF");
}

GgufContents Parse(std::span<const std::byte> source) {
  Result<GgufContents> contents = ParseGguf(source, "source");
  if (!contents) throw std::runtime_error(contents.error().message);
  return *std::move(contents);
}

bool IsMatrix(const std::string& name, const TensorView& tensor) {
  return tensor.rank >= 2 && name.find("ffn_gate_inp") == std::string::npos;
}
bool Fits(const TensorView& tensor, DataType type) {
  return tensor.columns() % TraitsOf(type).block_elements == 0;
}

std::vector<std::byte> Requantize(const TensorView& tensor, DataType type) {
  const int64_t columns = tensor.columns();
  const int64_t row_bytes = RowBytes(tensor.type, columns);
  std::vector<float> row(static_cast<size_t>(columns));
  ByteWriter out;
  for (int64_t i = 0; i < tensor.element_count() / columns; ++i) {
    DequantizeRow(tensor.type, tensor.data + i * row_bytes, columns, row.data());
    out.Bytes(QuantizeRow(type, row));
  }
  return out.bytes();
}

}  // namespace

std::vector<std::byte> RequantizeGguf(std::span<const std::byte> source, DataType type) {
  const GgufContents contents = Parse(source);
  GgufBuilder builder;
  MetadataReader(source).CopyTo(builder);
  for (const auto& [name, tensor] : contents.tensors) {
    const bool changes = IsMatrix(name, tensor) && Fits(tensor, type);
    const DataType new_type = changes ? type : tensor.type;
    const std::vector<uint64_t> dims(std::make_reverse_iterator(tensor.dims.begin() + tensor.rank),
                                     tensor.dims.rend());
    if (new_type == tensor.type) {
      builder.Tensor(name, GgmlNumberOf(new_type), dims,
                     {tensor.data, static_cast<size_t>(tensor.size_bytes())});
    } else {
      builder.Tensor(name, GgmlNumberOf(new_type), dims, Requantize(tensor, new_type));
    }
  }
  return builder.Build();
}

double ShareThatFits(std::span<const std::byte> source, DataType type) {
  double all = 0;
  double fitting = 0;
  for (const auto& [name, tensor] : Parse(source).tensors) {
    if (!IsMatrix(name, tensor)) continue;
    const auto elements = static_cast<double>(tensor.element_count());
    all += elements;
    if (Fits(tensor, type)) fitting += elements;
  }
  return fitting / all;
}

}  // namespace weft
