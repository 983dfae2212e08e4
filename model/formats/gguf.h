// GGUF v2 and v3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), read by mmap. The
// file is hostile: everything is checked before use and before allocation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "model/tensor.h"

namespace weft {

// One metadata value. Integers of every width and sign become int64_t or (u64 above its maximum)
// uint64_t; floats of both widths double. Arrays of numbers are widened likewise; strings are views
// into the mapped file.
using GgufValue = std::variant<bool, int64_t, uint64_t, double, std::string_view, std::vector<bool>,
                               std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                               std::vector<std::string_view>>;

// The metadata of a file. The getters distinguish absent (nullopt) from present with the wrong type
// (error).
class GgufMetadata {
 public:
  GgufMetadata() = default;
  GgufMetadata(std::string path, std::map<std::string, GgufValue, std::less<>> values)
      : path_(std::move(path)), values_(std::move(values)) {}

  const std::string& path() const { return path_; }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }
  bool Contains(std::string_view key) const { return values_.find(key) != values_.end(); }

  Result<std::optional<int64_t>> GetInt(std::string_view key) const;    // a bool is not an int
  Result<std::optional<double>> GetDouble(std::string_view key) const;  // accepts integers
  Result<std::optional<bool>> GetBool(std::string_view key) const;
  Result<std::optional<std::string_view>> GetString(std::string_view key) const;
  Result<const std::vector<std::string_view>*> GetStrings(
      std::string_view key) const;  // nullptr: absent
  Result<const std::vector<int64_t>*> GetInts(std::string_view key) const;
  Result<const std::vector<double>*> GetDoubles(std::string_view key) const;

 private:
  std::string path_;
  std::map<std::string, GgufValue, std::less<>> values_;
};

// The tensors by name; rank 1 to 4, every dimension at least 1, dims outermost first (GGUF's order
// reversed).
using TensorMap = std::map<std::string, TensorView, std::less<>>;

// What one file says, all of it checked: views into the bytes it was parsed from.
struct GgufContents {
  uint32_t version = 0;
  GgufMetadata metadata;
  TensorMap tensors;  // no two overlap; data at a multiple of general.alignment (>= 8) in the file
};

// Parses the bytes of one file, which must outlive the result; `path` is for messages. Refused:
// GGUF v1 and big-endian files, arrays of arrays (no known model has them), tensors of a type that
// Weft does not compute with.
Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, const std::string& path);

struct GgufFile {
  uint32_t version = 0;
  GgufMetadata metadata;          // of the first file of a split set
  TensorMap tensors;              // of all of them
  std::vector<MappedFile> files;  // what metadata and tensors point into

  // Opens `path`; if it is `NAME-00001-of-0000N.gguf`, the others beside it too. Which part a file
  // is (split.no), of how many (split.count), and the number of all tensors (split.tensors.count)
  // must agree with the names and with what was found.
  static Result<GgufFile> Open(const std::string& path);
};

}  // namespace weft
