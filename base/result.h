// Failures as values: what went wrong, in one line that names the thing, the place, what was found
// and what was expected.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>
#include <tl/expected.hpp>

namespace weft {

// The kinds of failure that a caller may want to tell apart; the message is for people.
enum class ErrorCode {
  kInvalidArgument,    // the caller's input is wrong
  kNotFound,           // a file, model or id that does not exist
  kUnsupported,        // known and well-formed, but not something Weft does
  kCorrupt,            // a file or message that contradicts itself
  kResourceExhausted,  // a stated limit (memory, queue, blocks) would be exceeded
  kUnavailable,        // not now: shutting down, not ready
  kInternal,           // a bug, or the operating system refused
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

// Fail(ErrorCode::kCorrupt, "{}: tensor count {} exceeds {}", path, found, limit)
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace weft

// Returns early with the error of `expression`, a Result<T>; otherwise assigns its value:
//   WEFT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)
#define WEFT_ASSIGN_OR_RETURN(declaration, expression)                               \
  auto WEFT_CONCAT(weft_result_, __LINE__) = (expression);                           \
  if (!WEFT_CONCAT(weft_result_, __LINE__))                                          \
    return ::tl::unexpected(std::move(WEFT_CONCAT(weft_result_, __LINE__)).error()); \
  declaration = *std::move(WEFT_CONCAT(weft_result_, __LINE__))

// Returns early with the error of `expression`, a Result<void>.
#define WEFT_RETURN_IF_ERROR(expression)                                       \
  do {                                                                         \
    auto weft_status = (expression);                                           \
    if (!weft_status) return ::tl::unexpected(std::move(weft_status).error()); \
  } while (false)
