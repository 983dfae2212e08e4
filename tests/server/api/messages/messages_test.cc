// /v1/messages and /v1/messages/count_tokens through a socket: what comes back for what was sent.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// Makes every prompt 256 bytes long, so that the model's script begins where the reply does.
constexpr int32_t kPromptBytes = 256;
constexpr std::string_view kTemplate =
    "{#- <tool_call> -#}"
    "{%- set ns = namespace(text='') -%}"
    "{%- for m in messages -%}"
    "{%- set ns.text = ns.text ~ '<' ~ m.role ~ '>' ~ (m.content or '') -%}"
    "{%- for call in m.tool_calls or [] -%}"
    "{%- set ns.text = ns.text ~ call.function.name ~ call.function.arguments | tojson -%}"
    "{%- endfor -%}{%- endfor -%}"
    "{%- for tool in tools or [] -%}{%- set ns.text = ns.text ~ tool.function.name -%}"
    "{%- endfor -%}"
    "{%- if enable_thinking is defined and not enable_thinking -%}"
    "{%- set ns.text = ns.text ~ '/no_think' -%}{%- endif -%}"
    "{{- ns.text -}}"
    "{%- if add_generation_prompt -%}{{- '.' * (250 - ns.text | length) -}}<asst>{%- endif -%}";

TestModelOptions Saying(std::string reply) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  options.reply = std::move(reply);
  options.reply_position = kPromptBytes;
  options.max_context = 1024;
  return options;
}

constexpr std::string_view kHello = R"([{"role":"user","content":"Hi"}])";
constexpr std::string_view kTools =
    R"("tools":[{"name":"weather","input_schema":{"type":"object"}}])";

std::string Body(std::string_view fields, std::string_view messages = kHello) {
  return R"({"max_tokens":200,"temperature":0,"messages":)" + std::string(messages) +
         (fields.empty() ? "" : ",") + std::string(fields) + "}";
}

// The message of a whole answer.
json Whole(const TestServer& server, std::string_view fields, std::string_view messages = kHello) {
  const RawResponse response = server.PostTo("/v1/messages", Body(fields, messages));
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

// The events of a stream: what each is called and its data, which must agree.
std::vector<json> Events(const TestServer& server, std::string_view fields) {
  const RawResponse response = server.PostTo(
      "/v1/messages", Body(std::string(fields) + (fields.empty() ? "" : ",") + R"("stream":true)"));
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.headers.at("content-type"), HasSubstr("text/event-stream"));
  EXPECT_TRUE(response.complete);
  std::vector<json> events;
  size_t begin = 0;
  while (begin < response.body.size()) {
    const size_t end = response.body.find("\n\n", begin);
    const std::string event = response.body.substr(begin, end - begin);
    const size_t line_end = event.find('\n');
    events.push_back(json::parse(event.substr(line_end + std::string("\ndata: ").size())));
    EXPECT_EQ(event.substr(0, line_end), "event: " + events.back()["type"].get<std::string>());
    begin = end + 2;
  }
  return events;
}

// A stream's message put together as Anthropic's clients do it.
json Joined(const std::vector<json>& events) {
  json message = events.at(0).at("message");
  EXPECT_EQ(events[0]["type"], "message_start");
  EXPECT_EQ(events.at(1), json({{"type", "ping"}}));
  EXPECT_EQ(message["stop_reason"], nullptr);
  std::string input;
  bool open = false;
  for (size_t i = 2; i < events.size(); ++i) {
    const json& event = events[i];
    const std::string type = event["type"];
    if (type == "content_block_start") {
      EXPECT_FALSE(std::exchange(open, true));
      EXPECT_EQ(event["index"], message["content"].size());
      message["content"].push_back(event["content_block"]);
      input.clear();
    } else if (type == "content_block_delta") {
      EXPECT_TRUE(open);
      json& block = message["content"].at(event["index"].get<size_t>());
      const json& delta = event["delta"];
      const auto add = [&](const char* name) {
        block[name] = block[name].get<std::string>() + delta[name].get<std::string>();
      };
      if (delta["type"] == "text_delta") add("text");
      if (delta["type"] == "thinking_delta") add("thinking");
      if (delta["type"] == "signature_delta") add("signature");
      if (delta["type"] == "input_json_delta") {
        input += delta["partial_json"];
        block["input"] = json::parse(input, nullptr, false);
      }
    } else if (type == "content_block_stop") {
      EXPECT_TRUE(std::exchange(open, false));
    } else if (type == "message_delta") {
      EXPECT_EQ(i + 2, events.size());
      message.update(event["delta"]);
      message["usage"] = event["usage"];
    } else {
      EXPECT_EQ(event, json({{"type", "message_stop"}}));
      EXPECT_EQ(i + 1, events.size());
    }
  }
  return message;
}

