#include "server/http/web_socket_frame.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::string_literals::operator""s;

TEST(WebSocketFrameTest, AcceptsAsTheStandardSays) {
  // RFC 6455, section 1.3.
  EXPECT_EQ(WebSocketAccept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFrameTest, ReadsHeads) {
  // RFC 6455, section 5.7: a masked "Hello".
  const std::string hello = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s;
  const auto head = ParseFrameHead(hello);
  ASSERT_TRUE(head && *head);
  EXPECT_EQ((*head)->kind, FrameKind::kText);
  EXPECT_TRUE((*head)->is_last);
  EXPECT_EQ((*head)->payload_bytes, 5U);
  EXPECT_EQ((*head)->head_bytes, 6U);
  std::string payload = hello.substr(6);
  Unmask((*head)->mask, 0, payload.data(), 2);
  Unmask((*head)->mask, 2, payload.data() + 2, 3);
  EXPECT_EQ(payload, "Hello");
  for (size_t size = 0; size < 6; ++size) {
    const auto begun = ParseFrameHead(hello.substr(0, size));
    EXPECT_TRUE(begun && !*begun) << size;
  }
  EXPECT_EQ((*ParseFrameHead("\x02\xfe\x01\x00mask"s))->payload_bytes, 256U);
  EXPECT_FALSE((*ParseFrameHead("\x02\xfe\x01\x00mask"s))->is_last);
  EXPECT_EQ((*ParseFrameHead("\x82\xff\0\0\0\x01\0\0\0\0mask"s))->payload_bytes, uint64_t{1} << 32);
}

TEST(WebSocketFrameTest, RefusesWhatBreaksTheProtocol) {
  for (const std::string& bytes : {
           "\x81\x05Hello"s,                   // not masked
           "\xc1\x85mask"s,                    // a reserved bit
           "\x83\x80mask"s,                    // an unknown kind
           "\x8b\x80mask"s,                    // the same of a control frame
           "\x09\x80mask"s,                    // a ping in pieces
           "\x89\xfe\x00\x7emask"s,            // a ping of 126 bytes
           "\x82\xff\x80\0\0\0\0\0\0\0mask"s,  // a negative length
       }) {
    EXPECT_FALSE(ParseFrameHead(bytes)) << bytes;
  }
}

TEST(WebSocketFrameTest, WritesFrames) {
  EXPECT_EQ(FormatFrame(FrameKind::kText, "Hello"), "\x81\x05Hello");
  EXPECT_EQ(FormatFrame(FrameKind::kText, std::string(126, 'a')).substr(0, 5), "\x81\x7e\0~a"s);
  EXPECT_EQ(FormatFrame(FrameKind::kText, std::string(65536, 'a')).substr(0, 11),
            "\x81\x7f\0\0\0\0\0\x01\0\0a"s);
  EXPECT_EQ(ClosePayload(CloseCode::kTooLarge, "so"), "\x03\xf1so");
}

}  // namespace
}  // namespace weft
