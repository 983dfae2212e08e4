// Opening a GGUF file, or all files of a split set.
#include "model/formats/gguf.h"

#include <charconv>

#include "base/quoted.h"

namespace weft {
namespace {

// The place that a file's name gives it: `prefix-00002-of-00005.gguf`.
struct SplitName {
  std::string prefix;
  int64_t part = 0;  // from 1
  int64_t part_count = 0;

  std::string Path(int64_t index_from_1) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index_from_1, part_count);
  }
};

std::optional<int64_t> FiveDigits(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + 5, value);
  if (error != std::errc() || end != digits.data() + 5 || value < 0) return std::nullopt;
  return value;
}

std::optional<SplitName> ParseSplitName(std::string_view path) {
  constexpr std::string_view kExample = "-00001-of-00001.gguf";
  if (path.size() <= kExample.size()) return std::nullopt;
  const std::string_view suffix = path.substr(path.size() - kExample.size());
  if (suffix[0] != '-' || suffix.substr(6, 4) != "-of-" || suffix.substr(15) != ".gguf") {
    return std::nullopt;
  }
  const std::optional<int64_t> part = FiveDigits(suffix.substr(1, 5));
  const std::optional<int64_t> part_count = FiveDigits(suffix.substr(10, 5));
  if (!part || !part_count) return std::nullopt;
  return SplitName{std::string(path.substr(0, path.size() - kExample.size())), *part, *part_count};
}

Result<void> CheckInt(const GgufMetadata& metadata, std::string_view key, int64_t expected) {
  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> found, metadata.GetInt(key));
  if (found == expected) return {};
  return Fail(ErrorCode::kCorrupt, "{}: metadata key '{}' is {}, expected {}", metadata.path(), key,
              found ? std::to_string(*found) : "absent", expected);
}

// Maps and parses one file, whose bytes outlive the move of `mapped`.
Result<GgufContents> OpenPart(const std::string& path, MappedFile& mapped) {
  WEFT_ASSIGN_OR_RETURN(mapped, MappedFile::Open(path));
  Result<GgufContents> contents = ParseGguf(mapped.bytes(), path);
  // First: what is wrong with a file that shrinks is not what it then seems to hold.
  WEFT_RETURN_IF_ERROR(mapped.CheckUnchanged());
  return contents;
}

// Adds parts 2 to N to `file`, which holds the first.
Result<void> AddParts(const SplitName& name, GgufFile& file) {
  WEFT_RETURN_IF_ERROR(CheckInt(file.metadata, "split.no", 0));
  WEFT_RETURN_IF_ERROR(CheckInt(file.metadata, "split.count", name.part_count));
  for (int64_t part = 2; part <= name.part_count; ++part) {
    MappedFile mapped;
    WEFT_ASSIGN_OR_RETURN(const GgufContents contents, OpenPart(name.Path(part), mapped));
    WEFT_RETURN_IF_ERROR(CheckInt(contents.metadata, "split.no", part - 1));
    WEFT_RETURN_IF_ERROR(CheckInt(contents.metadata, "split.count", name.part_count));
    for (const auto& [tensor_name, view] : contents.tensors) {
      if (!file.tensors.emplace(tensor_name, view).second) {
        return Fail(ErrorCode::kCorrupt,
                    "{}: tensor {} is in an earlier part of the split set too, expected once",
                    mapped.path(), Quoted(tensor_name));
      }
    }
    file.files.push_back(std::move(mapped));
  }
  return CheckInt(file.metadata, "split.tensors.count", static_cast<int64_t>(file.tensors.size()));
}

}  // namespace

Result<GgufFile> GgufFile::Open(const std::string& path) {
  MappedFile mapped;
  WEFT_ASSIGN_OR_RETURN(GgufContents contents, OpenPart(path, mapped));
  GgufFile file;
  file.version = contents.version;
  file.metadata = std::move(contents.metadata);
  file.tensors = std::move(contents.tensors);
  file.files.push_back(std::move(mapped));

  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> count, file.metadata.GetInt("split.count"));
  const std::optional<SplitName> name = ParseSplitName(path);
  if (count.value_or(0) <= 1 && (!name || name->part_count == 1)) return file;
  if (!name) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: one part of {} (metadata key 'split.count'), expected a name that ends in "
                "-00001-of-{:05}.gguf",
                path, *count, *count);
  }
  if (name->part != 1) {
    return Fail(ErrorCode::kInvalidArgument, "{}: part {} of a split set, expected the first, {}",
                path, name->part, name->Path(1));
  }
  WEFT_RETURN_IF_ERROR(AddParts(*name, file));
  return file;
}

}  // namespace weft
