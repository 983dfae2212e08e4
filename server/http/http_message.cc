#include "server/http/http_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include <fmt/core.h>

#include "base/ascii.h"
#include "server/http/retry_after.h"

namespace weft {
namespace {

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Unknown";
  }
}

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7)
std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  const size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), length};
}

}  // namespace

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response;
  response.status = error.status;
  response.body = ToJson(error);
  return response;
}

HttpResponse ErrorResponse(const ApiError& error, const HttpRequest& request) {
  HttpResponse response = ErrorResponse(error);
  if (error.status == 429 || error.status == 503) {
    // The official clients read the second one first, which says it finer.
    const int64_t delay_ms = RetryDelay(error.retry_after, request.id).count();
    response.headers.emplace_back("Retry-After", std::to_string((delay_ms + 999) / 1000));
    response.headers.emplace_back("Retry-After-Ms", std::to_string(delay_ms));
  }
  if (request.style == ApiStyle::kAnthropic) response.body = ToAnthropicJson(error, request.id);
  if (request.style == ApiStyle::kOllama) response.body = ToOllamaJson(error);
  if (request.style == ApiStyle::kLlama) response.body = ToLlamaJson(error);
  return response;
}

std::string FormatHead(const HttpResponse& response, const HttpRequest& request, bool keep_alive,
                       std::optional<size_t> content_length) {
  std::string head = fmt::format("{}{} {}\r\nServer: weft\r\nDate: {}\r\n", kHeadPrefix,
                                 response.status, ReasonPhrase(response.status), HttpDate());
  if (!response.content_type.empty()) {
    head += fmt::format("Content-Type: {}\r\n", response.content_type);
  }
  if (!request.id.empty()) head += fmt::format("X-Request-Id: {}\r\n", request.id);
  for (const HttpHeaders* headers : {&response.headers, &request.answer_headers}) {
    for (const auto& [name, value] : *headers) head += fmt::format("{}: {}\r\n", name, value);
  }
  if (content_length) {
    head += fmt::format("Content-Length: {}\r\n", *content_length);
  } else if (request.is_http_1_1) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  if (!keep_alive) {
    head += "Connection: close\r\n";
  } else if (!request.is_http_1_1) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  return head;
}

std::string FormatChunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && text.size() - i > 2) {
      const char* const digits = text.data() + i + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
      if (error == std::errc() && end == digits + 2) {
        decoded += static_cast<char>(byte);
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

std::vector<std::pair<std::string, std::string>> QueryParameters(std::string_view target) {
  std::vector<std::pair<std::string, std::string>> parameters;
  size_t begin = target.find('?');
  while (begin != std::string_view::npos) {
    const size_t end = target.find('&', begin + 1);
    std::string pair(
        target.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1));
    std::ranges::replace(pair, '+', ' ');
    const size_t equals = pair.find('=');
    std::string value =
        equals == std::string::npos ? std::string() : PercentDecode(pair.substr(equals + 1));
    if (!pair.empty())
      parameters.emplace_back(PercentDecode(pair.substr(0, equals)), std::move(value));
    begin = end;
  }
  return parameters;
}

bool IsSaneRequestId(std::string_view id) {
  constexpr size_t kMaxLength = 128;
  const auto is_sane = [](char c) {
    return IsAsciiAlphanumeric(c) || c == '.' || c == '_' || c == ':' || c == '-';
  };
  return !id.empty() && id.size() <= kMaxLength && std::ranges::all_of(id, is_sane);
}

}  // namespace weft