TEST(MessagesTest, AnswersWholeAndStreamedAlike) {
  const TestServer server(Saying("Hello, Łódź!"));
  json whole = Whole(server, R"("model":"test-model","system":"Be brief.")");
  EXPECT_THAT(whole["id"].get<std::string>(), StartsWith("msg_"));
  EXPECT_EQ(whole["type"], "message");
  EXPECT_EQ(whole["role"], "assistant");
  EXPECT_EQ(whole["model"], "test-model");
  EXPECT_EQ(whole["content"],
            json({{{"type", "text"}, {"text", "Hello, Łódź!"}, {"citations", nullptr}}}));
  EXPECT_EQ(whole["stop_reason"], "end_turn");
  EXPECT_EQ(whole["stop_sequence"], nullptr);
  EXPECT_EQ(whole["usage"]["input_tokens"], kPromptBytes);
  EXPECT_EQ(whole["usage"]["cache_read_input_tokens"], 0);
  EXPECT_EQ(whole["usage"]["cache_creation_input_tokens"], 0);
  EXPECT_EQ(whole["usage"]["output_tokens"], 16);  // bytes, and the end

  const std::vector<json> events = Events(server, R"("system":"Be brief.")");
  EXPECT_EQ(events[0]["message"]["content"], json::array());
  EXPECT_EQ(events[0]["message"]["usage"]["input_tokens"], kPromptBytes);
  EXPECT_EQ(events[0]["message"]["usage"]["output_tokens"], 0);
  json streamed = Joined(events);
  whole.erase("id");
  streamed.erase("id");
  EXPECT_EQ(streamed, whole);
}

TEST(MessagesTest, StopReasons) {
  const TestServer server(Saying("Hello"));
  EXPECT_EQ(Whole(server, R"("stop_sequences":["x","ll"])")["stop_reason"], "stop_sequence");
  const json stopped = Joined(Events(server, R"("stop_sequences":["x","ll"])"));
  EXPECT_EQ(stopped["stop_sequence"], "ll");
  EXPECT_EQ(stopped["content"][0]["text"], "He");
  const RawResponse cut =
      server.PostTo("/v1/messages", R"({"max_tokens":3,"messages":)" + std::string(kHello) + "}");
  EXPECT_EQ(json::parse(cut.body)["stop_reason"], "max_tokens");
  EXPECT_EQ(json::parse(cut.body)["content"][0]["text"], "Hel");
}

TEST(MessagesTest, ThinkingIsABlockOfItsOwn) {
  const TestServer server(Saying("<think>\nHm.\n</think>\n\nYes."));
  const json whole = Whole(server, "");
  ASSERT_EQ(whole["content"].size(), 2U);
  EXPECT_EQ(whole["content"][0],
            json({{"type", "thinking"}, {"thinking", "Hm."}, {"signature", ""}}));
  EXPECT_EQ(whole["content"][1]["text"], "Yes.");
  EXPECT_GT(whole["usage"]["output_tokens_details"]["thinking_tokens"], 0);
  const std::vector<json> events = Events(server, "");
  EXPECT_EQ(Joined(events)["content"], whole["content"]);
  // Clients that send blocks back want a signature, be it empty.
  EXPECT_EQ(std::ranges::count_if(events,
                                  [](const json& event) {
                                    return event["type"] == "content_block_delta" &&
                                           event["delta"]["type"] == "signature_delta";
                                  }),
            1);
  const std::string omitted = R"("thinking":{"type":"adaptive","display":"omitted"})";
  EXPECT_EQ(Whole(server, omitted)["content"][0]["thinking"], "");
  EXPECT_EQ(Joined(Events(server, omitted))["content"][0]["thinking"], "");
}

