#include "proto/files/multipart_parser.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/result.h"

namespace weft {
namespace {

tl::unexpected<ApiError> Malformed(std::string message) {
  return tl::unexpected(HttpError(400, "malformed_multipart", std::move(message)));
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// The value of `name="..."` or `name=token` among the parameters behind a header's first `;`.
// nullopt: it is not there.
std::optional<std::string> ParameterOf(std::string_view header, std::string_view name) {
  size_t at = header.find(';');
  while (at < header.size()) {
    const size_t equals = header.find_first_of("=;", at + 1);
    if (equals == std::string_view::npos) return std::nullopt;
    if (header[equals] == ';') {
      at = equals;
      continue;
    }
    const bool is_it = EqualIgnoringCase(Trimmed(header.substr(at + 1, equals - at - 1)), name);
    std::string value;
    size_t end = header.find_first_not_of(" \t", equals + 1);
    if (end != std::string_view::npos && header[end] == '"') {
      for (++end; end < header.size() && header[end] != '"'; ++end) {
        if (header[end] == '\\' && end + 1 < header.size()) ++end;
        value += header[end];
      }
      if (end == header.size()) return std::nullopt;  // the quote does not end
      end = header.find(';', end);
    } else {
      end = header.find(';', equals);
      value = Trimmed(header.substr(equals + 1, std::min(end, header.size()) - equals - 1));
    }
    if (is_it) return value;
    at = end;
  }
  return std::nullopt;
}

bool IsBoundary(std::string_view text) {
  const auto is_sane = [](char c) {
    return IsAsciiAlphanumeric(c) || std::string_view("'()+_,-./:=? ").find(c) != std::string::npos;
  };
  return !text.empty() && text.size() <= MultipartParser::kMaxBoundaryBytes && text.back() != ' ' &&
         std::ranges::all_of(text, is_sane);
}

// Of the lines of a part's head.
ApiResult<MultipartPart> PartOf(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      return Malformed(fmt::format("a part's head has the line {}, which is no header",
                                   Quoted(line.substr(0, 100))));
    }
    if (!EqualIgnoringCase(Trimmed(line.substr(0, colon)), "content-disposition")) continue;
    const std::string_view value = Trimmed(line.substr(colon + 1));
    std::optional<std::string> name = ParameterOf(value, "name");
    if (!EqualIgnoringCase(Trimmed(value.substr(0, value.find(';'))), "form-data") || !name) {
      return Malformed(
          fmt::format("a part's Content-Disposition must be form-data with a name, not {}",
                      Quoted(value.substr(0, 100))));
    }
    return MultipartPart{.name = *std::move(name), .filename = ParameterOf(value, "filename")};
  }
  return Malformed("a part has no Content-Disposition");
}

}  // namespace

ApiResult<std::string> MultipartParser::BoundaryOf(std::string_view content_type) {
  std::optional<std::string> boundary = ParameterOf(content_type, "boundary");
  if (boundary && IsBoundary(*boundary)) return *std::move(boundary);
  return Malformed(
      "the Content-Type must be multipart/form-data; boundary=... with a boundary of "
      "1 to 70 characters that RFC 2046 allows");
}

MultipartParser::MultipartParser(std::string_view boundary, MultipartHandler& handler)
    : delimiter_(fmt::format("\r\n--{}", boundary)), handler_(handler) {}

ApiResult<void> MultipartParser::Put(std::string_view bytes) {
  if (state_ == State::kEpilogue) return {};
  rest_.append(bytes);
  while (true) {
    const ApiResult<bool> goes_on = Step();
    if (!goes_on) return tl::unexpected(goes_on.error());
    if (!*goes_on) break;
  }
  rest_.erase(0, std::exchange(begin_, 0));
  return {};
}

ApiResult<void> MultipartParser::Finish() const {
  if (state_ == State::kEpilogue) return {};
  return Malformed("the body ends before its last boundary has come");
}

ApiResult<bool> MultipartParser::Step() {
  switch (state_) {
    case State::kPreamble:
    case State::kData:
      return TakeData();
    case State::kBoundaryEnd:
      return TakeBoundaryEnd();
    case State::kHead:
      return TakeHead();
    case State::kEpilogue:
      break;
  }
  begin_ = rest_.size();
  return false;
}

ApiResult<bool> MultipartParser::TakeData() {
  const size_t found = rest_.find(delimiter_, begin_);
  const bool has_ended = found != std::string::npos;
  // What may be the beginning of a boundary waits.
  const size_t kept = std::min(rest_.size() - begin_, delimiter_.size() - 1);
  const size_t end = has_ended ? found : rest_.size() - kept;
  if (state_ == State::kData && end > begin_) {
    const std::string_view data = std::string_view(rest_).substr(begin_, end - begin_);
    WEFT_RETURN_IF_ERROR(handler_.OnData(data));
  }
  begin_ = end;
  if (!has_ended) return false;
  begin_ += delimiter_.size();
  state_ = State::kBoundaryEnd;
  return true;
}

ApiResult<bool> MultipartParser::TakeBoundaryEnd() {
  const std::string_view rest = std::string_view(rest_).substr(begin_);
  if (rest.size() < 2) return false;
  if (rest.starts_with("--")) {
    state_ = State::kEpilogue;
    return true;
  }
  const size_t end = rest.find_first_not_of(" \t");  // padding, which mail's relays may add
  if (std::min(end, rest.size()) > kMaxBoundaryBytes) {
    return Malformed("a boundary is followed by too many spaces");
  }
  if (end == std::string_view::npos || rest.size() < end + 2) return false;
  if (!rest.substr(end).starts_with("\r\n")) {
    return Malformed("a boundary is followed by neither a line's end nor --");
  }
  begin_ += end;  // the line's end is the head's: it may be empty
  state_ = State::kHead;
  return true;
}

ApiResult<bool> MultipartParser::TakeHead() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  constexpr size_t kLineEndBytes = 2;  // the boundary's
  const std::string_view rest = std::string_view(rest_).substr(begin_);
  const size_t end = rest.substr(0, kMaxHeadBytes).find(kEnd);
  if (end == std::string_view::npos) {
    if (rest.size() < kMaxHeadBytes) return false;
    return Malformed(fmt::format("a part's head is longer than {} bytes", kMaxHeadBytes));
  }
  if (++part_count_ > kMaxParts) {
    return Malformed(fmt::format("the form has more than {} parts", kMaxParts));
  }
  const size_t begin = std::min(end, kLineEndBytes);
  ApiResult<MultipartPart> part = PartOf(rest.substr(begin, end - begin));
  if (!part) return tl::unexpected(std::move(part).error());
  WEFT_RETURN_IF_ERROR(handler_.OnPart(*std::move(part)));
  begin_ += end + kEnd.size();
  state_ = State::kData;
  return true;
}

}  // namespace weft
