// What /embed_sparse answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

// The tokens of the vocabulary that a text has weight for, ascending, and these.
struct SparseVector {
  std::vector<int32_t> tokens;
  std::vector<float> weights;  // as many
};

// The most that a token takes in the JSON.
inline constexpr uint64_t kSparseEntryJsonBytes = 48;  // {"index":250001,"value":1.2345679e-05},

// Text Embeddings Inference's: a list of {"index","value"} for each text. One line of JSON.
std::string ToJson(std::span<const SparseVector> vectors);

}  // namespace weft
