// What `weft bench` is asked to measure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "model/kernels/kernels.h"
#include "model/parameters.h"

namespace weft {

struct BenchOptions {
  std::string model_path;
  std::optional<Arithmetic> arithmetic = {};  // nullopt: AutoArithmetic
  WeightsChoice weights = {};
  std::optional<KvType> kv_type;
  int32_t thread_count = 0;  // 0: what this process may use
  // Empty: 512, or an encoder's texts, 16, 128, 512.
  std::vector<int32_t> prompt_tokens;
  std::vector<int32_t> batches;   // empty: 1, 4, 16, 64, or of texts 1, 64
  std::vector<int32_t> contexts;  // empty: the first of prompt_tokens
  int32_t generate_tokens = 64;
  int32_t max_batch_tokens = 512;
  int32_t mixed_streams = 0;  // 0: no such test
  int32_t mixed_prompt_tokens = 2000;
  std::chrono::milliseconds max_stall{100};
  int repetitions = 3;
  double time_limit_s = 20;
  bool measure_limits = true;
  bool profile = false;
  bool json = false;
};

void AddBenchFlags(CLI::App& app, BenchOptions& options);

}  // namespace weft
