// One GGUF file: header, metadata, tensor descriptions, and where their data lies. Nothing is
// allocated for a count before the bytes that the count promises are known to be there.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/checked_math.h"
#include "base/quoted.h"
#include "model/formats/gguf.h"
#include "model/formats/gguf_types.h"
#include "model/formats/tensor_layout.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

enum class ValueType : uint32_t {
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

// The fewest bytes that a metadata entry (key length, type, one byte) and a tensor's description
// (name length, rank, one dimension, type, offset) take.
constexpr uint64_t kMinEntryBytes = 8 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMinAlignment = 8;  // the specification's; readers rely on it

template <typename T>
T Load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

struct TensorEntry {
  std::string_view name;
  DataType type = DataType::kF32;
  std::vector<int64_t> dims;  // outermost first
  uint64_t offset = 0;        // from the beginning of the data
  uint64_t size_bytes = 0;
};

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  Result<GgufContents> Parse();

 private:
  uint64_t left() const { return bytes_.size() - position_; }

  // What is being read, for messages: "length of metadata key", 'name'. Formatted on failure only.
  struct Field {
    std::string_view what;
    std::string_view owner = {};
  };
  template <typename... Args>
  tl::unexpected<Error> FailAt(ErrorCode code, const Field& field,
                               fmt::format_string<Args...> format, Args&&... args) const {
    return Fail(code, "{}: byte {}: {}{}{} {}", path_, position_, field.what,
                field.owner.empty() ? "" : " ",
                field.owner.empty() ? std::string() : Quoted(field.owner),
                fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename T>
  Result<T> Read(const Field& field);
  Result<std::string_view> ReadString(const Field& field);
  // A count of things that take at least min_bytes each in the rest of the file.
  Result<uint64_t> ReadCount(const Field& field, uint64_t min_bytes);

  Result<uint32_t> ParseVersion();
  Result<GgufValue> ParseValue(std::string_view key, uint32_t type);
  Result<GgufValue> ParseArray(std::string_view key);
  template <typename File, typename Value>
  Result<GgufValue> ParseNumber(std::string_view key);
  template <typename File, typename Value>
  Result<GgufValue> ParseNumbers(std::string_view key);
  Result<GgufValue> ParseUint64s(std::string_view key);
  Result<GgufValue> ParseBools(std::string_view key);
  Result<GgufValue> ParseStrings(std::string_view key);
  Result<bool> ToBool(std::string_view key, uint8_t byte) const;
  Result<uint64_t> Alignment(const GgufMetadata& metadata) const;
  Result<TensorEntry> ParseTensorEntry();
  Result<TensorMap> PlaceTensors(const std::vector<TensorEntry>& entries, uint64_t alignment) const;

  std::span<const std::byte> bytes_;
  const std::string& path_;
  uint64_t position_ = 0;
};

template <typename T>
Result<T> Parser::Read(const Field& field) {
  if (left() < sizeof(T)) {
    return FailAt(ErrorCode::kCorrupt, field, "takes {} bytes, but the file ends after {}",
                  sizeof(T), left());
  }
  const T value = Load<T>(bytes_.data() + position_);
  position_ += sizeof(T);
  return value;
}

Result<std::string_view> Parser::ReadString(const Field& field) {
  WEFT_ASSIGN_OR_RETURN(const uint64_t length, Read<uint64_t>(field));
  if (length > left()) {
    return FailAt(ErrorCode::kCorrupt, field, "has length {}, expected at most the {} bytes left",
                  length, left());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + position_), length);
  position_ += length;
  return text;
}

Result<uint64_t> Parser::ReadCount(const Field& field, uint64_t min_bytes) {
  WEFT_ASSIGN_OR_RETURN(const uint64_t count, Read<uint64_t>(field));
  if (count > left() / min_bytes) {
    return FailAt(ErrorCode::kCorrupt, field, "is {}, expected at most {}: {} bytes are left",
                  count, left() / min_bytes, left());
  }
  return count;
}

Result<uint32_t> Parser::ParseVersion() {
  if (bytes_.size() < 4 || std::memcmp(bytes_.data(), "GGUF", 4) != 0) {
    const std::string_view start(reinterpret_cast<const char*>(bytes_.data()),
                                 std::min<size_t>(bytes_.size(), 4));
    return Fail(ErrorCode::kCorrupt, "{}: not a GGUF file: starts with {}, expected 'GGUF'", path_,
                Quoted(start));
  }
  position_ = 4;
  WEFT_ASSIGN_OR_RETURN(const uint32_t version, Read<uint32_t>({"version"}));
  if (version == __builtin_bswap32(2) || version == __builtin_bswap32(3)) {
    return Fail(
        ErrorCode::kUnsupported,
        "{}: version is {} with its bytes in big-endian order, expected a little-endian file",
        path_, __builtin_bswap32(version));
  }
  if (version != 2 && version != 3) {
    return Fail(ErrorCode::kUnsupported, "{}: GGUF version is {}, expected 2 or 3", path_, version);
  }
  return version;
}

Result<bool> Parser::ToBool(std::string_view key, uint8_t byte) const {
  if (byte > 1) {
    return FailAt(ErrorCode::kCorrupt, {"bool of metadata key", key}, "is {}, expected 0 or 1",
                  byte);
  }
  return byte == 1;
}

template <typename File, typename Value>
Result<GgufValue> Parser::ParseNumber(std::string_view key) {
  WEFT_ASSIGN_OR_RETURN(const File value, Read<File>({"value of metadata key", key}));
  return GgufValue(std::in_place_type<Value>, value);
}

template <typename File, typename Value>
Result<GgufValue> Parser::ParseNumbers(std::string_view key) {
  WEFT_ASSIGN_OR_RETURN(const uint64_t count,
                        ReadCount({"array length of metadata key", key}, sizeof(File)));
  std::vector<Value> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    values.emplace_back(Load<File>(bytes_.data() + position_));
    position_ += sizeof(File);
  }
  return GgufValue(std::move(values));
}

