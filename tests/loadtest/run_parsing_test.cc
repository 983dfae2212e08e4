// What a load test reads without a network: URLs, the JSON of answers.
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/run/answer_reader.h"
#include "loadtest/run/completion_chunk.h"
#include "loadtest/run/completion_json.h"
#include "loadtest/run/json_cursor.h"
#include "loadtest/run/url.h"

namespace weft {
namespace {

using testing::ElementsAre;

TEST(Url, ReadsHostPortAndPrefix) {
  const struct {
    const char* text;
    Scheme scheme;
    const char* host;
    const char* port;
    const char* path;
    const char* authority;
  } cases[] = {
      {"http://localhost:8080", Scheme::kHttp, "localhost", "8080", "", "localhost:8080"},
      {"http://10.0.0.1", Scheme::kHttp, "10.0.0.1", "80", "", "10.0.0.1:80"},
      {"http://h:1/", Scheme::kHttp, "h", "1", "", "h:1"},
      {"http://h:65535/v1/", Scheme::kHttp, "h", "65535", "", "h:65535"},
      {"http://h:1/proxy/v1", Scheme::kHttp, "h", "1", "/proxy", "h:1"},
      {"http://[::1]:8080/v1", Scheme::kHttp, "::1", "8080", "", "[::1]:8080"},
      {"http://[::1]", Scheme::kHttp, "::1", "80", "", "[::1]:80"},
      {"https://h", Scheme::kHttps, "h", "443", "", "h:443"},
      {"https://h:8443/v1", Scheme::kHttps, "h", "8443", "", "h:8443"},
      {"unix:/run/weft.sock", Scheme::kUnix, "localhost", "", "", "localhost"},
  };
  for (const auto& expected : cases) {
    const Result<Url> url = ParseUrl(expected.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->scheme, expected.scheme) << expected.text;
    EXPECT_EQ(url->host, expected.host) << expected.text;
    EXPECT_EQ(url->port, expected.port) << expected.text;
    EXPECT_EQ(url->path, expected.path) << expected.text;
    EXPECT_EQ(url->authority, expected.authority) << expected.text;
  }
  EXPECT_EQ(ParseUrl("unix:/run/weft.sock")->socket_path, "/run/weft.sock");
}

TEST(Url, RefusesWhatItCannotUse) {
  for (const char* text : {"", "localhost:8080", "ftp://h", "http://", "https://", "http://:80",
                           "http://h:", "http://h:0", "http://h:65536", "http://h:8x", "http://u@h",
                           "http:///v1", "http://h?q", "unix:", "unix:relative"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
  EXPECT_FALSE(ParseUrl("unix:/" + std::string(200, 'x')));
}

// What servers send: Weft, vLLM, llama.cpp's server; completions and chats.
const std::vector<std::string> kUsualChunks = {
    R"({"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":" Hé\n\"x\"","logprobs":null,"finish_reason":null}],"usage":null})",
    R"({"id":"cmpl-1","choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}}})",
    R"({"id": "chatcmpl-2", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "日本"}, "finish_reason": null}], "usage": {"prompt_tokens": 1, "total_tokens": 2, "completion_tokens": 1}})",
    R"({"choices":[{"delta":{"reasoning_content":"hm","content":null}}],"created":-1.5e3})",
    R"({"choices":[{"message":{"content":"a","reasoning":"b"},"finish_reason":"stop"},{"text":"other"}]})",
    R"({"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":9,"prompt_tokens_details":null},"timings":{"cache_n":0,"prompt_n":9,"prompt_ms":12.25,"predicted_n":3,"predicted_ms":30,"queue_ms":0.5}})",
    R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3},"metrics":{"time_to_first_token_ms":85.5,"generation_time_ms":1240.25,"queue_time_ms":12,"mean_itl_ms":null,"output_token_metrics":{"content":{"queue_time_ms":1}}}})",
};
// What is left to the general parser.
const std::vector<std::string> kUnusualChunks = {
    R"({"choices":[{"text":"\u00e9\ud83d\ude00"}]})",
    R"({"choices":[{"text":"a"}],"choices":[{"text":"b"}]})",
    R"({"choices":[{"text":null,"text":"b"}]})",
    R"({"choices":7,"usage":{"prompt_tokens":-1,"completion_tokens":"2"}})",
    R"({"choices":[{"text":"a","delta":{"content":"b"}}],"usage":{"prompt_tokens":1.0}})",
    R"({"choi\u0063es":[{"text":"a"}]})",
    R"({"error":null,"choices":[{"text":"a"}]})",
    R"({"choices":[{"delta":{"reasoning_content":null,"reasoning":"r"}}]})",
    R"({"choices":[],"metrics":{"queue_time_ms":2,"generation_time_ms":3},"timings":{"queue_ms":1}})",
    R"({})",
    R"({"choices":null,"usage":null})",
};

