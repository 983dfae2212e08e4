#include "server/api/decisions/decision_job.h"

#include <map>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "server/api/decisions/decision_answer.h"
#include "server/api/decisions/decision_prompt.h"
#include "server/api/pooling/pooling_job.h"
#include "server/api/prompt_tokens.h"

namespace weft {
namespace {

// A prompt a question.
ApiResult<std::vector<std::string>> DecisionPrompts(const DecisionRequest& request,
                                                    const ServedModel& model) {
  std::vector<std::string> prompts;
  for (const DecisionQuestion& question : request.questions) {
    WEFT_ASSIGN_OR_RETURN(std::string prompt, DecisionPrompt(request, question, model));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// Of each question the places of its words among `tokens`, which all prompts ask for.
ApiResult<std::vector<std::vector<size_t>>> WordPlaces(const DecisionRequest& request,
                                                       std::string_view prompt,
                                                       const ServedModel& model,
                                                       std::vector<TokenId>& tokens) {
  std::map<std::string, size_t> places;
  std::vector<std::vector<size_t>> questions;
  for (const DecisionQuestion& question : request.questions) {
    questions.emplace_back();
    for (const std::string& word : AnswerWords(question)) {
      const auto [place, is_new] = places.try_emplace(word, tokens.size());
      if (is_new) {
        WEFT_ASSIGN_OR_RETURN(const TokenId token, AnswerToken(prompt, word, model));
        tokens.push_back(token);
      }
      questions.back().push_back(place->second);
    }
  }
  return questions;
}

ApiResult<void> AddQuestion(std::string_view prompt, size_t index, GenerationJob& job) {
  EncodedText text;
  WEFT_ASSIGN_OR_RETURN(
      text.ids, EncodeText(*job.model->tokenizer, prompt, {.add_special_tokens = false}, "input"));
  if (text.ids.empty()) return RefuseEmptyPrompt("input");
  const int64_t count = std::ssize(text.ids);
  const int64_t context = MaxTextTokens(*job.model, {});
  if (count > context) {
    return tl::unexpected(TooLong(
        "input", fmt::format("'input' with 'questions[{}]' makes {} tokens, but the model's "
                             "context has {} positions; shorten it",
                             index, count, context)));
  }
  AddText(std::move(text), job);
  return {};
}

}  // namespace

ApiResult<GenerationJob> PrepareDecisions(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(DecisionRequest request, ParseDecisionRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        FindGenerator(request.model, context.models));
  GenerationJob job;
  job.excess_bytes = body.size() * request.questions.size();  // each prompt has all of the input
  if (job.excess_bytes > context.max_bytes) return job;
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> prompts, DecisionPrompts(request, *model));
  std::vector<TokenId> tokens;
  WEFT_ASSIGN_OR_RETURN(auto places, WordPlaces(request, prompts.front(), *model, tokens));
  job = PoolingJob(*model, {.output = PooledOutput::kTokenLogits, .tokens = std::move(tokens)});
  job.unknown_field_count = request.unknown_field_count;
  for (size_t i = 0; i < prompts.size(); ++i) {
    WEFT_RETURN_IF_ERROR(AddQuestion(prompts[i], i, job));
  }
  job.answer_bytes = DecisionAnswerBytes(request.questions);
  job.answer =
      std::make_unique<DecisionAnswer>(model->id, std::move(request.questions), std::move(places));
  return job;
}

}  // namespace weft
