// A request for label scores of a body that is parsed already. Include from .cc files only.
#pragma once

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/label_scores/label_score_request.h"

namespace weft {

// Whether the body has labels, which other requests to the same path do not.
bool HasLabels(const nlohmann::json& body);

ApiResult<LabelScoreRequest> ReadLabelScoreRequest(const nlohmann::json& body,
                                                   LabelScoreShape shape);

}  // namespace weft
