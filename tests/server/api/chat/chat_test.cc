// /v1/chat/completions through a socket: what comes back for what was sent.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

RawResponse Chat(const TestServer& server, const std::string& fields,
                 const std::string& messages = R"([{"role":"user","content":"Hi"}])") {
  return server.PostTo("/v1/chat/completions",
                       R"({"messages":)" + messages + (fields.empty() ? "" : "," + fields) + "}");
}

constexpr auto kTools =
    R"("tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}])";

// The message of a whole answer.
json MessageOf(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body)["choices"][0]["message"];
}

// A stream's chunks put together as clients do it.
struct Streamed {
  Streamed() noexcept(false) {}  // as nlohmann's null value may throw, by its signature
  std::vector<json> messages;    // a choice: role, content, reasoning_content, tool_calls
  std::vector<std::string> finish_reasons;
  std::vector<size_t> logprob_counts;
  json usage;
};

void Add(const json& delta, json& message) {
  if (delta.contains("role")) message["role"] = delta["role"];
  for (const char* const field : {"content", "reasoning_content"}) {
    if (!delta.contains(field) || delta[field].is_null()) continue;
    message[field] = message.value(field, std::string()) + delta[field].get<std::string>();
  }
  if (!delta.contains("tool_calls")) return;
  for (const json& piece : delta["tool_calls"]) {
    json& call = message["tool_calls"][piece.at("index").get<size_t>()];
    if (piece.contains("id")) {
      EXPECT_EQ(piece["type"], "function");
      call = {{"id", piece["id"]}, {"name", piece["function"]["name"]}, {"arguments", ""}};
    }
    call["arguments"] =
        call["arguments"].get<std::string>() + piece["function"]["arguments"].get<std::string>();
  }
}

Streamed ReadStream(const RawResponse& response, size_t choice_count = 1) {
  EXPECT_EQ(response.status, 200) << response.body;
  Streamed streamed;
  streamed.messages.resize(choice_count);
  streamed.finish_reasons.resize(choice_count);
  streamed.logprob_counts.resize(choice_count);
  const std::vector<std::string> events = SseData(response.body);
  EXPECT_EQ(events.back(), "[DONE]");
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json chunk = json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_THAT(chunk["id"].get<std::string>(), StartsWith("chatcmpl-"));
    if (chunk.contains("usage") && !chunk["usage"].is_null()) streamed.usage = chunk["usage"];
    for (const json& choice : chunk["choices"]) {
      const auto index = choice["index"].get<size_t>();
      // The role comes first, and nothing after the finish reason.
      EXPECT_EQ(choice["delta"].contains("role"), streamed.messages[index].is_null());
      EXPECT_EQ(streamed.finish_reasons[index], "");
      Add(choice["delta"], streamed.messages[index]);
      if (!choice["logprobs"].is_null()) {
        streamed.logprob_counts[index] += choice["logprobs"]["content"].size();
      }
      if (!choice["finish_reason"].is_null()) {
        streamed.finish_reasons[index] = choice["finish_reason"];
      }
    }
  }
  return streamed;
}

TEST(ChatTest, AnswersWholeAndStreamedAlike) {
  const TestServer server(Saying("Hello, Łódź!"));
  const RawResponse whole = Chat(server, R"("model":"test-model")");
  const json body = json::parse(whole.body);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_THAT(body["id"].get<std::string>(), StartsWith("chatcmpl-"));
  EXPECT_THAT(body["system_fingerprint"].get<std::string>(), StartsWith("fp_"));
  EXPECT_EQ(body["model"], "test-model");
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"],
            json({{"role", "assistant"}, {"content", "Hello, Łódź!"}, {"refusal", nullptr}}));
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["logprobs"], nullptr);
  EXPECT_EQ(body["usage"]["prompt_tokens"], kPromptBytes);  // no BOS of our own
  EXPECT_EQ(body["usage"]["completion_tokens"], 16);        // bytes, and the end
  EXPECT_EQ(body["usage"]["total_tokens"], kPromptBytes + 16);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 0);

  const RawResponse streamed =
      Chat(server, R"("stream":true,"stream_options":{"include_usage":true})");
  EXPECT_THAT(streamed.headers.at("content-type"), HasSubstr("text/event-stream"));
  const Streamed stream = ReadStream(streamed);
  EXPECT_EQ(stream.messages[0], json({{"role", "assistant"}, {"content", "Hello, Łódź!"}}));
  EXPECT_EQ(stream.finish_reasons[0], "stop");
  EXPECT_EQ(stream.usage, body["usage"]);
  EXPECT_EQ(ReadStream(Chat(server, R"("stream":true)")).usage, nullptr);
}