// Signed where every element fits: most writers use unsigned types for small counts.
Result<GgufValue> Parser::ParseUint64s(std::string_view key) {
  WEFT_ASSIGN_OR_RETURN(GgufValue value, (ParseNumbers<uint64_t, uint64_t>(key)));
  const auto& values = std::get<std::vector<uint64_t>>(value);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (std::any_of(values.begin(), values.end(), [](uint64_t v) { return v > kMax; })) return value;
  return GgufValue(std::vector<int64_t>(values.begin(), values.end()));
}

Result<GgufValue> Parser::ParseBools(std::string_view key) {
  WEFT_ASSIGN_OR_RETURN(const uint64_t count, ReadCount({"array length of metadata key", key}, 1));
  std::vector<bool> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    WEFT_ASSIGN_OR_RETURN(values[i], ToBool(key, Load<uint8_t>(bytes_.data() + position_)));
    ++position_;
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ParseStrings(std::string_view key) {
  WEFT_ASSIGN_OR_RETURN(const uint64_t count,
                        ReadCount({"array length of metadata key", key}, sizeof(uint64_t)));
  std::vector<std::string_view> values(count);
  for (std::string_view& value : values) {
    WEFT_ASSIGN_OR_RETURN(value, ReadString({"string in the array of metadata key", key}));
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ParseArray(std::string_view key) {
  WEFT_ASSIGN_OR_RETURN(const uint32_t type, Read<uint32_t>({"array type of metadata key", key}));
  switch (static_cast<ValueType>(type)) {
    case ValueType::kUint8:
      return ParseNumbers<uint8_t, int64_t>(key);
    case ValueType::kInt8:
      return ParseNumbers<int8_t, int64_t>(key);
    case ValueType::kUint16:
      return ParseNumbers<uint16_t, int64_t>(key);
    case ValueType::kInt16:
      return ParseNumbers<int16_t, int64_t>(key);
    case ValueType::kUint32:
      return ParseNumbers<uint32_t, int64_t>(key);
    case ValueType::kInt32:
      return ParseNumbers<int32_t, int64_t>(key);
    case ValueType::kFloat32:
      return ParseNumbers<float, double>(key);
    case ValueType::kBool:
      return ParseBools(key);
    case ValueType::kString:
      return ParseStrings(key);
    case ValueType::kUint64:
      return ParseUint64s(key);
    case ValueType::kInt64:
      return ParseNumbers<int64_t, int64_t>(key);
    case ValueType::kFloat64:
      return ParseNumbers<double, double>(key);
    case ValueType::kArray:
      return FailAt(ErrorCode::kUnsupported, {"array type of metadata key", key},
                    "is 9 (an array of arrays), expected an array of numbers, bools or strings");
  }
  return FailAt(ErrorCode::kCorrupt, {"array type of metadata key", key}, "is {}, expected 0 to 12",
                type);
}

Result<GgufValue> Parser::ParseValue(std::string_view key, uint32_t type) {
  const Field field = {"value of metadata key", key};
  switch (static_cast<ValueType>(type)) {
    case ValueType::kUint8:
      return ParseNumber<uint8_t, int64_t>(key);
    case ValueType::kInt8:
      return ParseNumber<int8_t, int64_t>(key);
    case ValueType::kUint16:
      return ParseNumber<uint16_t, int64_t>(key);
    case ValueType::kInt16:
      return ParseNumber<int16_t, int64_t>(key);
    case ValueType::kUint32:
      return ParseNumber<uint32_t, int64_t>(key);
    case ValueType::kInt32:
      return ParseNumber<int32_t, int64_t>(key);
    case ValueType::kFloat32:
      return ParseNumber<float, double>(key);
    case ValueType::kBool: {
      WEFT_ASSIGN_OR_RETURN(const uint8_t byte, Read<uint8_t>(field));
      WEFT_ASSIGN_OR_RETURN(const bool value, ToBool(key, byte));
      return GgufValue(value);
    }
    case ValueType::kString: {
      WEFT_ASSIGN_OR_RETURN(const std::string_view text, ReadString(field));
      return GgufValue(text);
    }
    case ValueType::kArray:
      return ParseArray(key);
    case ValueType::kUint64: {
      WEFT_ASSIGN_OR_RETURN(const uint64_t value, Read<uint64_t>(field));
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return GgufValue(value);
      }
      return GgufValue(static_cast<int64_t>(value));
    }
    case ValueType::kInt64:
      return ParseNumber<int64_t, int64_t>(key);
    case ValueType::kFloat64:
      return ParseNumber<double, double>(key);
  }
  return FailAt(ErrorCode::kCorrupt, {"type of metadata key", key}, "is {}, expected 0 to 12",
                type);
}

Result<uint64_t> Parser::Alignment(const GgufMetadata& metadata) const {
  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> value, metadata.GetInt("general.alignment"));
  if (!value) return kDefaultAlignment;
  const auto alignment = static_cast<uint64_t>(*value);
  if (*value < static_cast<int64_t>(kMinAlignment) || !std::has_single_bit(alignment)) {
    return Fail(
        ErrorCode::kCorrupt,
        "{}: metadata key 'general.alignment' is {}, expected a power of two of at least {}", path_,
        *value, kMinAlignment);
  }
  return alignment;
}

Result<TensorEntry> Parser::ParseTensorEntry() {
  TensorEntry entry;
  WEFT_ASSIGN_OR_RETURN(entry.name, ReadString({"name of a tensor"}));
  WEFT_ASSIGN_OR_RETURN(const uint32_t rank,
                        Read<uint32_t>({"number of dimensions of tensor", entry.name}));
  if (rank < 1 || rank > 4) {
    return FailAt(ErrorCode::kCorrupt, {"number of dimensions of tensor", entry.name},
                  "is {}, expected 1 to 4", rank);
  }
  uint64_t dims[4] = {};
  for (uint32_t i = 0; i < rank; ++i) {
    WEFT_ASSIGN_OR_RETURN(dims[rank - 1 - i], Read<uint64_t>({"dimension of tensor", entry.name}));
  }
  WEFT_ASSIGN_OR_RETURN(const uint32_t type_number, Read<uint32_t>({"type of tensor", entry.name}));
  WEFT_ASSIGN_OR_RETURN(entry.offset, Read<uint64_t>({"offset of tensor", entry.name}));

  const auto with_tensor = [&](Error error) {
    error.message = fmt::format("{}: tensor {}: {}", path_, Quoted(entry.name), error.message);
    return error;
  };
  const Result<DataType> type = DataTypeOfGgml(type_number);
  if (!type) return tl::unexpected(with_tensor(type.error()));
  entry.type = *type;
  const Result<uint64_t> size_bytes = CheckedTensorBytes(*type, std::span(dims, rank));
  if (!size_bytes) return tl::unexpected(with_tensor(size_bytes.error()));
  entry.size_bytes = *size_bytes;
  entry.dims.assign(dims, dims + rank);
  return entry;
}

Result<TensorMap> Parser::PlaceTensors(const std::vector<TensorEntry>& entries,
                                       uint64_t alignment) const {
  TensorMap tensors;
  if (entries.empty()) return tensors;  // a vocabulary: the file may end before the alignment
  // No overflow: position_ is at most the size of the file, and alignment is at most 2^62.
  const uint64_t data_begin = (position_ + alignment - 1) / alignment * alignment;
  const uint64_t data_bytes = bytes_.size() - std::min<uint64_t>(data_begin, bytes_.size());
  std::vector<DataExtent> extents;
  for (const TensorEntry& entry : entries) {
    if (entry.offset % alignment != 0) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {}: offset {} is not a multiple of alignment {}",
                  path_, Quoted(entry.name), entry.offset, alignment);
    }
    const std::optional<uint64_t> end = CheckedAdd(entry.offset, entry.size_bytes);
    if (!end || *end > data_bytes) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: tensor {}: offset {} + size {} exceeds the {} bytes of data in the file",
                  path_, Quoted(entry.name), entry.offset, entry.size_bytes, data_bytes);
    }
    const TensorView view = TensorView::Contiguous(bytes_.data() + data_begin + entry.offset,
                                                   entry.type, std::span(entry.dims));
    if (!tensors.emplace(entry.name, view).second) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} is there twice, expected once", path_,
                  Quoted(entry.name));
    }
    extents.push_back({entry.name, entry.offset, *end});
  }
  WEFT_RETURN_IF_ERROR(CheckNoOverlap(path_, extents));
  return tensors;
}