TEST(MessagesTest, CallsOfToolsAreBlocks) {
  const TestServer server(
      Saying("See.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
             "</tool_call>\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"));
  json whole = Whole(server, kTools);
  EXPECT_EQ(whole["stop_reason"], "tool_use");
  ASSERT_EQ(whole["content"].size(), 3U);
  EXPECT_EQ(whole["content"][0]["text"], "See.");
  EXPECT_EQ(whole["content"][1]["type"], "tool_use");
  EXPECT_EQ(whole["content"][1]["name"], "weather");
  EXPECT_EQ(whole["content"][1]["input"], json({{"city", "Oslo"}}));
  EXPECT_EQ(whole["content"][2]["input"], json::object());
  EXPECT_NE(whole["content"][1]["id"], whole["content"][2]["id"]);
  json streamed = Joined(Events(server, kTools));
  for (json* const message : {&whole, &streamed}) {
    for (json& block : (*message)["content"]) block.erase("id");
  }
  EXPECT_EQ(streamed["content"], whole["content"]);
  EXPECT_EQ(streamed["stop_reason"], "tool_use");

  const json one = Whole(server, std::string(kTools) +
                                     R"(,"tool_choice":{"type":"auto",
                                        "disable_parallel_tool_use":true})");
  EXPECT_EQ(one["content"].size(), 2U);
  const json none = Whole(server, std::string(kTools) + R"(,"tool_choice":{"type":"none"})");
  EXPECT_THAT(none["content"][0]["text"].get<std::string>(), HasSubstr("<tool_call>"));
}

TEST(MessagesTest, ACallThatBreaksOffHasNoInput) {
  const std::string begun = "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": ";
  const TestServer server(Saying(begun + "\"Oslo\"}}</tool_call>"));
  const RawResponse response = server.PostTo(
      "/v1/messages", R"({"max_tokens":)" + std::to_string(begun.size()) + R"(,"messages":)" +
                          std::string(kHello) + "," + std::string(kTools) + "}");
  const json whole = json::parse(response.body);
  EXPECT_EQ(whole["stop_reason"], "max_tokens");
  EXPECT_EQ(whole["content"][0]["input"], json::object());
}

TEST(MessagesTest, AForcedCallIsACall) {
  const TestServer server(
      Saying("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
             "</tool_call>"));
  const json whole =
      Whole(server, std::string(kTools) + R"(,"tool_choice":{"type":"tool","name":"weather"})");
  EXPECT_EQ(whole["stop_reason"], "tool_use");
  EXPECT_EQ(whole["content"][0]["input"], json({{"city", "Oslo"}}));
}

TEST(MessagesTest, TheAssistantsLastWordsAreContinued) {
  TestModelOptions options = Saying(" world");
  options.reply_position = static_cast<int32_t>(std::string("<user>a<assistant>Hello").size());
  const TestServer server(options);
  const json whole = Whole(
      server, "", R"([{"role":"user","content":"a"},{"role":"assistant","content":"Hello"}])");
  EXPECT_EQ(whole["content"][0]["text"], " world");
}

TEST(MessagesTest, CountTokens) {
  const TestServer server(Saying("x"));
  const auto count = [&](const std::string& body) {
    const RawResponse response = server.PostTo("/v1/messages/count_tokens", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  };
  EXPECT_EQ(count(R"({"model":"test-model","messages":[{"role":"user","content":"Hi"}]})"),
            json({{"input_tokens", kPromptBytes}}));
  EXPECT_EQ(count(R"({"messages":[{"role":"user","content":"a"},
                                  {"role":"assistant","content":"b"}]})"),
            json({{"input_tokens", std::string("<user>a<assistant>b").size()}}));
}

// Anthropic's error object, with the id that the header has.
json ErrorBody(const RawResponse& response) {
  json body = json::parse(response.body);
  EXPECT_EQ(body["type"], "error");
  EXPECT_EQ(body["request_id"], response.headers.at("request-id"));
  EXPECT_EQ(body.size(), 3U);
  return body["error"];
}

