#include "server/api/sparse/sparse_job.h"

#include <memory>

#include "base/result.h"
#include "proto/sparse/sparse_request.h"
#include "server/api/pooling/model_kind.h"
#include "server/api/pooling/pooling_job.h"
#include "server/api/sparse/sparse_answer.h"

namespace weft {

ApiResult<GenerationJob> PrepareSparse(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(SparseRequest request, ParseSparseRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  if (!model->makes_sparse) return tl::unexpected(NotServedBy(*model, "makes no sparse vectors"));
  GenerationJob job = PoolingJob(*model, {.output = PooledOutput::kSparse});
  job.unknown_field_count = request.unknown_field_count;
  WEFT_RETURN_IF_ERROR(AddModelPrompt(request.prompt_name, *model, request.inputs));
  WEFT_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t dropped_count,
                        AddInputs(request.inputs, "inputs", request.truncation, job));
  job.answer = std::make_unique<SparseAnswer>(std::ssize(job.prompts));
  return job;
}

}  // namespace weft
