// multipart/form-data (RFC 7578, RFC 2046 section 5.1), taken apart as it comes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proto/api_error.h"

namespace weft {

struct MultipartPart {
  std::string name;                     // of the form's field
  std::optional<std::string> filename;  // as the client says it: any bytes, and never a path here
};

// What a form's parts are for. An error ends the parsing.
class MultipartHandler {
 public:
  virtual ~MultipartHandler() = default;
  virtual ApiResult<void> OnPart(MultipartPart part) = 0;
  // More of the last part; not empty.
  virtual ApiResult<void> OnData(std::string_view bytes) = 0;
};

// Holds what it was given last and less than kMaxHeadBytes besides. Errors are 400
// "malformed_multipart". One thread.
class MultipartParser {
 public:
  static constexpr size_t kMaxBoundaryBytes = 70;   // RFC 2046
  static constexpr size_t kMaxHeadBytes = 8 << 10;  // of a part
  static constexpr int kMaxParts = 16;

  // The boundary that a Content-Type names. Errors: there is none, or it is none.
  static ApiResult<std::string> BoundaryOf(std::string_view content_type);

  // `handler` outlives it.
  MultipartParser(std::string_view boundary, MultipartHandler& handler);

  // Not to be called again once it has failed.
  ApiResult<void> Put(std::string_view bytes);
  // The body has ended. Error: its last boundary has not come.
  ApiResult<void> Finish() const;

 private:
  enum class State { kPreamble, kData, kBoundaryEnd, kHead, kEpilogue };

  // Each takes what it can of `rest_`; false: it needs more than there is.
  ApiResult<bool> Step();
  ApiResult<bool> TakeData();
  ApiResult<bool> TakeBoundaryEnd();
  ApiResult<bool> TakeHead();

  const std::string delimiter_;  // the boundary, with the line's end before it
  MultipartHandler& handler_;
  State state_ = State::kPreamble;
  std::string rest_ = "\r\n";  // not taken yet; the first boundary may stand at the very beginning
  size_t begin_ = 0;           // of it
  int part_count_ = 0;
};

}  // namespace weft
