#include "model/formats/safetensors.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/quoted.h"
#include "model/formats/safetensors_json.h"
#include "model/formats/tensor_layout.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kIndexName = "model.safetensors.index.json";

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr DataType kTypes[] = {
    DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kU8,      DataType::kI8,
    DataType::kI32, DataType::kU32, DataType::kI64,  DataType::kF8_E4M3, DataType::kF8_E8M0};

std::string TypeNames() {
  std::string names;
  for (const DataType type : kTypes) {
    names.append(names.empty() ? "" : ", ").append(TraitsOf(type).name);
  }
  return names;
}

std::optional<DataType> DataTypeOf(std::string_view dtype) {
  for (const DataType type : kTypes) {
    if (TraitsOf(type).name == dtype) return type;
  }
  return std::nullopt;
}

Result<TensorView> PlaceTensor(const SafetensorsEntry& entry, std::span<const std::byte> data,
                               const std::string& path) {
  const std::optional<DataType> type = DataTypeOf(entry.dtype);
  if (!type) {
    return Fail(ErrorCode::kUnsupported,
                "{}: tensor {}: dtype {} is not supported, expected one of {}", path,
                Quoted(entry.name), Quoted(entry.dtype), TypeNames());
  }
  std::vector<uint64_t> shape = entry.shape;
  if (shape.empty()) shape.push_back(1);  // a scalar
  const Result<uint64_t> size_bytes = CheckedTensorBytes(*type, shape);
  if (!size_bytes) {
    return Fail(size_bytes.error().code, "{}: tensor {}: {}", path, Quoted(entry.name),
                size_bytes.error().message);
  }
  if (entry.begin > entry.end || entry.end > data.size()) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tensor {}: data_offsets [{}, {}] do not lie in the {} bytes of data", path,
                Quoted(entry.name), entry.begin, entry.end, data.size());
  }
  if (entry.end - entry.begin != *size_bytes) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tensor {}: data_offsets [{}, {}] hold {} bytes, expected {} for its shape",
                path, Quoted(entry.name), entry.begin, entry.end, entry.end - entry.begin,
                *size_bytes);
  }
  // No text's tensor has more than a view can have; a convolution over images in time has.
  std::vector<int64_t> dims(shape.begin(), shape.end());
  for (; dims.size() > 4; dims.pop_back()) dims[dims.size() - 2] *= dims.back();
  return TensorView::Contiguous(data.data() + entry.begin, *type, std::span(dims));
}

// A shard lies beside its index: nothing that could lead elsewhere.
Result<void> CheckShardName(const std::string& index_path, const std::string& name) {
  const bool is_plain = name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos &&
                        name.ends_with(".safetensors") && name.front() != '.';
  if (is_plain) return {};
  return Fail(ErrorCode::kCorrupt,
              "{}: 'weight_map': file name is {}, expected NAME.safetensors in the same directory",
              index_path, Quoted(name));
}

// The tensors of this file alone, which `files` holds too afterwards.
Result<TensorMap> AddFile(const std::string& path, SafetensorsFiles& files) {
  WEFT_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  Result<TensorMap> parsed = ParseSafetensors(mapped.bytes(), path);
  // First: what is wrong with a file that shrinks is not what it then seems to hold.
  WEFT_RETURN_IF_ERROR(mapped.CheckUnchanged());
  if (!parsed) return parsed;
  TensorMap tensors = *std::move(parsed);
  for (const auto& [name, view] : tensors) {
    if (!files.tensors.emplace(name, view).second) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} is in another shard too, expected once", path,
                  Quoted(name));
    }
  }
  files.files.push_back(std::move(mapped));
  return tensors;
}

Result<SafetensorsFiles> OpenShards(const std::string& directory) {
  const std::string index_path = fmt::format("{}/{}", directory, kIndexName);
  WEFT_ASSIGN_OR_RETURN(const std::string index, ReadFile(index_path, kMaxHeaderBytes));
  WEFT_ASSIGN_OR_RETURN(const auto weight_map, ParseSafetensorsIndex(index, index_path));
  std::map<std::string, std::set<std::string_view>> tensors_of_shard;
  for (const auto& [tensor, shard] : weight_map) {
    WEFT_RETURN_IF_ERROR(CheckShardName(index_path, shard));
    tensors_of_shard[shard].insert(tensor);
  }
  SafetensorsFiles files;
  for (const auto& [shard, tensors] : tensors_of_shard) {
    const std::string path = fmt::format("{}/{}", directory, shard);
    WEFT_ASSIGN_OR_RETURN(const TensorMap found, AddFile(path, files));
    for (const std::string_view tensor : tensors) {
      if (!found.contains(tensor)) {
        return Fail(ErrorCode::kCorrupt, "{}: tensor {} is absent, but {} says it is there", path,
                    Quoted(tensor), kIndexName);
      }
    }
  }
  return files;
}

}  // namespace

Result<TensorMap> ParseSafetensors(std::span<const std::byte> bytes, const std::string& path) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) {
    return Fail(ErrorCode::kCorrupt, "{}: has {} bytes, expected a header length of 8 bytes first",
                path, bytes.size());
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  bytes = bytes.subspan(sizeof header_bytes);
  const uint64_t max_header_bytes = std::min<uint64_t>(bytes.size(), kMaxHeaderBytes);
  if (header_bytes > max_header_bytes) {
    return Fail(ErrorCode::kCorrupt, "{}: header length is {}, expected at most {}", path,
                header_bytes, max_header_bytes);
  }
  const std::span<const std::byte> data = bytes.subspan(header_bytes);
  WEFT_ASSIGN_OR_RETURN(const std::vector<SafetensorsEntry> entries,
                        ParseSafetensorsHeader(AsText(bytes.first(header_bytes)), path));
  TensorMap tensors;
  std::vector<DataExtent> extents;
  uint64_t used_bytes = 0;
  for (const SafetensorsEntry& entry : entries) {
    WEFT_ASSIGN_OR_RETURN(const TensorView view, PlaceTensor(entry, data, path));
    if (!tensors.emplace(entry.name, view).second) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} is there twice, expected once", path,
                  Quoted(entry.name));
    }
    extents.push_back({entry.name, entry.begin, entry.end});
  }
  WEFT_RETURN_IF_ERROR(CheckNoOverlap(path, extents));
  for (const DataExtent& extent : extents) used_bytes += extent.end - extent.begin;
  if (used_bytes != data.size()) {
    return Fail(ErrorCode::kCorrupt, "{}: has {} bytes of data, expected the {} of its tensors",
                path, data.size(), used_bytes);
  }
  return tensors;
}

Result<SafetensorsFiles> SafetensorsFiles::OpenFile(const std::string& path) {
  SafetensorsFiles files;
  WEFT_RETURN_IF_ERROR(AddFile(path, files));
  return files;
}

Result<SafetensorsFiles> SafetensorsFiles::OpenDirectory(const std::string& directory) {
  std::error_code ignored;  // what cannot be looked at is absent
  const std::filesystem::path root = directory;
  if (std::filesystem::exists(root / kSingleName, ignored)) {
    return OpenFile(fmt::format("{}/{}", directory, kSingleName));
  }
  if (std::filesystem::exists(root / kIndexName, ignored)) return OpenShards(directory);
  return Fail(ErrorCode::kNotFound, "{}: holds neither {} nor {}, expected one of them", directory,
              kSingleName, kIndexName);
}

}  // namespace weft
