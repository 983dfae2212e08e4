// The bodies of POST /v1/rerank, /v2/rerank and /rerank, validated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/truncation.h"

namespace weft {

inline constexpr size_t kMaxRankedDocuments = 100'000;  // in one request

struct RerankRequest {
  std::optional<std::string> model;
  std::string query;
  std::vector<std::string> documents;         // not empty
  std::string documents_path = "documents";   // or "texts": errors name documents_path[i]
  std::optional<int32_t> top_n;               // >= 1: so many of the best
  std::optional<int32_t> max_tokens_per_doc;  // >= 1: documents are cut
  std::optional<std::string> instruction;
  TruncationFields truncation;
  bool returns_documents = false;
  bool raw_scores = false;          // logits
  bool as_tei = false;              // Text Embeddings Inference's answer
  int32_t unknown_field_count = 0;  // ignored
};

// Cohere's and Jina's. Errors name the field by its JSON path.
ApiResult<RerankRequest> ParseRerankRequest(std::string_view body);
// The same, or Text Embeddings Inference's, which has "texts" in place of "documents".
ApiResult<RerankRequest> ParseAnyRerankRequest(std::string_view body);

}  // namespace weft