void ExpectAlike(const std::string& json, const CompletionChunk& a, const CompletionChunk& b) {
  EXPECT_EQ(a.id, b.id) << json;
  EXPECT_EQ(a.text, b.text) << json;
  EXPECT_EQ(a.reasoning, b.reasoning) << json;
  EXPECT_EQ(a.finish_reason, b.finish_reason) << json;
  EXPECT_EQ(a.prompt_tokens, b.prompt_tokens) << json;
  EXPECT_EQ(a.cached_tokens, b.cached_tokens) << json;
  EXPECT_EQ(a.completion_tokens, b.completion_tokens) << json;
  EXPECT_EQ(a.predicted_tokens, b.predicted_tokens) << json;
  EXPECT_EQ(a.timings.queue_ms, b.timings.queue_ms) << json;
  EXPECT_EQ(a.timings.prefill_ms, b.timings.prefill_ms) << json;
  EXPECT_EQ(a.timings.decode_ms, b.timings.decode_ms) << json;
}

TEST(CompletionChunk, TheFastReaderReadsWhatServersSend) {
  CompletionChunk fast, general;
  for (const std::string& json : kUsualChunks) {
    EXPECT_TRUE(ScanChunk(json, fast)) << json;
    ASSERT_TRUE(ParseChunk(json, general)) << json;
    ExpectAlike(json, fast, general);
  }
  for (const std::string& json : kUnusualChunks) {
    EXPECT_FALSE(ScanChunk(json, fast)) << json;
    EXPECT_TRUE(ReadChunk(json, fast)) << json;
  }
}

TEST(CompletionChunk, ReadsEveryField) {
  CompletionChunk chunk;
  ASSERT_TRUE(ReadChunk(kUsualChunks[0], chunk));
  EXPECT_EQ(chunk.id, "cmpl-1");
  EXPECT_EQ(chunk.text, " Hé\n\"x\"");
  EXPECT_EQ(chunk.finish_reason, "");
  EXPECT_EQ(chunk.completion_tokens, std::nullopt);
  ASSERT_TRUE(ReadChunk(kUsualChunks[1], chunk));
  EXPECT_EQ(chunk.text, "");
  EXPECT_EQ(chunk.finish_reason, "length");
  EXPECT_EQ(chunk.prompt_tokens, 5);
  EXPECT_EQ(chunk.cached_tokens, 4);
  EXPECT_EQ(chunk.completion_tokens, 7);
  ASSERT_TRUE(ReadChunk(kUsualChunks[4], chunk));
  EXPECT_EQ(chunk.text, "a");
  EXPECT_EQ(chunk.reasoning, "b");
  EXPECT_EQ(chunk.cached_tokens, std::nullopt);
  ASSERT_TRUE(ReadChunk(kUsualChunks[5], chunk));
  EXPECT_EQ(chunk.predicted_tokens, 3);
  EXPECT_EQ(chunk.timings.queue_ms, 0.5);
  EXPECT_EQ(chunk.timings.prefill_ms, 12.25);
  EXPECT_EQ(chunk.timings.decode_ms, 30);
  ASSERT_TRUE(ReadChunk(kUsualChunks[6], chunk));
  EXPECT_EQ(chunk.timings.queue_ms, 12);
  EXPECT_EQ(chunk.timings.prefill_ms, 85.5);
  EXPECT_EQ(chunk.timings.decode_ms, 1240.25);
  ASSERT_TRUE(ReadChunk(R"({"choices":[],"metrics":null,"timings":{"queue_ms":1}})", chunk));
  EXPECT_EQ(chunk.timings.queue_ms, 1);
}

// Seeds, spliced and with bytes changed: mostly not JSON, often nearly.
std::string Mutate(std::mt19937& random) {
  const auto below = [&random](size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
  };
  const auto pick = [&below]() -> const std::string& {
    const size_t i = below(kUsualChunks.size() + kUnusualChunks.size());
    return i < kUsualChunks.size() ? kUsualChunks[i] : kUnusualChunks[i - kUsualChunks.size()];
  };
  std::string json = pick();
  if (below(4) == 0)
    json = json.substr(0, below(json.size())).append(std::string_view(pick()).substr(below(2)));
  constexpr std::string_view kBytes =
      "{}[]\",:\\0123456789.eE+-ntrufalse \n\x80\xc3\xa9\xed\xa0\x01";
  for (size_t changes = below(4); changes > 0 && !json.empty(); --changes) {
    const size_t at = below(json.size());
    switch (below(3)) {
      case 0:
        json[at] = kBytes[below(kBytes.size())];
        break;
      case 1:
        json.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      default:
        json.erase(at, 1 + below(3));
    }
  }
  return json;
}

