#include "server/api/pooling/ranking_encoder.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "server/api/pooling/pooling_job.h"

namespace weft {

ApiResult<RankingEncoder> RankingEncoder::Create(const ServedModel& model,
                                                 const RankingLimits& limits,
                                                 const std::optional<std::string>& instruction) {
  if (instruction && !model.ranking->prompt) {
    return tl::unexpected(InvalidField(
        "instruction",
        fmt::format("the model '{}' was trained on pairs of texts without instructions; leave "
                    "'instruction' out",
                    model.id)));
  }
  return RankingEncoder(model, limits, instruction);
}

ApiResult<void> RankingEncoder::SetQuery(std::string_view query, const std::string& path) {
  query_ = query;
  WEFT_ASSIGN_OR_RETURN(const EncodedText alone, EncodeCut("", path, {}));
  query_tokens_ = std::ssize(alone.ids);
  if (limits_.truncation.is_wanted) return {};
  if (query_tokens_ >= MaxTextTokens(*model_, limits_.truncation)) {
    return tl::unexpected(TooManyTokens(path, query_tokens_, *model_));
  }
  return {};
}

std::optional<Truncation> RankingEncoder::CutOfDocuments() const {
  const TruncationFields& fields = limits_.truncation;
  const int64_t room = MaxTextTokens(*model_, fields);
  Truncation truncation{.max_tokens = room};
  if (fields.keeps_end) truncation.side = Truncation::Side::kLeft;
  if (limits_.max_document_tokens && query_tokens_ < room) {
    truncation.max_tokens = std::min(room, query_tokens_ + *limits_.max_document_tokens);
    truncation.of = Truncation::Of::kOnlySecond;
    return truncation;
  }
  if (!fields.is_wanted) return std::nullopt;
  return truncation;
}

ApiResult<EncodedText> RankingEncoder::Encode(std::string_view document,
                                              const std::string& path) const {
  const std::optional<Truncation> cut = CutOfDocuments();
  ApiResult<EncodedText> text = EncodeCut(document, path, cut.value_or(Truncation()));
  if (!text) return text;
  const int64_t count = std::ssize(text->ids);
  if (count <= MaxTextTokens(*model_, limits_.truncation)) return text;
  return tl::unexpected(
      TooLong(path, fmt::format("'{}' has {} tokens with the query, but the model's context has {} "
                                "positions; shorten it, or send \"truncation\": true or "
                                "'max_tokens_per_doc' to have it cut",
                                path, count, MaxTextTokens(*model_, limits_.truncation))));
}

ApiResult<EncodedText> RankingEncoder::EncodeCut(std::string_view document, const std::string& path,
                                                 const Truncation& truncation) const {
  return EncodedTextAt(
      path, EncodeRanking(*model_->ranking, *model_->tokenizer,
                          {.query = query_, .document = document, .instruction = instruction_},
                          truncation));
}

PoolingParams RankingParams(const ServedModel& model) {
  return {.output = model.ranking->output,
          .pooling = model.classifier ? model.classifier->pooling : model.pooling,
          .tokens = model.ranking->tokens};
}

uint64_t FrameBytes(const Ranking& ranking, const std::optional<std::string>& instruction) {
  if (!ranking.prompt) return 0;
  const RankingPrompt& prompt = *ranking.prompt;
  uint64_t size = prompt.prefix.size() + prompt.body.size() + prompt.suffix.size();
  for (const std::string& lead : prompt.lead) size += lead.size();
  if (!instruction) return size + prompt.instruction.size();
  return size + prompt.before_instruction.size() + instruction->size() +
         prompt.after_instruction.size();
}

uint64_t PairBytes(uint64_t bytes_beside, std::span<const std::string> documents) {
  uint64_t size = bytes_beside * documents.size();
  for (const std::string& document : documents) size += document.size();
  return size;
}

}  // namespace weft
