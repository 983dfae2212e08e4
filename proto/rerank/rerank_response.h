// What /v1/rerank and its sisters answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

// A document at its place.
struct RankedDocument {
  int64_t index = 0;  // of the document in the request
  double score = 0;   // finite
};

struct RerankResponse {
  std::string id;
  std::string model;
  std::vector<RankedDocument> results;  // the best first
  std::vector<std::string> documents;   // of the request, if they are returned; otherwise empty
  int64_t prompt_tokens = 0;
  std::optional<int64_t> truncated_tokens;  // where it was asked for
};

// The most that the JSON of so many results takes, with documents of so many bytes in all as the
// request had them.
uint64_t RerankJsonBytes(int64_t result_count, uint64_t document_bytes);

// Cohere's and Jina's; Text Embeddings Inference's, which has the results alone. A line of JSON.
std::string ToJson(const RerankResponse& response);
std::string ToTeiJson(const RerankResponse& response);

}  // namespace weft
