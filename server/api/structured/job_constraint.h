// What the text of a job must be: found among what was compiled, or compiled. Include from .cc
// files only.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include "proto/output_format.h"
#include "server/api/generation_job.h"
#include "server/api/structured/structured_output.h"

namespace weft {

// Sets the job's constraint to what `compile` makes of `content`, all that it depends on but the
// model. Where that is not known and must not be compiled here, the job becomes an excess.
ApiResult<void> SetConstraint(const nlohmann::ordered_json& content, const PrepareContext& context,
                              const std::function<ApiResult<CompiledOutput>()>& compile,
                              GenerationJob& job);

// The same for a text that is nothing but an answer; nothing to do for kText.
ApiResult<void> SetOutputConstraint(const OutputFormat& format, const PrepareContext& context,
                                    GenerationJob& job);

// All that a format says, for SetConstraint.
nlohmann::ordered_json ContentOf(const OutputFormat& format);

}  // namespace weft
