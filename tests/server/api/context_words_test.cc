// What requests that do not fit the context are told: each API's own sentence.
#include "server/api/context_words.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

// Conversations have 256 tokens, then comes "Hello" and the end; prompts of completions 256, too.
TestModelOptions SmallContext(int32_t context) {
  TestModelOptions options = Saying("Hello");
  options.max_context = context;
  return options;
}

struct Path {
  std::string_view path;
  std::string_view prompt;      // the field, and those beside it that are not about length
  std::string_view max_tokens;  // the field
  std::string_view name;        // of the prompt in OpenAI's sentence
};

constexpr std::string_view kMessages = R"("messages":[{"role":"user","content":"Hi"}])";
const std::string kPrompt = R"("prompt":")" + std::string(kPromptBytes - 1, 'x') + '"';
const Path kOpenAiPaths[] = {
    {"/v1/chat/completions", kMessages, "max_tokens", "messages"},
    {"/v1/chat/completions", kMessages, "max_completion_tokens", "messages"},
    {"/v1/completions", kPrompt, "max_tokens", "prompt"},
    {"/v1/responses", R"("input":"Hi")", "max_output_tokens", "input"}};

RawResponse Ask(const TestServer& server, const Path& path, std::string_view max_tokens) {
  std::string body = "{" + std::string(path.prompt);
  if (!max_tokens.empty()) {
    body += ",\"" + std::string(path.max_tokens) + "\":" + std::string(max_tokens);
  }
  return server.PostTo(path.path, body + "}");
}

json ErrorAbout(std::string_view param, const std::string& message) {
  return {{"message", message},
          {"type", "invalid_request_error"},
          {"param", param},
          {"code", "context_length_exceeded"}};
}

TEST(ContextWordsTest, OpenAis) {
  const TestServer server(SmallContext(300));
  const TestServer full(SmallContext(256));
  const TestServer small(SmallContext(255));
  for (const Path& path : kOpenAiPaths) {
    const std::string name(path.name);
    EXPECT_EQ(ErrorOf(Ask(server, path, "45")),
              ErrorAbout(path.max_tokens,
                         "This model's maximum context length is 300 tokens. However, you "
                         "requested 301 tokens (256 in the " +
                             name + ", 45 in the completion). Please reduce the length of the " +
                             name + " or completion."));
    EXPECT_EQ(Ask(server, path, "44").status, 200) << name;
    EXPECT_EQ(ErrorOf(Ask(full, path, "")),
              ErrorAbout(name,
                         "This model's maximum context length is 256 tokens. However, you "
                         "requested 257 tokens (256 in the " +
                             name + ", 1 in the completion). Please reduce the length of the " +
                             name + " or completion."));
    EXPECT_EQ(ErrorOf(Ask(small, path, "5")),
              ErrorAbout(name, "This model's maximum context length is 255 tokens. However, your " +
                                   name +
                                   " resulted in 256 tokens. Please reduce the length of "
                                   "the " +
                                   name + "."));
  }
}

TEST(ContextWordsTest, OfSeveralPromptsTheFieldIsNamed) {
  const ApiError error = OpenAiContextWords(
      {.context = 10, .prompt_tokens = 11, .param = "prompt[1]", .prompt = "prompt[1]"});
  EXPECT_EQ(error.param, "prompt[1]");
  EXPECT_EQ(error.message,
            "This model's maximum context length is 10 tokens. However, your prompt resulted in 11 "
            "tokens. Please reduce the length of the prompt.");
}

TEST(ContextWordsTest, Anthropics) {
  const Path path{"/v1/messages", kMessages, "max_tokens", "messages"};
  const auto refused = [&](int32_t context, std::string_view max_tokens) {
    const RawResponse response = Ask(TestServer(SmallContext(context)), path, max_tokens);
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(ErrorOf(response)["type"], "invalid_request_error");
    return ErrorOf(response)["message"];
  };
  EXPECT_EQ(refused(300, "32000"),
            "input length and `max_tokens` exceed context limit: 256 + 32000 > 300, decrease input "
            "length or `max_tokens` and try again");
  EXPECT_EQ(refused(256, "1"),
            "input length and `max_tokens` exceed context limit: 256 + 1 > 256, decrease input "
            "length or `max_tokens` and try again");
  EXPECT_EQ(refused(255, "1"), "prompt is too long: 256 tokens > 255 maximum");
}

TEST(ContextWordsTest, ClampedAnswersAreAsLongAsThereIsRoomFor) {
  ServerOptions options;
  options.rules.clamps_max_tokens = true;
  const TestServer server(SmallContext(259), options);
  const TestServer full(SmallContext(256), options);
  for (const Path& path : kOpenAiPaths) {
    const RawResponse cut = Ask(server, path, "45");
    ASSERT_EQ(cut.status, 200) << cut.body;
    EXPECT_NE(cut.body.find("\"Hel\""), std::string::npos) << cut.body;
    EXPECT_EQ(Ask(full, path, "45").status, 400);
  }
  const Path messages{"/v1/messages", kMessages, "max_tokens", "messages"};
  EXPECT_EQ(json::parse(Ask(server, messages, "32000").body)["stop_reason"], "max_tokens");
}

TEST(ContextWordsTest, NoLimitIsTheContexts) {
  const TestServer server(SmallContext(300));
  for (const Path& path : kOpenAiPaths) {
    for (const std::string_view none : {"-1", "null", "-1.0"}) {
      const RawResponse response = Ask(server, path, none);
      ASSERT_EQ(response.status, 200) << path.path << response.body;
      EXPECT_NE(response.body.find("\"Hello\""), std::string::npos) << response.body;
    }
    EXPECT_EQ(Ask(server, path, "-2").status, 400);
  }
  TestModelOptions endless;
  endless.max_context = 40;
  const TestServer letters(endless);
  EXPECT_EQ(TextOf(letters.Post(R"({"prompt":"a","max_tokens":null})")).size(), 38U);
  EXPECT_EQ(TextOf(letters.Post(R"({"prompt":"a"})")).size(), 16U);
}

}  // namespace
}  // namespace weft
