// The frames of WebSocket connections (RFC 6455), as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// What Sec-WebSocket-Accept answers to a Sec-WebSocket-Key.
std::string WebSocketAccept(std::string_view key);

enum class FrameKind : uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};
// Close, ping and pong: short, and whole.
constexpr bool IsControl(FrameKind kind) { return kind >= FrameKind::kClose; }

// Of a frame that a client has sent.
struct FrameHead {
  FrameKind kind = FrameKind::kText;
  bool is_last = true;  // of its message
  uint64_t payload_bytes = 0;
  std::array<uint8_t, 4> mask{};
  size_t head_bytes = 0;
};

// nullopt: there is more of it to come. Errors: it breaks the protocol.
Result<std::optional<FrameHead>> ParseFrameHead(std::string_view bytes);

// Bytes of a payload, of which `offset` come before them.
void Unmask(const std::array<uint8_t, 4>& mask, size_t offset, char* bytes, size_t count);

// A whole message, or a control frame, of a server.
std::string FormatFrame(FrameKind kind, std::string_view payload);

// Why a connection closes: RFC 6455, section 7.4.1.
enum class CloseCode : uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kUnsupportedData = 1003,
  kInvalidPayload = 1007,
  kPolicy = 1008,
  kTooLarge = 1009,
  kTryAgainLater = 1013,
};
// The payload of the frame that says so.
std::string ClosePayload(CloseCode code, std::string_view reason);

}  // namespace weft