TEST(ChatTest, AStreamSaysHowFarItsPromptIs) {
  const TestServer server(Saying("Hello"));
  const RawResponse response = Chat(server, R"("stream":true,"return_progress":true)");
  EXPECT_EQ(ReadStream(response).messages[0]["content"], "Hello");
  std::vector<json> progress;
  for (const std::string& event : SseData(response.body)) {
    const json chunk = json::parse(event, nullptr, false);
    if (chunk.is_object() && chunk.contains("prompt_progress")) {
      progress.push_back(chunk["prompt_progress"]);
      EXPECT_EQ(chunk["choices"][0]["delta"], json::object());
    }
  }
  ASSERT_GE(progress.size(), 2U);
  EXPECT_EQ(progress.front()["processed"], progress.front()["cache"]);
  EXPECT_EQ(progress.back()["processed"], progress.back()["total"]);
}

TEST(ChatTest, LengthEndsTheReply) {
  const TestServer server(Saying("Hello"));
  for (const char* const name : {"max_tokens", "max_completion_tokens"}) {
    const json body = json::parse(Chat(server, "\"" + std::string(name) + "\":3").body);
    EXPECT_EQ(body["choices"][0]["message"]["content"], "Hel");
    EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  }
}

TEST(ChatTest, ReasoningIsPartedAndCounted) {
  const TestServer server(Saying("<think>\nHm.\n</think>\n\nYes."));
  const RawResponse whole = Chat(server, "");
  EXPECT_EQ(MessageOf(whole)["reasoning_content"], "Hm.");
  EXPECT_EQ(MessageOf(whole)["content"], "Yes.");
  // From the < that may begin a tag is not known yet; the tags' tokens belong to the reasoning.
  EXPECT_EQ(json::parse(whole.body)["usage"]["completion_tokens_details"]["reasoning_tokens"], 14);
  const Streamed stream = ReadStream(Chat(server, R"("stream":true)"));
  EXPECT_EQ(stream.messages[0]["reasoning_content"], "Hm.");
  EXPECT_EQ(stream.messages[0]["content"], "Yes.");
}

TEST(ChatTest, CallsOfToolsComeOutOfTheText) {
  const TestServer server(
      Saying("See.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
             "</tool_call>\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"));
  const RawResponse whole = Chat(server, kTools);
  const json choice = json::parse(whole.body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "See.");
  const json& calls = choice["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"],
            json({{"name", "weather"}, {"arguments", "{\"city\": \"Oslo\"}"}}));
  EXPECT_EQ(calls[1]["function"]["arguments"], "{}");
  EXPECT_THAT(calls[0]["id"].get<std::string>(), StartsWith("call_"));
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);

  const Streamed stream = ReadStream(Chat(server, std::string(kTools) + R"(,"stream":true)"));
  EXPECT_EQ(stream.finish_reasons[0], "tool_calls");
  EXPECT_EQ(stream.messages[0]["content"], "See.");
  ASSERT_EQ(stream.messages[0]["tool_calls"].size(), 2U);
  EXPECT_EQ(stream.messages[0]["tool_calls"][0]["name"], "weather");
  EXPECT_EQ(stream.messages[0]["tool_calls"][0]["arguments"], "{\"city\": \"Oslo\"}");

  const json one = MessageOf(Chat(server, std::string(kTools) + R"(,"parallel_tool_calls":false)"));
  EXPECT_EQ(one["tool_calls"].size(), 1U);
  // Without tools, or with none to be called, it is text.
  EXPECT_THAT(MessageOf(Chat(server, ""))["content"], HasSubstr("<tool_call>"));
  const json none = MessageOf(Chat(server, std::string(kTools) + R"(,"tool_choice":"none")"));
  EXPECT_THAT(none["content"], HasSubstr("<tool_call>"));
  EXPECT_FALSE(none.contains("tool_calls"));
}

TEST(ChatTest, AForcedCallIsACall) {
  const TestServer server(
      Saying("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
             "</tool_call>"));
  const std::string choice = R"(,"tool_choice":{"type":"function","function":{"name":"weather"}})";
  const json body = json::parse(Chat(server, kTools + choice).body)["choices"][0];
  EXPECT_EQ(body["message"]["content"], nullptr);
  EXPECT_EQ(body["message"]["tool_calls"][0]["function"]["name"], "weather");
  EXPECT_EQ(body["message"]["tool_calls"][0]["function"]["arguments"], "{\"city\": \"Oslo\"}");
  EXPECT_EQ(body["finish_reason"], "stop");  // the client has chosen the function

  const TestServer required(
      Saying("<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"));
  const Streamed stream = ReadStream(
      Chat(required, std::string(kTools) + R"(,"tool_choice":"required","stream":true)"));
  EXPECT_EQ(stream.messages[0]["tool_calls"][0]["name"], "weather");
  EXPECT_EQ(stream.finish_reasons[0], "tool_calls");
}

