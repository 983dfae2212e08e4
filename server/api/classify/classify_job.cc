#include "server/api/classify/classify_job.h"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "server/api/classify/classify_answer.h"
#include "server/api/pooling/model_kind.h"
#include "server/api/pooling/pooling_job.h"

namespace weft {
namespace {

// What both shapes' requests have.
template <typename Request>
ApiResult<GenerationJob> BeginClassifying(const Request& request, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  if (!model->classifier) return tl::unexpected(NotServedBy(*model, "classifies no texts"));
  GenerationJob job =
      PoolingJob(*model, {.output = PooledOutput::kLabels, .pooling = model->classifier->pooling});
  job.unknown_field_count = request.unknown_field_count;
  return job;
}

template <typename Request>
void SetClassifyAnswer(const Request& request, ClassifyShape shape, int64_t dropped_count,
                       GenerationJob& job) {
  const ClassifierSpec& classifier = *job.model->classifier;
  ClassifyAnswerOptions options = {.model = job.model->id,
                                   .labels = classifier.labels,
                                   .activation = classifier.activation,
                                   .text_count = std::ssize(job.prompts),
                                   .truncated_tokens = {},
                                   .shape = shape};
  if (request.raw_scores) options.activation = LabelActivation::kNone;
  if (request.truncation.is_wanted) options.truncated_tokens = dropped_count;
  job.answer_bytes = ClassifyAnswerBytes(options);
  job.answer = std::make_unique<ClassifyAnswer>(std::move(options));
}

ApiResult<GenerationJob> PrepareInShape(ClassifyRequest request, ClassifyShape shape,
                                        const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(GenerationJob job, BeginClassifying(request, context));
  WEFT_ASSIGN_OR_RETURN(const int64_t dropped_count,
                        AddInputs(request.input, "input", request.truncation, job));
  SetClassifyAnswer(request, shape, dropped_count, job);
  return job;
}

}  // namespace

ApiResult<GenerationJob> PrepareClassify(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(ClassifyRequest request, ParseClassifyRequest(body));
  return PrepareInShape(std::move(request), ClassifyShape::kVllm, context);
}

ApiResult<GenerationJob> PrepareClassifyTask(ClassifyRequest request,
                                             const PrepareContext& context) {
  return PrepareInShape(std::move(request), ClassifyShape::kPooling, context);
}

ApiResult<GenerationJob> PreparePredict(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(PredictRequest request, ParsePredictRequest(body));
  WEFT_ASSIGN_OR_RETURN(GenerationJob job, BeginClassifying(request, context));
  int64_t dropped_count = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    PredictedText& input = request.inputs[i];
    const std::string path = request.is_batch ? fmt::format("inputs[{}]", i) : "inputs";
    EncodedText text;
    if (input.second) {
      WEFT_ASSIGN_OR_RETURN(
          text, EncodeInputPair(input.first, *input.second, *job.model, request.truncation, path));
    } else {
      Prompt prompt = std::move(input.first);
      WEFT_ASSIGN_OR_RETURN(text, EncodeInput(prompt, *job.model, request.truncation, path));
    }
    dropped_count += text.dropped_count;
    AddText(std::move(text), job);
  }
  SetClassifyAnswer(request, request.is_batch ? ClassifyShape::kTeiBatch : ClassifyShape::kTei,
                    dropped_count, job);
  return job;
}

}  // namespace weft