TEST(MessagesTest, ErrorsAreAnthropics) {
  ServerOptions options;
  options.max_body_bytes = 100'000;
  const TestServer server(Saying("x"), options);
  struct Case {
    std::string request;
    int status;
    std::string type;
    std::string message_part;
  };
  const std::string path = "/v1/messages";
  const std::vector<Case> cases = {
      {Post(path, "{"), 400, "invalid_request_error", "not valid JSON"},
      {Post(path, Body(R"("temperature":2)")), 400, "invalid_request_error", "'temperature'"},
      {Post(path, R"({"max_tokens":2000,"messages":)" + std::string(kHello) + "}"), 400,
       "invalid_request_error", "256 + 2000 > 1024"},
      {Post(path, Body(R"("model":"other")")), 404, "not_found_error", "'other' does not exist"},
      {Post(path + "/count_tokens",
            R"({"model":"other","messages":[{"role":"user","content":"a"}]})"),
       404, "not_found_error", "'other' does not exist"},
      {Post(path + "/count_tokens", "{}"), 400, "invalid_request_error", "'messages' is missing"},
      {Get(path), 405, "invalid_request_error", "answers POST only"},
      {Get(path + "/batches"), 404, "not_found_error", "there is no"},
      {Post(path, std::string(200'000, ' ')), 413, "request_too_large", "larger than"},
      {Post(path, Body(""), "Content-Encoding: gzip\r\n"), 415, "invalid_request_error",
       "Content-Encoding"},
  };
  for (const Case& each : cases) {
    RawClient client(server.port());
    client.Send(each.request);
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, each.status) << response.body;
    const json error = ErrorBody(response);
    EXPECT_EQ(error["type"], each.type);
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(each.message_part));
    EXPECT_EQ(error.size(), 2U);
  }
}

TEST(MessagesTest, AFailureInABegunStreamIsAnErrorEvent) {
  TestServer server(Saying(std::string(100, 'a')));
  server.model.SetStepTime(std::chrono::milliseconds(5));
  RawClient client(server.port());
  client.Send(Post("/v1/messages", Body(R"("stream":true)")));
  ASSERT_TRUE(client.ReadUntil("text_delta"));
  server.model.FailNextStep();
  const std::string rest = client.ReadToEnd();
  EXPECT_THAT(rest, HasSubstr("event: error\ndata: "
                              R"({"type":"error","error":{"type":"api_error","message":)"));
  EXPECT_EQ(rest.find("message_stop"), std::string::npos);
}

TEST(MessagesTest, AStreamBeginsWithWhatTheCacheHad) {
  TestModelOptions options = Saying("Hello");
  options.prefix_cache = true;
  const TestServer server(options);
  const std::vector<json> first = Events(server, "");
  EXPECT_EQ(first[0]["message"]["usage"]["cache_read_input_tokens"], 0);
  const std::vector<json> second = Events(server, "");
  const json usage = second[0]["message"]["usage"];
  EXPECT_EQ(usage["cache_read_input_tokens"], kPromptBytes - 4);  // a block has four
  EXPECT_EQ(usage["input_tokens"], 4);
  EXPECT_EQ(Joined(second)["usage"]["cache_read_input_tokens"], kPromptBytes - 4);
}

TEST(MessagesTest, ClientsLearnThatNoThreadsAreKept) {
  const TestServer server(Saying("Hello"));
  const RawResponse refused = server.PostTo("/v1/messages", Body(R"("thread":{"type":"create"})"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorBody(refused)["details"],
            json({{"error_code", "thread_unsupported_request"}, {"unsupported", {"thread"}}}));
  const RawResponse other = server.PostTo("/v1/messages", Body(R"("compaction":{})"));
  EXPECT_EQ(ErrorBody(other).count("details"), 0U);
}

TEST(MessagesTest, ToolsThatAnthropicRunsAreLeftOutAndNamed) {
  const std::string tools = R"("tools":[{"type":"web_search_20250305","name":"web_search"},
      {"type":"web_fetch_20250910","name":"web_fetch"},
      {"name":"weather","input_schema":{"type":"object"}}])";
  const TestServer server(Saying("Hello"));
  for (const char* const stream : {"false", "true"}) {
    const RawResponse response =
        server.PostTo("/v1/messages", Body(tools + R"(,"stream":)" + stream));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.headers.at("weft-dropped-tools"), "web_search_20250305, web_fetch_20250910");
  }
  EXPECT_EQ(server.PostTo("/v1/messages", Body("")).headers.count("weft-dropped-tools"), 0U);
  ServerOptions options;
  options.rules.drops_hosted_tools = false;
  const TestServer strict(Saying("Hello"), options);
  const RawResponse refused = strict.PostTo("/v1/messages", Body(tools));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(ErrorBody(refused)["message"], HasSubstr("web_search_20250305"));
}

TEST(MessagesTest, LongBodiesGoToThePreparationThread) {
  const std::string messages =
      R"([{"role":"user","content":")" + std::string(80'000, 'x') + R"("}])";
  ServerOptions options;
  options.max_preparations = 0;
  const TestServer full(Saying("x"), options);
  for (const char* const path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    const RawResponse refused = full.PostTo(path, Body("", messages));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(ErrorBody(refused)["type"], "overloaded_error");
  }
}

}  // namespace
}  // namespace weft
