#include "server/commands/chat/chat_client.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <curl/curl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "proto/event_stream.h"
#include "proto/json_dump.h"
#include "server/version.h"

namespace weft {
namespace {

constexpr size_t kMaxBodyBytes = 1 << 20;    // of an answer that is no stream
constexpr size_t kMaxEventBytes = 16 << 20;  // of one event
constexpr long kConnectSeconds = 15;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

struct ChatClient::Handle {
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl{curl_easy_init(), curl_easy_cleanup};
};

// One request and its answer, for libcurl's callbacks.
struct ChatClient::Exchange {
  CURL* curl = nullptr;
  const std::function<bool()>& is_stopped;
  // Takes the data of events; nullptr: the body is no stream.
  std::function<Result<void>(std::string_view)> on_event;
  EventStream events = {};
  std::string body = {};  // of what is no stream
  Result<void> failure = {};

  static size_t OnBody(const char* data, size_t size, size_t count, void* self) {
    return static_cast<Exchange*>(self)->Take({data, size * count}) ? size * count : 0;
  }
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Exchange*>(self)->is_stopped() ? 1 : 0;
  }
  bool Take(std::string_view piece) {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 || on_event == nullptr) {
      body += piece.substr(0, kMaxBodyBytes - std::min(kMaxBodyBytes, body.size()));
      return true;
    }
    events.Feed(piece);
    for (std::string_view data; failure && events.Next(data);) failure = on_event(data);
    if (failure && events.pending_bytes() > kMaxEventBytes) {
      failure = Fail(ErrorCode::kCorrupt, "the answer has an event of more than {} bytes",
                     kMaxEventBytes);
    }
    return failure.has_value();
  }
};

ChatClient::ChatClient(ChatServer server, std::function<bool()> is_stopped)
    : server_(std::move(server)),
      is_stopped_(std::move(is_stopped)),
      handle_(std::make_unique<Handle>()) {
  WEFT_CHECK(handle_->curl != nullptr);
}

ChatClient::~ChatClient() = default;

Result<std::vector<std::string>> ChatClient::Models() {
  Exchange exchange{.is_stopped = is_stopped_, .on_event = nullptr};
  WEFT_RETURN_IF_ERROR(Perform("/v1/models", nullptr, exchange));
  const nlohmann::json list = nlohmann::json::parse(exchange.body, nullptr, false);
  std::vector<std::string> names;
  if (list.is_object() && list.contains("data") && list["data"].is_array()) {
    for (const nlohmann::json& model : list["data"]) {
      if (model.is_object() && model.contains("id") && model["id"].is_string())
        names.push_back(model["id"].get<std::string>());
    }
  }
  if (names.empty()) return Fail(ErrorCode::kCorrupt, "{}: lists no models", server_.url);
  return names;
}

Result<bool> ChatClient::Answer(const nlohmann::ordered_json& body, const ChatReply::Show& show,
                                ChatReply& reply) {
  Exchange exchange{.is_stopped = is_stopped_,
                    .on_event = [&](std::string_view data) { return reply.Take(data, show); }};
  const std::string text = DumpJson(body);
  return Perform("/v1/chat/completions", &text, exchange);
}

Result<bool> ChatClient::Perform(const std::string& path, const std::string* body,
                                 Exchange& exchange) {
  CURL* const curl = handle_->curl.get();
  exchange.curl = curl;
  curl_easy_reset(curl);  // keeps connections
  const std::string url = server_.url + path;
  const std::string user_agent = fmt::format("weft/{}", Version());
  std::unique_ptr<curl_slist, FreeList> headers;
  const auto add_header = [&](const std::string& header) {
    curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
    WEFT_CHECK(longer != nullptr);
    static_cast<void>(headers.release());
    headers.reset(longer);
  };
  add_header("Content-Type: application/json");
  if (!server_.api_key.empty()) add_header("Authorization: Bearer " + server_.api_key);
  std::array<char, CURL_ERROR_SIZE> reason{};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, user_agent.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  // A proxy must not see the key.
  curl_easy_setopt(curl, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  if (!server_.unix_path.empty())
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, server_.unix_path.c_str());
  if (body != nullptr) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
  }
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Exchange::OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Exchange::OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_ABORTED_BY_CALLBACK) return false;
  WEFT_RETURN_IF_ERROR(exchange.failure);
  if (code != CURLE_OK) {
    return Fail(ErrorCode::kUnavailable, "{}: {}", url,
                reason[0] != '\0' ? reason.data() : curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return true;
  return Fail(ErrorCode::kUnavailable, "{}: {}: {}", url, status, ErrorMessageOf(exchange.body));
}

}  // namespace weft
