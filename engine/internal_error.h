// What is made of an exception.
#pragma once

#include <new>
#include <string_view>

#include "base/result.h"

namespace weft {

// Without its words, if there is no memory for them: what matters is that somebody is told.
inline Error InternalError(std::string_view message) noexcept {
  Error error{ErrorCode::kInternal, {}};
  try {
    error.message = message;
  } catch (const std::bad_alloc&) {
  }
  return error;
}

}  // namespace weft
