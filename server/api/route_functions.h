// Which function prepares, or answers, the body that came on a route.
#pragma once

#include "server/api/generation_job.h"
#include "server/api/post_answer.h"
#include "server/http/router.h"

namespace weft {

// Of the routes that generate; nullptr for the others.
PrepareFunction PrepareFunctionOf(RouteId route);

// Of the routes that answer a body without generating; nullptr for the others.
AnswerFunction AnswerFunctionOf(RouteId route);

}  // namespace weft
