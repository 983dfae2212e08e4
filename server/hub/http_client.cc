#include "server/hub/http_client.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <curl/curl.h>
#include <fmt/core.h>

#include "base/ascii.h"
#include "base/check.h"
#include "base/quoted.h"

namespace weft {
namespace {

constexpr int kMaxRedirects = 10;
constexpr size_t kMaxHeaderBytes = 64 << 10;  // of an answer
constexpr long kPieceBytes = 256 << 10;       // that a sink gets at most
constexpr long kConnectSeconds = 15;
constexpr long kStallSeconds = 30;      // with less than a byte a second
constexpr int kMaxUnwantedPieces = 16;  // as they come: one that trickles has no end

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

struct Origin {
  std::string scheme;
  std::string host;
  std::string port;

  bool operator==(const Origin&) const = default;
};

std::optional<Origin> OriginOf(const std::string& text) {
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
    return std::nullopt;
  }
  const auto part = [&url](CURLUPart which) {
    char* found = nullptr;
    curl_url_get(url.get(), which, &found, CURLU_DEFAULT_PORT);
    const std::unique_ptr<char, FreeText> owner(found);
    std::string lower = found == nullptr ? "" : found;
    for (char& c : lower) c = AsciiToLower(c);
    return lower;
  };
  return Origin{part(CURLUPART_SCHEME), part(CURLUPART_HOST), part(CURLUPART_PORT)};
}

bool IsSecure(const std::string& url) {
  const std::optional<Origin> origin = OriginOf(url);
  return origin && origin->scheme == "https";
}

// Of a signed address the query is as good as a key: errors leave it out.
std::string WithoutQuery(const std::string& url) { return url.substr(0, url.find('?')); }

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

struct HttpClient::Handle {
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl{curl_easy_init(), curl_easy_cleanup};
};

// One request and its answer, for libcurl's callbacks.
struct HttpClient::Exchange {
  HttpAnswer answer;
  const BodySink& sink;
  size_t header_bytes = 0;
  int unwanted_pieces = 0;  // of a body that goes nowhere
  Result<void> failure = {};

  static size_t OnHeader(const char* data, size_t size, size_t count, void* self) {
    return static_cast<Exchange*>(self)->TakeHeader({data, size * count}) ? size * count : 0;
  }
  static size_t OnBody(const char* data, size_t size, size_t count, void* self) {
    return static_cast<Exchange*>(self)->TakeBody({data, size * count}) ? size * count : 0;
  }

  bool is_unwanted() const { return answer.status != 200 && answer.status != 206; }
  // Its head says all.
  bool is_cut() const { return unwanted_pieces == kMaxUnwantedPieces; }

  bool TakeHeader(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > kMaxHeaderBytes) {
      failure =
          Fail(ErrorCode::kCorrupt, "the answer's head has more than {} bytes", kMaxHeaderBytes);
      return false;
    }
    if (line.starts_with("HTTP/")) {  // another head: after 100, or a proxy's
      answer.headers.clear();
      answer.status = 0;
      const std::string_view code = line.substr(std::min(line.find(' '), line.size() - 1) + 1);
      for (size_t i = 0; i < 3 && i < code.size() && IsAsciiDigit(code[i]); ++i) {
        answer.status = answer.status * 10 + (code[i] - '0');
      }
      return true;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return true;
    std::string name(line.substr(0, colon));
    for (char& c : name) c = AsciiToLower(c);
    answer.headers[name] = Trimmed(line.substr(colon + 1), kAsciiSpace);
    return true;
  }

  bool TakeBody(std::string_view piece) {
    // Read to its end, if that is near, the connection serves the next request, too.
    if (is_unwanted()) return ++unwanted_pieces < kMaxUnwantedPieces;
    failure = sink(answer, piece);
    return failure.has_value();
  }
};

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpClient::HttpClient(const HubSettings& settings, std::string user_agent)
    : endpoint_(settings.endpoint),
      token_(settings.token),
      user_agent_(std::move(user_agent)),
      certificate_path_(settings.certificate_path),
      handle_(std::make_unique<Handle>()) {
  WEFT_CHECK(handle_->curl != nullptr);
}

HttpClient::~HttpClient() = default;

Result<HttpAnswer> HttpClient::Get(const std::string& url, uint64_t begin, const BodySink& sink) {
  std::string next = url;
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    Exchange exchange{.answer = {}, .sink = sink};
    exchange.answer.url = next;
    WEFT_RETURN_IF_ERROR(Perform(begin, exchange));
    if (!IsRedirect(exchange.answer.status)) return std::move(exchange.answer);
    char* target = nullptr;  // absolute; the handle's
    curl_easy_getinfo(handle_->curl.get(), CURLINFO_REDIRECT_URL, &target);
    if (target == nullptr) {
      return Fail(ErrorCode::kCorrupt, "{}: redirects to no URL", WithoutQuery(next));
    }
    if (IsSecure(next) && !IsSecure(target)) {
      return Fail(ErrorCode::kCorrupt, "{}: redirects from https to {}, which is refused",
                  WithoutQuery(next), Quoted(WithoutQuery(target)));
    }
    next = target;
  }
  return Fail(ErrorCode::kCorrupt, "{}: more than {} redirects", WithoutQuery(url), kMaxRedirects);
}

Result<void> HttpClient::Perform(uint64_t begin, Exchange& exchange) {
  CURL* const curl = handle_->curl.get();
  curl_easy_reset(curl);  // keeps connections
  const std::string& url = exchange.answer.url;
  std::unique_ptr<curl_slist, FreeList> headers;
  const std::string authorization = "Authorization: Bearer " + token_;
  if (!token_.empty() && HaveSameOrigin(url, endpoint_)) {
    headers.reset(curl_slist_append(nullptr, authorization.c_str()));
    if (headers == nullptr) return Fail(ErrorCode::kInternal, "out of memory");
  }
  const std::string range = fmt::format("{}-", begin);
  std::array<char, CURL_ERROR_SIZE> reason{};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, user_agent_.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  // A proxy must not see the token, nor any of this.
  curl_easy_setopt(curl, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  if (begin > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  if (!certificate_path_.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, certificate_path_.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kPieceBytes);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Exchange::OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Exchange::OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  const CURLcode code = curl_easy_perform(curl);
  WEFT_RETURN_IF_ERROR(exchange.failure);
  if (code == CURLE_OK || exchange.is_cut()) return {};
  const bool is_lasting = code == CURLE_PEER_FAILED_VERIFICATION ||
                          code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT ||
                          code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_LOGIN_DENIED;
  return Fail(is_lasting ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable, "{}: {}",
              WithoutQuery(url), reason[0] != '\0' ? reason.data() : curl_easy_strerror(code));
}

bool HaveSameOrigin(const std::string& a, const std::string& b) {
  const std::optional<Origin> first = OriginOf(a);
  return first && first == OriginOf(b);
}

std::string PercentEncoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kUnreserved = "-._~";
  std::string encoded;
  for (const char c : text) {
    if (IsAsciiAlphanumeric(c) || kUnreserved.find(c) != std::string_view::npos ||
        kept.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace weft
