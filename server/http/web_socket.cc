#include "server/http/web_socket.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "base/utf8.h"

namespace weft {

namespace asio = boost::asio;
namespace http = boost::beast::http;

std::optional<std::string> AcceptWebSocket(const RequestHead& head) {
  const auto key = head[http::field::sec_websocket_key];
  const bool is_handshake = head.version() == 11 &&
                            http::token_list(head[http::field::upgrade]).exists("websocket") &&
                            http::token_list(head[http::field::connection]).exists("upgrade") &&
                            head[http::field::sec_websocket_version] == "13" && key.size() == 24;
  if (!is_handshake) return std::nullopt;
  return WebSocketAccept({key.data(), key.size()});
}

MessageStatus WebSocket::Invalid(std::string error) {
  error_ = std::move(error);
  return MessageStatus::kInvalid;
}

asio::awaitable<ReadStatus> WebSocket::ReadMoreUntil(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  co_return co_await connection_.ReadMore(std::max(left, std::chrono::milliseconds(0)));
}

asio::awaitable<MessageStatus> WebSocket::ReadHead(FrameHead& head, Clock::time_point end) {
  while (true) {
    const Result<std::optional<FrameHead>> parsed = ParseFrameHead(connection_.unread());
    if (!parsed) co_return Invalid(parsed.error().message);
    if (*parsed) {
      head = **parsed;
      connection_.Take(head.head_bytes);
      co_return MessageStatus::kOk;
    }
    const ReadStatus status = co_await ReadMoreUntil(end);
    if (status == ReadStatus::kTimedOut) co_return MessageStatus::kIdle;
    if (status != ReadStatus::kOk) co_return MessageStatus::kClosed;
  }
}

asio::awaitable<MessageStatus> WebSocket::ReadPayload(const FrameHead& head, Clock::time_point end,
                                                      std::string& payload,
                                                      ByteBudget::Hold* held) {
  uint64_t left = head.payload_bytes;
  while (left > 0) {
    const std::string_view unread = connection_.unread();
    if (unread.empty()) {
      const ReadStatus status = co_await ReadMoreUntil(end);
      if (status == ReadStatus::kTimedOut) co_return MessageStatus::kIdle;
      if (status != ReadStatus::kOk) co_return MessageStatus::kClosed;
      continue;
    }
    const size_t count = std::min<uint64_t>(left, unread.size());
    if (held != nullptr && !held->Take(count)) co_return MessageStatus::kBudgetSpent;
    const size_t begin = payload.size();
    payload.append(unread.substr(0, count));
    Unmask(head.mask, head.payload_bytes - left, payload.data() + begin, count);
    connection_.Take(count);
    left -= count;
  }
  co_return MessageStatus::kOk;
}

asio::awaitable<MessageStatus> WebSocket::AnswerControl(const FrameHead& head) {
  std::string payload;
  const MessageStatus status =
      co_await ReadPayload(head, Clock::now() + options_.body_timeout, payload, nullptr);
  if (status != MessageStatus::kOk || head.kind == FrameKind::kPong) co_return status;
  const bool closes = head.kind == FrameKind::kClose;
  const FrameKind answer = closes ? FrameKind::kClose : FrameKind::kPong;
  const std::string frame = FormatFrame(answer, payload);
  const bool written = co_await connection_.Write(frame);
  co_return written && !closes ? MessageStatus::kOk : MessageStatus::kClosed;
}

asio::awaitable<MessageStatus> WebSocket::Read(std::string& text, ByteBudget::Hold& held,
                                               std::chrono::milliseconds patience) {
  text.clear();
  bool has_begun = false;
  Clock::time_point end = Clock::now() + patience;
  while (true) {
    FrameHead head;
    MessageStatus status = co_await ReadHead(head, end);
    if (status != MessageStatus::kOk) co_return status;
    if (IsControl(head.kind)) {
      status = co_await AnswerControl(head);
      if (status != MessageStatus::kOk) co_return status;
      continue;
    }
    if (has_begun != (head.kind == FrameKind::kContinuation)) {
      co_return Invalid("a message's pieces are not in their order");
    }
    if (head.kind == FrameKind::kBinary) co_return Invalid("messages must be text");
    if (!std::exchange(has_begun, true)) end = Clock::now() + options_.body_timeout;
    if (head.payload_bytes > options_.max_body_bytes - text.size()) {
      co_return MessageStatus::kTooLarge;
    }
    status = co_await ReadPayload(head, end, text, &held);
    if (status != MessageStatus::kOk) co_return status;
    if (!head.is_last) continue;
    if (ValidUtf8Prefix(text) != text.size()) co_return Invalid("a message is not UTF-8");
    co_return MessageStatus::kOk;
  }
}

asio::awaitable<bool> WebSocket::AnswerPings() {
  if (!connection_.FillNow()) co_return false;
  while (true) {
    const std::string_view unread = connection_.unread();
    // What breaks the protocol is found when the next message is read.
    const Result<std::optional<FrameHead>> parsed = ParseFrameHead(unread);
    if (!parsed || !*parsed || !IsControl((*parsed)->kind)) co_return true;
    const FrameHead head = **parsed;
    if (unread.size() < head.head_bytes + head.payload_bytes) co_return true;
    connection_.Take(head.head_bytes);
    const MessageStatus status = co_await AnswerControl(head);
    if (status != MessageStatus::kOk) co_return false;
  }
}

asio::awaitable<bool> WebSocket::WriteText(std::string_view text) {
  const std::string frame = FormatFrame(FrameKind::kText, text);
  co_return co_await connection_.Write(frame);
}

asio::awaitable<bool> WebSocket::WriteEvents(std::string_view events) {
  constexpr std::string_view kEnd = "\n\n";
  constexpr std::string_view kData = "data: ";
  std::string frames;
  while (!events.empty()) {
    const size_t end = std::min(events.find(kEnd), events.size());
    const std::string_view event = events.substr(0, end);
    events.remove_prefix(std::min(end + kEnd.size(), events.size()));
    const size_t data = event.find(kData);
    if (data == std::string_view::npos || event.starts_with("event: error\n")) continue;
    const std::string_view json = event.substr(data + kData.size());
    if (json != "[DONE]") frames += FormatFrame(FrameKind::kText, json);
  }
  co_return co_await connection_.Write(frames);
}

asio::awaitable<void> WebSocket::Close(CloseCode code, std::string_view reason) {
  const std::string frame = FormatFrame(FrameKind::kClose, ClosePayload(code, reason));
  co_await connection_.Write(frame);
}

}  // namespace weft
