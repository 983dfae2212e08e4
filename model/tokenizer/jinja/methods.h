// The methods of strings; those of other kinds are found through FindMethod.
#pragma once

#include <string_view>

#include "model/tokenizer/jinja/builtins.h"

namespace weft::jinja {

const Builtin* FindStringMethod(std::string_view name);

}  // namespace weft::jinja
