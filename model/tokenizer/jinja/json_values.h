// JSON as values of a render.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/tokenizer/jinja/runtime.h"

namespace weft::jinja {

// What is not UTF-8 becomes U+FFFD. Errors: nested deeper than kMaxValueDepth (kInvalidArgument: it
// is the client's), more than the memory limit.
Result<Value> FromJson(Runtime& runtime, const nlohmann::ordered_json& json);

}  // namespace weft::jinja