// The model wants "get_weather", whatever it is offered: names of its length.
constexpr auto kOtherTools =
    R"("tools":[{"type":"function","function":{"name":"book_flight"}},
                {"type":"function","function":{"name":"book_hotels"}},
                {"type":"function","function":{"name":"list_trains"}}])";
constexpr auto kOtherNames = {"book_flight", "book_hotels", "list_trains"};

TEST(ChatTest, AForcedCallNamesAToolThatWasOffered) {
  const TestServer server(
      Saying("<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}"
             "</tool_call>"));
  std::map<std::string, int32_t> counts;
  for (int seed = 0; seed < 30; ++seed) {
    const json message = MessageOf(
        Chat(server, std::string(kOtherTools) + R"(,"tool_choice":"required","temperature":1.5)" +
                         R"(,"logprobs":true,"seed":)" + std::to_string(seed)));
    ASSERT_EQ(message.value("tool_calls", json::array()).size(), 1U) << message;
    const json& function = message["tool_calls"][0]["function"];
    EXPECT_EQ(function["arguments"], "{\"city\": \"Oslo\"}");
    ++counts[function["name"]];
  }
  EXPECT_EQ(counts.size(), 3U);
  for (const char* const name : kOtherNames) EXPECT_GT(counts[name], 0) << name;
}

TEST(ChatTest, ACallOfTheModelsOwnNamesAToolThatWasOffered) {
  const TestServer server(
      Saying("<think>\n<tool_call>{\"name\": \"x\n</think>\n\n<tool_call>\n"
             "{\"name\": \"get_weather\", \"arguments\": {\"name\": \"x\"}}\n</tool_call>"));
  const json message = MessageOf(Chat(server, std::string(kOtherTools) + R"(,"seed":1)"));
  EXPECT_EQ(message["reasoning_content"], "<tool_call>{\"name\": \"x");
  ASSERT_EQ(message.value("tool_calls", json::array()).size(), 1U) << message;
  const json& function = message["tool_calls"][0]["function"];
  EXPECT_EQ(function["arguments"], "{\"name\": \"x\"}");
  EXPECT_THAT(function["name"].get<std::string>(), testing::AnyOfArray(kOtherNames));
}

