// What a model is to clients, so that a request to the wrong endpoint learns the right one.
#pragma once

#include <string_view>

#include "proto/api_error.h"
#include "server/models/served_model.h"

namespace weft {

// 400 at 'model': "the model 'x' is an encoder, which `lack`: it serves /v1/embeddings".
ApiError NotServedBy(const ServedModel& model, std::string_view lack);

}  // namespace weft
