// Tokens to a template.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/tokenizer/jinja/ast.h"

namespace weft::jinja {

// Errors: ErrorCode::kCorrupt, "line N: what was found, what was expected".
Result<Template> ParseTemplate(std::string_view source);

}  // namespace weft::jinja
