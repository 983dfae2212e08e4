// Why a schema is refused: which keyword, and where.
#pragma once

#include <string>

#include <fmt/core.h>
#include <tl/expected.hpp>

#include "base/result.h"

namespace weft {

struct SchemaError {
  // kInvalidArgument: no schema. kUnsupported: one that cannot be enforced. kResourceExhausted: one
  // beyond a limit.
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string pointer;  // JSON pointer of the keyword in the schema; "" for the whole schema
  std::string keyword;  // "" where no keyword is at fault
  std::string message;  // what was found and what was expected, without the two above
};

template <typename T>
using SchemaResult = tl::expected<T, SchemaError>;

// As one line: "/properties/size/minLength: minLength: is -1, expected a count, 0 or more".
inline Error ToError(const SchemaError& error) {
  std::string text = error.pointer.empty() ? std::string("the schema") : error.pointer;
  if (!error.keyword.empty()) text += ": " + error.keyword;
  return Error{error.code, text + ": " + error.message};
}

}  // namespace weft
