// Writes small GGUF files for tests, honest ones and, through the overrides, hostile ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Little-endian bytes, appended one thing at a time.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    return Bytes(std::as_bytes(std::span(&value, 1)));
  }
  ByteWriter& Text(std::string_view text) {  // without a length
    return Bytes(std::as_bytes(std::span(text)));
  }
  ByteWriter& String(std::string_view text) {  // GGUF's: u64 length, bytes
    return Number<uint64_t>(text.size()).Text(text);
  }
  ByteWriter& Bytes(std::span<const std::byte> data) {
    const size_t begin = bytes_.size();
    bytes_.resize(begin + data.size());
    if (!data.empty()) std::memcpy(bytes_.data() + begin, data.data(), data.size());
    return *this;
  }
  ByteWriter& PadTo(size_t multiple) {
    while (bytes_.size() % multiple != 0) bytes_.push_back(std::byte{0});
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// GGUF's numbers for metadata types.
enum class GgufType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

template <typename T>
constexpr GgufType GgufTypeOf() {
  if constexpr (std::is_same_v<T, uint8_t>) return GgufType::kUint8;
  if constexpr (std::is_same_v<T, int8_t>) return GgufType::kInt8;
  if constexpr (std::is_same_v<T, uint16_t>) return GgufType::kUint16;
  if constexpr (std::is_same_v<T, int16_t>) return GgufType::kInt16;
  if constexpr (std::is_same_v<T, uint32_t>) return GgufType::kUint32;
  if constexpr (std::is_same_v<T, int32_t>) return GgufType::kInt32;
  if constexpr (std::is_same_v<T, float>) return GgufType::kFloat32;
  if constexpr (std::is_same_v<T, bool>) return GgufType::kBool;
  if constexpr (std::is_same_v<T, uint64_t>) return GgufType::kUint64;
  if constexpr (std::is_same_v<T, int64_t>) return GgufType::kInt64;
  if constexpr (std::is_same_v<T, double>) return GgufType::kFloat64;
}

// ggml's numbers for tensor types, those that tests write.
inline constexpr uint32_t kGgmlF32 = 0;
inline constexpr uint32_t kGgmlF16 = 1;
inline constexpr uint32_t kGgmlQ4_0 = 2;
inline constexpr uint32_t kGgmlQ8_0 = 8;
inline constexpr uint32_t kGgmlQ8_1 = 9;
inline constexpr uint32_t kGgmlQ6_K = 14;
inline constexpr uint32_t kGgmlBF16 = 30;

// Every method returns *this. What is set to a value here is written as it is, true or not.
class GgufBuilder {
 public:
  // --- metadata: the type written is the C++ type of the value
  template <typename T>
  GgufBuilder& Set(std::string_view key, T value) {
    return Entry(key, GgufTypeOf<T>(), ByteWriter().Number(value).bytes());
  }
  GgufBuilder& SetString(std::string_view key, std::string_view text) {
    return Entry(key, GgufType::kString, ByteWriter().String(text).bytes());
  }
  template <typename T>
  GgufBuilder& SetArray(std::string_view key, const std::vector<T>& values) {
    ByteWriter writer;
    writer.Number(static_cast<uint32_t>(GgufTypeOf<T>())).Number<uint64_t>(values.size());
    for (const T value : values) writer.Number(value);
    return Entry(key, GgufType::kArray, writer.bytes());
  }
  GgufBuilder& SetStrings(std::string_view key, const std::vector<std::string>& values) {
    ByteWriter writer;
    writer.Number(static_cast<uint32_t>(GgufType::kString)).Number<uint64_t>(values.size());
    for (const std::string& value : values) writer.String(value);
    return Entry(key, GgufType::kArray, writer.bytes());
  }
  // The value's bytes by hand: GgufType{13}, wrong lengths, ...
  GgufBuilder& Entry(std::string_view key, GgufType type, std::span<const std::byte> value) {
    entries_.String(key).Number(static_cast<uint32_t>(type)).Bytes(value);
    ++entry_count_;
    return *this;
  }

  // --- tensors: dims innermost first, as GGUF has them; data may have any length
  GgufBuilder& Tensor(std::string_view name, uint32_t ggml_type, const std::vector<uint64_t>& dims,
                      std::span<const std::byte> data,
                      std::optional<uint64_t> offset_override = std::nullopt) {
    tensors_.String(name).Number<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) tensors_.Number(dim);
    tensors_.Number(ggml_type).Number<uint64_t>(offset_override.value_or(data_.bytes().size()));
    data_.Bytes(data).PadTo(alignment_);
    ++tensor_count_;
    return *this;
  }
  GgufBuilder& FloatTensor(std::string_view name, const std::vector<uint64_t>& dims,
                           const std::vector<float>& values) {
    return Tensor(name, kGgmlF32, dims, std::as_bytes(std::span(values)));
  }

  // --- overrides
  GgufBuilder& Magic(std::string_view magic) { return magic_ = magic, *this; }
  GgufBuilder& Version(uint32_t version) { return version_ = version, *this; }
  GgufBuilder& TensorCount(uint64_t count) { return tensor_count_override_ = count, *this; }
  GgufBuilder& EntryCount(uint64_t count) { return entry_count_override_ = count, *this; }
  // Of the layout only, before the first tensor; "general.alignment" is for the caller to set.
  GgufBuilder& LayoutAlignment(size_t alignment) { return alignment_ = alignment, *this; }

  std::vector<std::byte> Build() const {
    ByteWriter file;
    file.Text(magic_).Number(version_);
    file.Number<uint64_t>(tensor_count_override_.value_or(tensor_count_));
    file.Number<uint64_t>(entry_count_override_.value_or(entry_count_));
    file.Bytes(entries_.bytes()).Bytes(tensors_.bytes());
    if (tensor_count_ > 0) file.PadTo(alignment_).Bytes(data_.bytes());
    return file.bytes();
  }
  void Write(const std::string& path) const {
    std::ofstream(path, std::ios::binary) << AsText(Build());
  }

 private:
  std::string magic_ = "GGUF";
  uint32_t version_ = 3;
  size_t alignment_ = 32;
  uint64_t entry_count_ = 0;
  uint64_t tensor_count_ = 0;
  std::optional<uint64_t> entry_count_override_;
  std::optional<uint64_t> tensor_count_override_;
  ByteWriter entries_;
  ByteWriter tensors_;
  ByteWriter data_;
};

}  // namespace weft
