// Gives every variable of a template its place, by Jinja's rules of scope.
#pragma once

#include "base/result.h"
#include "model/tokenizer/jinja/ast.h"

namespace weft::jinja {

// Jinja decides before rendering what a name means: a scope in which a name is assigned anywhere
// has a variable of its own, which begins with the outer one's value. Also refuses what Jinja
// refuses when it compiles: unknown filters and tests (outside of conditions), break outside of a
// loop, a `loop` that is assigned. Errors: ErrorCode::kCorrupt, "line N: ...".
Result<void> ResolveVariables(Template* parsed);

}  // namespace weft::jinja
