// What /v1/embeddings answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct EmbeddingResponse {
  std::vector<std::vector<float>> embeddings;  // finite numbers
  bool base64 = false;                         // little-endian float32 instead of a JSON array
  std::string model;
  int64_t prompt_tokens = 0;
};

// A JSON array; the numbers, which are finite, are the shortest that read back as the same float32.
void AppendNumbers(const std::vector<float>& numbers, std::string& output);

// The most that ToJson makes of so many embeddings.
uint64_t EmbeddingJsonBytes(int64_t count, int64_t dimensions, bool base64);

// One line of JSON; the numbers are the shortest that read back as the same float32.
std::string ToJson(const EmbeddingResponse& response);

}  // namespace weft
