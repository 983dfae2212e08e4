// From a file's own words to a ModelConfig that everything behind it can trust.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/architectures.h"
#include "model/config.h"
#include "model/formats/gguf.h"

namespace weft {

// What a file may claim. Far above every model there is, and low enough that no product of two of
// them comes near 2^63.
struct ConfigLimits {
  static constexpr int64_t kLayers = 4096;
  static constexpr int64_t kWidth = int64_t{1} << 24;  // hidden and feed-forward sizes
  static constexpr int64_t kHeads = 65536;
  static constexpr int64_t kHeadDim = 65536;
  static constexpr int64_t kVocabulary = int64_t{1} << 28;
  static constexpr int64_t kPositions = int64_t{1} << 26;  // context lengths and windows
  static constexpr int64_t kExperts = 65536;
};

struct ConfigAndArchitecture {
  ModelConfig config;
  const Architecture* architecture = nullptr;  // the table's row
};

// The metadata `{architecture}.*`; vocab_size and tied_head from the tensors, frequency divisors
// from rope_freqs.weight.
Result<ConfigAndArchitecture> ReadGgufConfig(const GgufFile& file);

// The text of a Hugging Face config.json, of transformers 4 (rope_scaling) or 5 (rope_parameters).
// `path` is for messages.
Result<ConfigAndArchitecture> ReadHfConfig(std::string_view json_text, const std::string& path);

// The text of the 1_Pooling/config.json that sentence-transformers keeps beside config.json. A
// pooling that Weft does not have counts as none. `path` is for messages.
Result<Pooling> ReadHfPooling(std::string_view json_text, const std::string& path);

// What must hold between the fields, whichever file they came from; `path` is for messages.
Result<void> CheckConfig(const ModelConfig& config, const std::string& path);

}  // namespace weft