Result<GgufContents> Parser::Parse() {
  GgufContents contents;
  WEFT_ASSIGN_OR_RETURN(contents.version, ParseVersion());
  WEFT_ASSIGN_OR_RETURN(const uint64_t tensor_count, ReadCount({"tensor count"}, kMinTensorBytes));
  WEFT_ASSIGN_OR_RETURN(const uint64_t entry_count,
                        ReadCount({"metadata entry count"}, kMinEntryBytes));

  std::map<std::string, GgufValue, std::less<>> values;
  for (uint64_t i = 0; i < entry_count; ++i) {
    WEFT_ASSIGN_OR_RETURN(const std::string_view key, ReadString({"a metadata key"}));
    WEFT_ASSIGN_OR_RETURN(const uint32_t type, Read<uint32_t>({"type of metadata key", key}));
    WEFT_ASSIGN_OR_RETURN(GgufValue value, ParseValue(key, type));
    if (!values.emplace(key, std::move(value)).second) {
      return FailAt(ErrorCode::kCorrupt, {"metadata key", key}, "is there twice, expected once");
    }
  }
  contents.metadata = GgufMetadata(path_, std::move(values));
  WEFT_ASSIGN_OR_RETURN(const uint64_t alignment, Alignment(contents.metadata));

  std::vector<TensorEntry> entries;
  entries.reserve(tensor_count);
  for (uint64_t i = 0; i < tensor_count; ++i) {
    WEFT_ASSIGN_OR_RETURN(TensorEntry entry, ParseTensorEntry());
    entries.push_back(std::move(entry));
  }
  WEFT_ASSIGN_OR_RETURN(contents.tensors, PlaceTensors(entries, alignment));
  return contents;
}

}  // namespace

Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, const std::string& path) {
  return Parser(bytes, path).Parse();
}

}  // namespace weft
