// How quantised weights lie in published checkpoints of safetensors: codes, scales and what belongs
// to them, a tensor each, as the library that made them has it. A scheme is a file of this folder
// and a row or two of the table in schemes.cc.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/formats/assembled_tensor.h"
#include "model/formats/gguf.h"  // TensorMap
#include "model/hyperparameters.h"

namespace weft {

// Takes the parts of quantised weights out of `tensors` and gives the weights back, each under the
// name that it has in a checkpoint without quantisation (but for MXFP4's stacks, which keep the
// name of their codes). `config`: config.json, which names the scheme; without that there are none.
// A scheme that is not known, and parts that are missing or do not fit each other, are errors.
Result<AssembledTensors> AssembleQuantized(const ConfigValues& config, TensorMap& tensors,
                                           const std::string& path);

namespace schemes {

// What config.json says of a checkpoint's quantisation.
class Config {
 public:
  // `prefix`: of the keys, with a dot at its end.
  Config(const ConfigValues& values, std::string_view prefix) : values_(values), prefix_(prefix) {}

  // Absent, or of another type: the fallback.
  int64_t Int(std::string_view key, int64_t fallback) const;
  bool Bool(std::string_view key, bool fallback) const;
  std::string String(std::string_view key, std::string_view fallback) const;
  double Number(std::string_view key, double fallback) const;  // integers, too
  std::vector<int64_t> Ints(std::string_view key) const;

 private:
  template <typename T>
  const T* Find(std::string_view key) const;

  const ConfigValues& values_;
  std::string prefix_;
};

// What scales and biases may be.
inline constexpr std::initializer_list<DataType> kFloatTypes = {DataType::kF16, DataType::kBF16,
                                                                DataType::kF32};

// The tensors of one weight, by how their names go on behind its layer's.
class Parts {
 public:
  static constexpr int64_t kAny = -1;  // of a dimension

  Parts(const TensorMap& tensors, std::string layer, const std::string& path)
      : tensors_(tensors), layer_(std::move(layer)), path_(path) {}

  const std::string& layer() const { return layer_; }
  // For messages: with the file's.
  std::string NameOf(std::string_view end) const;
  bool Has(std::string_view end) const { return tensors_.contains(layer_ + std::string(end)); }
  // Those that are there count as taken.
  Result<TensorView> Take(std::string_view end, std::initializer_list<DataType> types,
                          std::initializer_list<int64_t> dims);
  // Of any number of dimensions.
  Result<TensorView> Take(std::string_view end, std::initializer_list<DataType> types);

  tl::unexpected<Error> WrongShape(std::string_view end, const TensorView& found,
                                   std::string_view expected) const;
  tl::unexpected<Error> Corrupt(std::string_view end, std::string_view what) const;
  tl::unexpected<Error> Unsupported(std::string_view what) const;

  const std::vector<std::string>& taken() const { return taken_; }
  std::vector<TensorView> views() const;

 private:
  const TensorMap& tensors_;
  std::string layer_;
  const std::string& path_;
  std::vector<std::string> taken_;
};

// Columns of a block of any type that rows are put together to.
inline constexpr int64_t kBlockColumns = 32;

// A block's codes of 4 bits, a byte each in `codes`, as blocks have them (ggml's order): 16 bytes.
void PackNibbles(const uint8_t* codes, std::byte* out);

// A weight put together of its parts.
using Assemble = Result<AssembledTensor> (*)(Parts& parts, const Config& config);

Result<AssembledTensor> AssembleGptq(Parts& parts, const Config& config);
Result<AssembledTensor> AssembleAwq(Parts& parts, const Config& config);
Result<AssembledTensor> AssemblePacked(Parts& parts, const Config& config);  // compressed-tensors
Result<AssembledTensor> AssembleInt8(Parts& parts, const Config& config);    // the same
Result<AssembledTensor> AssembleFp8(Parts& parts, const Config& config);
Result<AssembledTensor> AssembleNvfp4(Parts& parts, const Config& config);
Result<AssembledTensor> AssembleBitsAndBytes4(Parts& parts, const Config& config);
Result<AssembledTensor> AssembleBitsAndBytes8(Parts& parts, const Config& config);
Result<AssembledTensor> AssembleMlx(Parts& parts, const Config& config);
Result<AssembledTensor> AssembleMxfp4(Parts& parts, const Config& config);

}  // namespace schemes
}  // namespace weft
