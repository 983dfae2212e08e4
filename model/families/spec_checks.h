// What must hold between the fields of a model's spec, whichever file they came from.
#pragma once

#include <string>

#include "base/result.h"
#include "model/spec.h"

namespace weft {

// Errors name the file, what was found and what was expected.
Result<void> CheckSpec(const ModelSpec& spec, const std::string& path);

}  // namespace weft
