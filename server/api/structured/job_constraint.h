// What the text of a job must be: found among what was compiled, or compiled. Include from .cc
// files only.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "proto/generation_request.h"
#include "proto/output_format.h"
#include "server/api/generation_job.h"
#include "server/api/structured/structured_output.h"

namespace weft {

// Sets the job's constraint to what `compile` makes of `content`, all that it depends on but the
// model, and what `request` says of finishing. Where that is not known and must not be compiled
// here, the job becomes an excess.
ApiResult<void> SetConstraint(const nlohmann::ordered_json& content,
                              const GenerationRequest& request, const PrepareContext& context,
                              const std::function<ApiResult<CompiledOutput>()>& compile,
                              GenerationJob& job);

// The same for a text that is nothing but the request's output; nothing to do for kText.
ApiResult<void> SetOutputConstraint(const GenerationRequest& request, const PrepareContext& context,
                                    GenerationJob& job);

// Of a job whose constraint and sampling are set: that its text must come to its end, where the
// request says so. Errors (400): it has no constraint; the shortest text takes more than the tokens
// allowed, which the field at `max_tokens_path` is about.
ApiResult<void> SetFinish(const GenerationRequest& request, const std::string& max_tokens_path,
                          GenerationJob& job);

// All that a format says, for SetConstraint.
nlohmann::ordered_json ContentOf(const OutputFormat& format);

}  // namespace weft
