// Queries with documents, as a model that ranks reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/request.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/api_error.h"
#include "proto/truncation.h"
#include "server/models/served_model.h"

namespace weft {

struct RankingLimits {
  TruncationFields truncation;
  std::optional<int32_t> max_document_tokens;  // documents are cut, also to the room beside a query
};

// One request's. What it is given outlives it.
class RankingEncoder {
 public:
  // `model` ranks. Errors: 400 at 'instruction', if the model takes none.
  static ApiResult<RankingEncoder> Create(const ServedModel& model, const RankingLimits& limits,
                                          const std::optional<std::string>& instruction);

  // Of the documents to come. Errors: 400 at `path`, as of a query that takes all the room.
  ApiResult<void> SetQuery(std::string_view query, const std::string& path);
  // Errors: 400 at `path`.
  ApiResult<EncodedText> Encode(std::string_view document, const std::string& path) const;

 private:
  RankingEncoder(const ServedModel& model, const RankingLimits& limits,
                 std::optional<std::string_view> instruction)
      : model_(&model), limits_(limits), instruction_(instruction) {}

  ApiResult<EncodedText> EncodeCut(std::string_view document, const std::string& path,
                                   const Truncation& truncation) const;
  // nullopt: what is too long is refused.
  std::optional<Truncation> CutOfDocuments() const;

  const ServedModel* model_;
  RankingLimits limits_;
  std::optional<std::string_view> instruction_;
  std::string_view query_;
  int64_t query_tokens_ = 0;  // with all that stands around it and an empty document
};

// What an engine is asked for.
PoolingParams RankingParams(const ServedModel& model);

// The bytes of text that stand around each query with its document: of a model that reads them in a
// prompt.
uint64_t FrameBytes(const Ranking& ranking, const std::optional<std::string>& instruction);

// The bytes of text that documents have in all, each with so many beside it: what preparing pairs
// is a matter of.
uint64_t PairBytes(uint64_t bytes_beside, std::span<const std::string> documents);

}  // namespace weft
