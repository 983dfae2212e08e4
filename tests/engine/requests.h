// Requests as tests send them to an engine that they step themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine_core.h"
#include "tests/engine/recording_sink.h"

namespace weft {

// At temperature 0; without a sink.
Request GreedyRequest(RequestId id, std::vector<TokenId> prompt, int32_t max_tokens);

// Adds `request` with a sink of its own; a failure of the test where the request is not valid.
std::shared_ptr<RecordingSink> AddRecorded(EngineCore& core, Request request);

}  // namespace weft
