// What a load test reads of a body as it arrives: out of its framing, and into the record.
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/run/body_framing.h"
#include "loadtest/run/stream_reader.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Unframed {
  std::string content;
  std::string rest;  // behind the body
  std::string error;
  bool done = false;
};

// `bytes` in pieces of memory that is gone afterwards, so that the sanitizers see what is kept.
Unframed Unframe(BodyFraming framing, std::string_view bytes, size_t piece_bytes) {
  Unframed unframed;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    const std::string piece(bytes.substr(at, piece_bytes));
    std::string_view left = piece;
    for (;;) {
      const std::string_view content = framing.Next(left);
      if (content.empty()) break;
      unframed.content += content;
    }
    unframed.rest += left;
  }
  unframed.done = framing.is_done();
  if (framing.error() != nullptr) unframed.error = framing.error();
  return unframed;
}

TEST(BodyFraming, GivesTheContentOfChunksHoweverTheyAreCut) {
  const std::string body =
      "5\r\nHello\r\n1;name=\"v\"\r\n \r\n00A \r\nwide world\r\n0;last\r\nX-Trailer: 1\r\n"
      "Y: 2\r\n\r\n";
  for (size_t piece = 1; piece <= body.size(); ++piece) {
    const Unframed unframed = Unframe(BodyFraming::Chunked(), body, piece);
    EXPECT_EQ(unframed.content, "Hello wide world") << "in pieces of " << piece;
    EXPECT_TRUE(unframed.done) << "in pieces of " << piece;
    EXPECT_EQ(unframed.error, "");
    EXPECT_EQ(unframed.rest, "");
  }
}

TEST(BodyFraming, LeavesWhatComesBehindTheBody) {
  EXPECT_EQ(Unframe(BodyFraming::Chunked(), "1\r\na\r\n0\r\n\r\nHTTP", 100).rest, "HTTP");
  EXPECT_EQ(Unframe(BodyFraming::OfLength(3), "abcHTTP", 100).rest, "HTTP");
}

TEST(BodyFraming, ALengthEndsTheBody) {
  for (const size_t piece : {1, 2, 3}) {
    const Unframed unframed = Unframe(BodyFraming::OfLength(3), "abc", piece);
    EXPECT_EQ(unframed.content, "abc");
    EXPECT_TRUE(unframed.done);
    EXPECT_FALSE(Unframe(BodyFraming::OfLength(4), "abc", piece).done);
  }
  EXPECT_TRUE(BodyFraming::OfLength(0).is_done());
}

TEST(BodyFraming, AClosedConnectionIsTheEndOnlyWhereNothingElseIs) {
  EXPECT_EQ(Unframe(BodyFraming::UntilClosed(), "0\r\n\r\n", 2).content, "0\r\n\r\n");
  EXPECT_TRUE(BodyFraming::UntilClosed().Close());
  EXPECT_FALSE(BodyFraming::Chunked().Close());
  EXPECT_FALSE(BodyFraming::OfLength(1).Close());
  EXPECT_TRUE(BodyFraming::OfLength(0).Close());
}

TEST(BodyFraming, SaysWhatIsBroken) {
  const std::string number = "no hexadecimal number", line = "CR LF";
  const struct {
    std::string body;
    std::string error;
  } cases[] = {
      {"zz\r\n", number},
      {"\r\n", number},
      {"-1\r\n", number},
      {" 1\r\n", number},
      {"1x\r\n", number},
      {"1\r\na\r\n\r\n", number},
      {"1\nab", number},
      {"1\r\r", line},
      {"1\r\nab\r\n", line},
      {"1\r\na\n0\r\n\r\n", line},
      {"0\r\n\rx", line},
      {"0\r\nX: 1\rY", line},
      {"ffffffffffffffff\r\n", "256 MiB"},
      {"10000001\r\n", "256 MiB"},
      {"1;" + std::string(BodyFraming::kMostFramingBytes, 'x'), "64 KiB"},
      {"0\r\nX: " + std::string(BodyFraming::kMostFramingBytes, 'x'), "64 KiB"},
      {std::string(BodyFraming::kMostFramingBytes + 1, '0'), "64 KiB"},
  };
  for (const auto& expected : cases) {
    for (const size_t piece : {size_t{1}, expected.body.size()}) {
      const Unframed unframed = Unframe(BodyFraming::Chunked(), expected.body, piece);
      EXPECT_THAT(unframed.error, HasSubstr(expected.error)) << expected.body.substr(0, 40);
      EXPECT_FALSE(unframed.done);
    }
  }
}