TEST(ChatTest, AnswersOfToolsGoToTheTemplate) {
  const TestServer server(Saying("Sunny."));
  const std::string messages =
      R"([{"role":"user","content":"Weather?"},
          {"role":"assistant","tool_calls":[{"id":"call_1","type":"function",
             "function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},
          {"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"sun"}]}])";
  EXPECT_EQ(MessageOf(Chat(server, kTools, messages))["content"], "Sunny.");
}

TEST(ChatTest, ManyChoicesWithLogprobs) {
  TestModelOptions options = Saying("");
  options.reply.clear();  // letters by chance
  const TestServer server(options);
  const std::string fields = R"("n":2,"seed":3,"max_tokens":5,"logprobs":true,"top_logprobs":2)";
  const json choices = json::parse(Chat(server, fields).body)["choices"];
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_NE(choices[0]["message"]["content"], choices[1]["message"]["content"]);
  for (const json& choice : choices) {
    const json& content = choice["logprobs"]["content"];
    ASSERT_EQ(content.size(), 5U);
    std::string text;
    for (const json& entry : content) {
      text += entry["token"].get<std::string>();
      EXPECT_EQ(entry["bytes"], json({entry["token"].get<std::string>()[0]}));
      EXPECT_LE(entry["logprob"], 0.0);
      EXPECT_EQ(entry["top_logprobs"].size(), 2U);
      EXPECT_GE(entry["top_logprobs"][0]["logprob"], entry["top_logprobs"][1]["logprob"]);
    }
    EXPECT_EQ(choice["message"]["content"], text);
  }
  const Streamed stream = ReadStream(Chat(server, fields + R"(,"stream":true)"), 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(stream.messages[i]["content"], choices[i]["message"]["content"]);
    EXPECT_EQ(stream.logprob_counts[i], 5U);
  }
}

TEST(ChatTest, LogprobsOfHeldBackTextAreNotLost) {
  const TestServer server(Saying("a <tool_"));
  const std::string fields = std::string(kTools) + R"(,"logprobs":true)";
  EXPECT_EQ(ReadStream(Chat(server, fields + R"(,"stream":true)")).logprob_counts[0], 8U);
  EXPECT_EQ(json::parse(Chat(server, fields).body)["choices"][0]["logprobs"]["content"].size(), 8U);
}

TEST(ChatTest, ContinuesTheFinalMessage) {
  TestModelOptions options = Saying("");
  options.reply = " world";
  options.reply_position = static_cast<int32_t>(std::string("<user>a<assistant>Hello").size());
  const TestServer server(options);
  const json message =
      MessageOf(Chat(server, R"("continue_final_message":true)",
                     R"([{"role":"user","content":"a"},{"role":"assistant","content":"Hello"}])"));
  EXPECT_EQ(message["content"], " world");
  const TestServer begins(Saying("Hello"));
  for (const char* const empty : {R"("")", R"(" ")", "null"}) {
    const std::string messages =
        R"([{"role":"user","content":"a"},{"role":"assistant","content":)" + std::string(empty) +
        "}]";
    EXPECT_EQ(MessageOf(Chat(begins, R"("continue_final_message":true)", messages))["content"],
              "Hello");
  }
}

// What others have written in the conversation says nothing about where the reply begins.
TEST(ChatTest, TheTagOfReasoningInAnotherMessageIsText) {
  const auto continued = [](const std::string& content) {
    const std::string before = "<user>What does <think> mean?<assistant>";
    TestModelOptions options = Saying(" It opens reasoning.");
    if (!content.empty()) options.reply_position = static_cast<int32_t>((before + content).size());
    const TestServer server(options);
    return MessageOf(Chat(server, R"("continue_final_message":true)",
                          R"([{"role":"user","content":"What does <think> mean?"},)"
                          R"({"role":"assistant","content":")" +
                              content + R"("}])"));
  };
  for (const char* const content : {"", "Well.", "<think>Hm.</think>Well."}) {
    const json message = continued(content);
    EXPECT_EQ(message["content"], " It opens reasoning.") << content;
    EXPECT_FALSE(message.contains("reasoning_content")) << content;
  }
  const json message = continued("<think>Hm.");
  EXPECT_EQ(message["reasoning_content"], "It opens reasoning.");
  EXPECT_EQ(message["content"], "");
}

TEST(ChatTest, TheTemplatesRefusalIsTheClients) {
  const TestServer server(Saying("x"));
  const RawResponse refused = Chat(server, "", R"([{"role":"user","content":"refuse"}])");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["message"], "this model does not talk to you");
  EXPECT_EQ(ErrorOf(refused)["param"], "messages");
}

TEST(ChatTest, AModelWithoutATemplateSaysSo) {
  const TestServer server;
  const RawResponse refused = Chat(server, "");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["code"], "no_chat_template");
  EXPECT_THAT(ErrorOf(refused)["message"], HasSubstr("--chat-template"));
}

TEST(ChatTest, RefusesWhatDoesNotFit) {
  const TestServer server(Saying("x"));
  const RawResponse length = Chat(server, R"("max_completion_tokens":1000)");
  EXPECT_EQ(length.status, 400);
  EXPECT_EQ(ErrorOf(length)["param"], "max_completion_tokens");
  EXPECT_EQ(ErrorOf(length)["code"], "context_length_exceeded");
  const RawResponse prompt =
      Chat(server, "", R"([{"role":"user","content":")" + std::string(2000, 'x') + R"("}])");
  EXPECT_EQ(ErrorOf(prompt)["param"], "messages");
  EXPECT_EQ(Chat(server, R"("n":65)").status, 400);
  const RawResponse model = Chat(server, R"("model":"other")");
  EXPECT_EQ(model.status, 404);
  EXPECT_EQ(ErrorOf(model)["code"], "model_not_found");
  EXPECT_EQ(ErrorOf(Chat(server, R"("temperature":"hot")"))["param"], "temperature");
}

TEST(ChatTest, LongConversationsAreTakenToo) {
  TestModelOptions options = Saying("");
  options.reply.clear();
  options.max_context = 100'000;
  options.block_count = 40'000;
  const TestServer server(options);
  const std::string text(80'000, 'x');  // beyond what an io thread prepares
  const RawResponse answer =
      Chat(server, R"("max_tokens":2)", R"([{"role":"user","content":")" + text + R"("}])");
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST(ChatTest, AFailedStepFailsTheReply) {
  TestServer server(Saying("Hello"));
  server.model.FailNextStep();
  const RawResponse answer = Chat(server, R"("stream":true)");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(ErrorOf(answer)["code"], "generation_failed");
}

}  // namespace
}  // namespace weft