TEST(CompletionChunk, TheFastReaderNeverReadsWhatTheGeneralOneReadsOtherwise) {
  std::mt19937 random(5);
  int scanned = 0;
  CompletionChunk fast, general;
  for (int i = 0; i < 200'000; ++i) {
    const std::string json = Mutate(random);
    if (!ScanChunk(json, fast)) continue;
    ++scanned;
    ASSERT_TRUE(ParseChunk(json, general)) << json;
    ExpectAlike(json, fast, general);
    if (HasFailure()) return;
  }
  EXPECT_GT(scanned, 10'000);
}

// What arrives one after the other, a millisecond apart.
RequestRecord ReadEvents(const std::vector<std::string>& chunks) {
  RequestRecord record;
  AnswerReader reader(record, /*answer=*/nullptr, /*most_tokens=*/1 << 20);
  RequestRecord::Clock::time_point now{};
  for (const std::string& chunk : chunks) {
    reader.ReadEvents("data: " + chunk + "\n\n");
    reader.MarkArrival(now += std::chrono::milliseconds(1));
  }
  reader.FinishEvents(/*must_be_whole=*/true);
  return record;
}

std::string TextChunk(const std::string& text) {
  return R"({"choices":[{"text":")" + text + R"("}]})";
}

// With the number of tokens so far.
std::string CountedChunk(const std::string& text, int token_count) {
  return R"({"choices":[{"text":")" + text + R"("}],"usage":{"completion_tokens":)" +
         std::to_string(token_count) + "}}";
}

std::vector<int32_t> TokenCounts(const RequestRecord& record) {
  std::vector<int32_t> counts;
  for (const auto& arrival : record.arrivals) counts.push_back(arrival.token_count);
  return counts;
}

TEST(AnswerReader, AChunkIsATokenWhereTheServerSaysNothing) {
  const RequestRecord record =
      ReadEvents({TextChunk("a"), TextChunk(""), TextChunk("b"), "[DONE]"});
  EXPECT_EQ(record.failure, "");
  EXPECT_THAT(TokenCounts(record), ElementsAre(1, 1));
  EXPECT_EQ(record.arrivals[1].time - record.arrivals[0].time, std::chrono::milliseconds(2));
  EXPECT_EQ(record.output_tokens, 2);
}

TEST(AnswerReader, CountsByTheDifferencesWhereEveryChunkSaysHowMany) {
  const RequestRecord record =
      ReadEvents({CountedChunk("a", 1), CountedChunk("bcd", 4), CountedChunk("", 5),
                  CountedChunk("\xc3\xa9", 6), CountedChunk("", 6), "[DONE]"});
  EXPECT_THAT(TokenCounts(record), ElementsAre(1, 3, 1, 1));
  EXPECT_EQ(record.output_tokens, 6);
}

TEST(AnswerReader, SpreadsTheFinalCountWhereTheChunksWereFewer) {
  const RequestRecord record =
      ReadEvents({TextChunk("a"), TextChunk("b"), TextChunk("c"), CountedChunk("", 8), "[DONE]"});
  EXPECT_THAT(TokenCounts(record), ElementsAre(3, 3, 2));
  EXPECT_EQ(record.output_tokens, 8);
}

TEST(AnswerReader, WhatComesBehindAnErrorCountsNoMore) {
  const RequestRecord record =
      ReadEvents({TextChunk("a"), R"({"error":{"message":"why"}})", TextChunk("b"), "[DONE]"});
  EXPECT_EQ(record.failure, "error in stream");
  EXPECT_EQ(record.output_tokens, 1);
}

TEST(CompletionJson, FindsTheErrorInItsDialects) {
  CompletionChunk chunk;
  for (const char* json : {R"({"error":{"message":"why"}})", R"({"error":"why"})",
                           R"({"object":"error","message":"why"})"}) {
    EXPECT_EQ(ErrorMessage(json), "why");
    EXPECT_TRUE(HasError(json));
    const Result<void> read = ReadChunk(json, chunk);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "why");
  }
  EXPECT_EQ(ErrorMessage("<html>Bad gateway"), "<html>Bad gateway");
  EXPECT_FALSE(HasError("<html>Bad gateway"));
  EXPECT_FALSE(HasError("{}"));
  for (const char* garbage : {"", "[]", "{\"choices\":", "7"}) {
    EXPECT_FALSE(ReadChunk(garbage, chunk));
  }
}

TEST(CompletionJson, FindsTheFirstModel) {
  const auto model =
      FirstModel(R"({"object":"list","data":[{"id":"a","owned_by":"vllm"},{"id":"b"}]})");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->id, "a");
  EXPECT_EQ(model->owner, "vllm");
  for (const char* json : {"", "{}", R"({"data":[]})", R"({"data":[{}]})"}) {
    EXPECT_FALSE(FirstModel(json)) << json;
  }
}

}  // namespace
}  // namespace weft