TEST(BodyFraming, ItsLimitForFramingIsForOneRunOfIt) {
  std::string body;
  for (int i = 0; i < 3; ++i) body += "1;" + std::string(40'000, 'x') + "\r\na\r\n";
  EXPECT_EQ(Unframe(BodyFraming::Chunked(), body, 1000).content, "aaa");
}

TEST(BodyFraming, HasALimitForAllChunksTogether) {
  BodyFraming framing = BodyFraming::Chunked();
  const std::string chunk = "100000\r\n" + std::string(1 << 20, 'x') + "\r\n";
  uint64_t content_bytes = 0;
  for (int i = 0; i < 257; ++i) {
    std::string_view left = chunk;
    content_bytes += framing.Next(left).size();
    framing.Next(left);  // the line's end
  }
  EXPECT_EQ(content_bytes, BodyFraming::kMostContentBytes);
  ASSERT_NE(framing.error(), nullptr);
}

// Bodies of random chunks, as Beast reads them.
TEST(BodyFraming, ReadsWhatBeastReads) {
  namespace http = boost::beast::http;
  std::mt19937_64 random(7);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  const std::string_view extensions[] = {"", ";a", ";a=b", ";a=\"\\r\\n0\"", "; a"};
  for (int round = 0; round < 500; ++round) {
    std::string body;
    for (uint64_t chunks = below(6); chunks > 0; --chunks) {
      std::string content(1 + below(300), '\0');
      for (char& byte : content) byte = "\r\n0a"[below(4)];
      body += fmt::format("{:0{}x}{}\r\n{}\r\n", content.size(), 1 + below(5),
                          extensions[below(std::size(extensions))], content);
    }
    body += below(2) == 0 ? "0\r\n\r\n" : "000;x\r\nA: b\r\n\r\n";
    http::response_parser<http::string_body> parser;
    parser.eager(true);
    boost::system::error_code error;
    const std::string answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
    parser.put(boost::asio::buffer(answer), error);
    ASSERT_FALSE(error) << error.message() << " of " << body;
    ASSERT_TRUE(parser.is_done());
    const Unframed unframed = Unframe(BodyFraming::Chunked(), body, 1 + below(body.size()));
    EXPECT_EQ(unframed.content, parser.get().body());
    EXPECT_TRUE(unframed.done) << unframed.error;
  }
}

class StreamReaderTest : public testing::Test {
 protected:
  static std::string Chunk(std::string_view text) {
    const std::string event = fmt::format("data: {{\"choices\":[{{\"text\":\"{}\"}}]}}\n\n", text);
    return fmt::format("{:x}\r\n{}\r\n", event.size(), event);
  }
  std::vector<int32_t> ArrivalCounts() {
    reader_.reader().FinishEvents(/*must_be_whole=*/false);
    std::vector<int32_t> counts;
    for (const auto& arrival : record_.arrivals) counts.push_back(arrival.token_count);
    return counts;
  }

  RequestRecord record_;
  int64_t live_token_count_ = 0;
  StreamReader reader_{BodyFraming::Chunked(),
                       AnswerReader(record_, /*answer=*/nullptr, /*most_tokens=*/1000),
                       live_token_count_};
};

TEST_F(StreamReaderTest, TokensOfOneReadArriveTogetherInHoweverManyChunks) {
  EXPECT_TRUE(reader_.OnRead({}, Chunk("a")));
  EXPECT_TRUE(reader_.OnRead({}, Chunk("b") + Chunk("c") + Chunk("d")));
  EXPECT_EQ(live_token_count_, 4);
  EXPECT_THAT(ArrivalCounts(), ElementsAre(1, 3));
}

TEST_F(StreamReaderTest, ATokenArrivesWithItsLastByte) {
  const std::string chunk = Chunk("a");
  const size_t before_last = chunk.rfind("\n\r\n");
  EXPECT_TRUE(reader_.OnRead({}, chunk.substr(0, before_last)));
  EXPECT_EQ(live_token_count_, 0);
  EXPECT_TRUE(reader_.OnRead({}, chunk.substr(before_last)));
  EXPECT_EQ(live_token_count_, 1);
  EXPECT_THAT(ArrivalCounts(), ElementsAre(1));
}

TEST_F(StreamReaderTest, PausesAfterSoManyTokens) {
  reader_.PauseAt(2);
  EXPECT_TRUE(reader_.OnRead({}, Chunk("a")));
  EXPECT_FALSE(reader_.OnRead({}, Chunk("b")));
  EXPECT_TRUE(reader_.is_paused());
  EXPECT_TRUE(reader_.goes_on());
  reader_.GoOn();
  EXPECT_TRUE(reader_.OnRead({}, Chunk("c")));
}

TEST_F(StreamReaderTest, EndsWithItsBody) {
  EXPECT_FALSE(reader_.OnRead({}, Chunk("a") + "0\r\n\r\n"));
  EXPECT_FALSE(reader_.goes_on());
  EXPECT_TRUE(reader_.is_whole());
  EXPECT_EQ(record_.failure, "");
}

TEST_F(StreamReaderTest, IsNotWholeWithSomethingBehindIt) {
  EXPECT_FALSE(reader_.OnRead({}, "0\r\n\r\nx"));
  EXPECT_FALSE(reader_.is_whole());
}

TEST_F(StreamReaderTest, AConnectionThatEndsTooEarlyIsAnError) {
  EXPECT_TRUE(reader_.OnRead({}, Chunk("a")));
  EXPECT_FALSE(reader_.OnRead(boost::asio::error::eof, {}));
  EXPECT_EQ(reader_.error(), boost::asio::error::eof);
  EXPECT_FALSE(reader_.is_whole());
}

TEST_F(StreamReaderTest, WithoutALengthTheBodyEndsWithItsConnectionButNotInAnError) {
  const AnswerReader answer(record_, /*answer=*/nullptr, /*most_tokens=*/1000);
  StreamReader closed(BodyFraming::UntilClosed(), answer, live_token_count_);
  EXPECT_FALSE(closed.OnRead(boost::asio::error::eof, {}));
  EXPECT_TRUE(closed.is_whole());
  EXPECT_FALSE(closed.error());
  StreamReader reset(BodyFraming::UntilClosed(), answer, live_token_count_);
  EXPECT_FALSE(reset.OnRead(boost::asio::error::connection_reset, {}));
  EXPECT_FALSE(reset.is_whole());
  EXPECT_EQ(reset.error(), boost::asio::error::connection_reset);
}

TEST_F(StreamReaderTest, BrokenFramingFailsTheRecordAndSaysWhy) {
  EXPECT_FALSE(reader_.OnRead({}, Chunk("a") + "zz\r\n"));
  EXPECT_EQ(record_.failure, "bad response");
  EXPECT_THAT(record_.failure_detail, HasSubstr("no hexadecimal number"));
  EXPECT_EQ(live_token_count_, 1);
}

TEST_F(StreamReaderTest, AnErrorOfTheServerIsNotHiddenByWhatComesBehindIt) {
  const std::string event = "data: {\"error\":{\"message\":\"why\"}}\n\n";
  EXPECT_FALSE(reader_.OnRead({}, fmt::format("{:x}\r\n{}\r\nzz", event.size(), event)));
  EXPECT_EQ(record_.failure, "error in stream");
  EXPECT_EQ(record_.failure_detail, "why");
}

}  // namespace
}  // namespace weft
