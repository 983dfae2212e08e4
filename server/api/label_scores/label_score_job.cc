#include "server/api/label_scores/label_score_job.h"

#include <memory>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "server/api/label_scores/label_score_answer.h"
#include "server/api/pooling/model_kind.h"
#include "server/api/pooling/pooling_job.h"
#include "server/api/prompt_tokens.h"

namespace weft {
namespace {

uint64_t BytesOfPrompt(const Prompt& prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt)) return text->size();
  return std::get<std::vector<int32_t>>(prompt).size() * sizeof(int32_t);
}

// Of all items, each with the query.
uint64_t ItemBytes(const LabelScoreRequest& request) {
  uint64_t size = BytesOfPrompt(request.query) * request.items.prompts.size();
  for (const Prompt& item : request.items.prompts) size += BytesOfPrompt(item);
  return size;
}

// One behind the other; both are texts, or both token ids.
Prompt JoinedPrompts(const Prompt& first, const Prompt& second) {
  const auto join = [&](auto joined) {
    const auto& more = std::get<decltype(joined)>(second);
    joined.insert(joined.end(), more.begin(), more.end());
    return Prompt(std::move(joined));
  };
  const auto* text = std::get_if<std::string>(&first);
  return text != nullptr ? join(*text) : join(std::get<std::vector<int32_t>>(first));
}

ApiResult<std::vector<TokenId>> LabelTokens(LabelScoreRequest& request,
                                            const Tokenizer& tokenizer) {
  if (!request.label_token_ids.empty()) {
    WEFT_RETURN_IF_ERROR(
        CheckTokenIds(request.label_token_ids, "label_token_ids", tokenizer.vocab_size()));
    return std::move(request.label_token_ids);
  }
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < request.labels.size(); ++i) {
    const std::string path = fmt::format("labels[{}]", i);
    WEFT_ASSIGN_OR_RETURN(
        const std::vector<TokenId> label,
        EncodeText(tokenizer, request.labels[i], {.add_special_tokens = false}, path));
    if (label.size() != 1) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}' has {} tokens; a label is a text of one", path, label.size())));
    }
    tokens.push_back(label.front());
  }
  return tokens;
}

}  // namespace

ApiResult<GenerationJob> PrepareLabelScore(LabelScoreRequest request,
                                           const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  const EngineOptions& engine = model->engine->options();
  if (engine.is_encoder || engine.reads_sources) {
    return tl::unexpected(NotServedBy(*model, "scores no next tokens"));
  }
  GenerationJob job;
  job.excess_bytes = ItemBytes(request);
  if (job.excess_bytes > context.max_bytes) return job;
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> tokens, LabelTokens(request, *model->tokenizer));
  LabelScoreOptions options = {.model = model->id,
                               .item_count = std::ssize(request.items.prompts),
                               .label_count = std::ssize(tokens),
                               .apply_softmax = request.apply_softmax,
                               .shape = request.shape};
  job = PoolingJob(*model, {.output = PooledOutput::kTokenLogits, .tokens = std::move(tokens)});
  job.unknown_field_count = request.unknown_field_count;
  for (Prompt& item : request.items.prompts) {
    item = request.item_first ? JoinedPrompts(item, request.query)
                              : JoinedPrompts(request.query, item);
  }
  WEFT_RETURN_IF_ERROR(AddInputs(request.items, "items", {.is_offered = false}, job));
  job.answer_bytes = LabelScoreAnswerBytes(options);
  job.answer = std::make_unique<LabelScoreAnswer>(std::move(options));
  return job;
}

ApiResult<GenerationJob> PrepareGenerativeScoring(std::string_view body,
                                                  const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(LabelScoreRequest request,
                        ParseLabelScoreRequest(body, LabelScoreShape::kVllm));
  return PrepareLabelScore(std::move(request), context);
}

}  // namespace weft
