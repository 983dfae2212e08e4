#include "server/http/web_socket_frame.h"

#include <algorithm>

#include <openssl/sha.h>

#include "base/base64.h"

namespace weft {
namespace {

constexpr size_t kMostControlBytes = 125;

uint64_t BigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

void AppendBigEndian(uint64_t value, size_t byte_count, std::string& bytes) {
  for (size_t i = byte_count; i-- > 0;) bytes += static_cast<char>(value >> (8 * i));
}

bool IsKnown(uint8_t kind) { return kind <= 2 || (kind >= 8 && kind <= 10); }

}  // namespace

std::string WebSocketAccept(std::string_view key) {
  constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const std::string text = std::string(key).append(kGuid);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string accept;
  AppendBase64({reinterpret_cast<const char*>(digest.data()), digest.size()}, &accept);
  return accept;
}

Result<std::optional<FrameHead>> ParseFrameHead(std::string_view bytes) {
  constexpr uint8_t kLast = 0x80;
  constexpr uint8_t kReserved = 0x70;
  constexpr uint8_t kMasked = 0x80;
  if (bytes.size() < 2) return std::nullopt;
  const auto first = static_cast<uint8_t>(bytes[0]);
  const auto second = static_cast<uint8_t>(bytes[1]);
  if ((first & kReserved) != 0) {
    return Fail(ErrorCode::kInvalidArgument, "a frame has bits that were not agreed on");
  }
  if (!IsKnown(first & 0x0F)) {
    return Fail(ErrorCode::kInvalidArgument, "a frame is of the unknown kind {}", first & 0x0F);
  }
  if ((second & kMasked) == 0) {
    return Fail(ErrorCode::kInvalidArgument, "a client's frame is not masked");
  }
  FrameHead head;
  head.kind = static_cast<FrameKind>(first & 0x0F);
  head.is_last = (first & kLast) != 0;
  head.payload_bytes = second & 0x7F;
  size_t length_bytes = 0;
  if (head.payload_bytes == 126) length_bytes = 2;
  if (head.payload_bytes == 127) length_bytes = 8;
  head.head_bytes = 2 + length_bytes + head.mask.size();
  if (IsControl(head.kind) && (!head.is_last || length_bytes > 0)) {
    return Fail(ErrorCode::kInvalidArgument,
                "a control frame is longer than {} bytes, or in pieces", kMostControlBytes);
  }
  if (bytes.size() < head.head_bytes) return std::nullopt;
  if (length_bytes > 0) head.payload_bytes = BigEndian(bytes.substr(2, length_bytes));
  if (head.payload_bytes >> 63 != 0) {
    return Fail(ErrorCode::kInvalidArgument, "a frame's length is negative");
  }
  std::ranges::copy(bytes.substr(2 + length_bytes, head.mask.size()), head.mask.begin());
  return head;
}

void Unmask(const std::array<uint8_t, 4>& mask, size_t offset, char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<char>(static_cast<uint8_t>(bytes[i]) ^ mask[(offset + i) % mask.size()]);
  }
}

std::string FormatFrame(FrameKind kind, std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + 10);
  frame += static_cast<char>(0x80 | static_cast<uint8_t>(kind));
  if (payload.size() <= kMostControlBytes) {
    frame += static_cast<char>(payload.size());
  } else if (payload.size() <= 0xFFFF) {
    frame += static_cast<char>(126);
    AppendBigEndian(payload.size(), 2, frame);
  } else {
    frame += static_cast<char>(127);
    AppendBigEndian(payload.size(), 8, frame);
  }
  return frame.append(payload);
}

std::string ClosePayload(CloseCode code, std::string_view reason) {
  std::string payload;
  AppendBigEndian(static_cast<uint16_t>(code), 2, payload);
  return payload.append(reason.substr(0, kMostControlBytes - 2));
}

}  // namespace weft
