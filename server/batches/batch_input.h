// The input of a batch: every line checked, and the order in which they are run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/regular_file.h"
#include "base/result.h"
#include "proto/batches/batch_line.h"

namespace weft {

// Hashes of a prompt's first 64, 256, 1,024, 4,096 and 16,384 bytes: prompts that begin alike are
// neighbours in their order, and the longer they are alike, the nearer.
using PrefixKey = std::array<uint64_t, 5>;
PrefixKey PrefixKeyOf(std::string_view prompt);

// Where a line is, without its end.
struct InputLine {
  uint64_t offset = 0;
  uint32_t size_bytes = 0;
  uint32_t number = 0;  // from 1
  PrefixKey prefix{};
};

struct BatchInput {
  std::vector<InputLine> lines;    // not empty, sorted by prefix and number; or there are errors
  std::vector<BatchError> errors;  // the first hundred
  std::string url;                 // of all lines
};

struct BatchInputLimits {
  int64_t max_lines = kMaxBatchLines;
  size_t max_line_bytes = 8 << 20;
};

// Reads the file once; holds a line of it at a time, and some 100 bytes for each. Empty lines are
// no lines. `url`: what the lines must have; empty: what the first one has. An error is about the
// disk; what is wrong with the lines is in the input.
Result<BatchInput> ReadBatchInput(const RegularFile& file, std::string_view url,
                                  const BatchInputLimits& limits);

// A line again.
Result<BatchLine> ReadLineAt(const RegularFile& file, const InputLine& line);

}  // namespace weft
