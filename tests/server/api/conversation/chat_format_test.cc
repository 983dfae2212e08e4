// What a chat template takes, found out by asking it, and conversations in that shape.
#include "server/api/conversation/chat_format.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/chat/chat_request.h"
#include "server/api/conversation/chat_ml.h"
#include "tests/data_paths.h"
#include "tests/server/test_model.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::shared_ptr<const ChatFormat> FormatOf(std::string source) {
  ChatTemplateSources sources;
  sources.standard = std::move(source);
  const auto format = ChatFormat::Create(sources, ByteTokenizer());
  EXPECT_TRUE(format) << format.error().message;
  return format.value_or(nullptr);
}

std::string Prompt(const ChatFormat& format, const std::string& body, bool offers_tools = false) {
  const ApiResult<ChatRequest> request = ParseChatRequest(body);
  EXPECT_TRUE(request) << request.error().message;
  const ApiResult<RenderedPrompt> prompt = format.RenderPrompt(*request, offers_tools);
  EXPECT_TRUE(prompt) << prompt.error().message;
  return prompt ? prompt->text : "";
}

// What of a conversation will be there again in its next request.
std::string Shared(const ChatFormat& format, const std::string& body) {
  const ApiResult<ChatRequest> request = ParseChatRequest(body);
  EXPECT_TRUE(request) << request.error().message;
  const ApiResult<RenderedPrompt> prompt = format.RenderPrompt(*request, false);
  EXPECT_TRUE(prompt) << prompt.error().message;
  return prompt ? prompt->text.substr(0, prompt->shared_bytes) : "";
}

TEST(ChatFormatTest, KnowsWhatTheNextTurnWillRepeat) {
  const auto format = FormatOf(
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% if not thinks %}<no>{% endif %}{% endif %}");
  EXPECT_EQ(format->traits().generation_prompt, "[assistant]<no>");
  EXPECT_EQ(Shared(*format, R"({"messages":[{"role":"user","content":"a"}]})"), "[user]a");
  EXPECT_EQ(Shared(*format, R"({"messages":[{"role":"user","content":"b"}],
      "chat_template_kwargs":{"thinks":true}})"),
            "[user]b");
  const auto thinking = FormatOf(
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% if off %}<no>{% endif %}{% endif %}");
  EXPECT_EQ(Shared(*thinking, R"({"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":"b"},{"role":"user","content":"c"}],
      "chat_template_kwargs":{"off":true}})"),
            "[user]a[assistant]b[user]c");
  EXPECT_EQ(Shared(*thinking, R"({"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":"b"}],
      "continue_final_message":true,"add_generation_prompt":false})"),
            "[user]a");
  const auto plain = FormatOf("{% for m in messages %}<{{ m.content }}>{% endfor %}");
  EXPECT_EQ(Shared(*plain, R"({"messages":[{"role":"user","content":"a"}]})"), "<a>");
}

TEST(ChatFormatTest, KnowsWhereTheLastMessageBegins) {
  const auto format = FormatOf(
      "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% endif %}");
  const auto place = [&](const std::string& body) {
    const ApiResult<ChatRequest> request = ParseChatRequest(body);
    EXPECT_TRUE(request) << request.error().message;
    return format->RenderPrompt(*request, false)->last_message_at;
  };
  EXPECT_EQ(place(R"({"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":"b"},{"role":"user","content":" a "}]})"),
            std::string("[user]a[assistant]b[user]").size());
  // A word of what follows, and nothing at all.
  EXPECT_EQ(place(R"({"messages":[{"role":"user","content":"[assistant]"}]})"), 6U);
  EXPECT_EQ(place(R"({"messages":[{"role":"user","content":"a"},
      {"role":"user","content":""}]})"),
            0U);
  EXPECT_EQ(place(R"({"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":"b"}],
      "continue_final_message":true,"add_generation_prompt":false})"),
            0U);
}

TEST(ChatFormatTest, RefusesWhatIsNoTemplate) {
  ChatTemplateSources sources;
  sources.standard = "{% if %}";
  EXPECT_FALSE(ChatFormat::Create(sources, ByteTokenizer()));
}

// Each of these conversations alone keeps within a rendering's limits; all of them are found out
// about before the server answers anybody.
TEST(ChatFormatTest, WhatATemplateCostsAtTheStartIsBoundedInAll) {
  ChatTemplateSources sources;
  sources.standard =
      "{% for a in range(2000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}"
      "{{ messages[0].content }}";
  const auto format = ChatFormat::Create(sources, ByteTokenizer());
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().message,
            "chat template: takes more than 10000000 steps to render the few small conversations "
            "that show what it takes");
}

TEST(ChatFormatTest, KeepsWithinItsMemory) {
  ChatTemplateSources sources;
  sources.standard = "{% for m in messages %}{{ m.content * 30 }}{% endfor %}";
  jinja::RenderLimits limits;
  limits.memory_bytes = 100'000;
  const auto format = ChatFormat::Create(sources, ByteTokenizer(), limits);
  ASSERT_TRUE(format) << format.error().message;
  for (const size_t length : {1'000, 10'000, 200'000}) {
    const auto request = ParseChatRequest(R"({"messages":[{"role":"user","content":")" +
                                          std::string(length, 'x') + R"("}]})");
    ASSERT_TRUE(request) << request.error().message;
    const ApiResult<RenderedPrompt> prompt = (*format)->RenderPrompt(*request, false);
    ASSERT_EQ(prompt.has_value(), length == 1'000);
    if (prompt) continue;
    const bool is_long = length > 10'000;  // otherwise the template makes too much of it
    EXPECT_EQ(prompt.error().code, is_long ? "context_length_exceeded" : "template_error");
    EXPECT_THAT(prompt.error().message,
                HasSubstr(is_long ? "the conversation is longer" : "needs too much memory"));
  }
}

TEST(ChatFormatTest, FindsOutWhatATemplateTakes) {
  const ChatTemplateTraits plain =
      FormatOf("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")->traits();
  EXPECT_TRUE(plain.takes_system);
  EXPECT_FALSE(plain.knows_developer);
  EXPECT_TRUE(plain.ContentOf("user").text);
  EXPECT_FALSE(plain.ContentOf("user").parts);
  EXPECT_FALSE(plain.has_generation_prompt);
  EXPECT_EQ(plain.generation_prompt, "");
  EXPECT_EQ(plain.fault, "");
  const ChatTemplateTraits parts =
      FormatOf(
          "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}")
          ->traits();
  EXPECT_FALSE(parts.ContentOf("user").text);
  EXPECT_TRUE(parts.ContentOf("user").parts);
}

TEST(ChatFormatTest, PartsBecomeTextAndTextParts) {
  const std::string body =
      R"({"messages":[{"role":"developer","content":"d"},
          {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})";
  const auto plain = FormatOf("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
  EXPECT_EQ(Prompt(*plain, body), "<system>d<user>a\nb");
  const auto parts = FormatOf(
      "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}");
  EXPECT_EQ(Prompt(*parts, body), "[d][a][b]");
}

TEST(ChatFormatTest, DescribesToolsToTemplatesThatKnowNone) {
  const auto format = FormatOf("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
  const std::string body =
      R"({"messages":[{"role":"user","content":"u"},
          {"role":"assistant","content":null,"tool_calls":[
             {"id":"1","function":{"name":"f","arguments":"{\"a\": 1}"}}]},
          {"role":"tool","tool_call_id":"1","content":"x"},
          {"role":"tool","tool_call_id":"2","content":"y"}],
          "tools":[{"type":"function","function":{"name":"f"}}]})";
  const std::string prompt = Prompt(*format, body, true);
  EXPECT_TRUE(prompt.starts_with("<system>You may call functions.")) << prompt;
  EXPECT_THAT(prompt, HasSubstr(R"({"type":"function","function":{"name":"f"}}<user>u)"));
  EXPECT_THAT(prompt, HasSubstr(R"(<assistant>{"name": "f", "arguments": {"a":1}}<user>)"));
  EXPECT_THAT(prompt,
              HasSubstr("<user><tool_response>\nx\n</tool_response>\n<tool_response>\ny\n"));
  EXPECT_EQ(format->reply_format().calls, CallFormat::kPlainJson);
}

TEST(ChatFormatTest, VariablesReachTheTemplate) {
  const auto format = FormatOf(
      "{{ bos_token }}{{ eos_token }}{{ enable_thinking }}{{ reasoning_effort }}{{ documents[0].t "
      "}}"
      "{{ add_generation_prompt }}{{ tools is none }}");
  EXPECT_EQ(Prompt(*format,
                   R"({"messages":[{"role":"user","content":"u"}],"documents":[{"t":"doc"}],
                       "chat_template_kwargs":{"enable_thinking":false},"reasoning_effort":"low"})"),
            "<s></s>FalselowdocTrueTrue");
}

// As its own strftime_now has it, unless the request says another day.
TEST(ChatFormatTest, KnowsToday) {
  const auto format = FormatOf(
      "{{ date_string == strftime_now('%d %b %Y') }} {{ datetime == strftime_now('%b %d %Y') }} "
      "{{ date_string }}");
  const std::string today = Prompt(*format, R"({"messages":[{"role":"user","content":"a"}]})");
  EXPECT_TRUE(today.starts_with("True True ")) << today;
  EXPECT_EQ(Prompt(*format, R"({"messages":[{"role":"user","content":"a"}],
      "chat_template_kwargs":{"date_string":"26 Jul 2024"}})"),
            "False True 26 Jul 2024");
}

TEST(ChatFormatTest, SaysWhyAPlainChatCannotBeRendered) {
  EXPECT_EQ(FormatOf("{% for m in messages %}{{ m.content }}{% endfor %}")->traits().fault, "");
  EXPECT_EQ(FormatOf("{{ raise_exception('a system message first') }}")->traits().fault,
            "a system message first");
  EXPECT_THAT(FormatOf("{{ no_variable | tojson }}")->traits().fault,
              HasSubstr("not JSON serializable"));
  EXPECT_EQ(FormatOf("Hello.")->traits().fault, "it does not print what a user says");
}

TEST(ChatFormatTest, ATemplateForToolsAloneServesAllChats) {
  ChatTemplateSources sources;
  sources.tool_use = "{% for m in messages %}<{{ m.content }}>{% endfor %}";
  const auto format = ChatFormat::Create(sources, ByteTokenizer());
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ(Prompt(**format, R"({"messages":[{"role":"user","content":"u"}]})"), "<u>");
}

TEST(ChatFormatTest, ChatMlIsForModelsWithoutATemplate) {
  const auto format = ChatFormat::Create(ChatMlSources(ByteTokenizer()), ByteTokenizer());
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ((*format)->traits().fault, "");
  EXPECT_EQ(Prompt(**format, R"({"messages":[{"role":"developer","content":"d"},
                                             {"role":"user","content":"u"}]})"),
            "<s><|im_start|>system\nd<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatFormatTest, TheTemplatesOfMany) {
  const std::filesystem::path directory = SharedDataPath("chat_templates");
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is absent";
  std::map<std::string, std::shared_ptr<const ChatFormat>> formats;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path());
    formats[entry.path().stem().string()] =
        FormatOf(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  const auto lists = [&](const std::string& name) { return formats.at(name)->lists_tools(); };
  const auto traits = [&](const std::string& name) { return formats.at(name)->traits(true); };
  EXPECT_TRUE(lists("Qwen-Qwen3-0.6B"));
  EXPECT_TRUE(lists("meta-llama-Llama-3.2-3B-Instruct"));
  EXPECT_TRUE(lists("mistralai-Mistral-Nemo-Instruct-2407"));
  EXPECT_TRUE(lists("openai-gpt-oss-120b"));
  EXPECT_TRUE(lists("GLM-4.6"));
  EXPECT_FALSE(lists("google-gemma-2-2b-it"));
  EXPECT_FALSE(lists("microsoft-Phi-3.5-mini-instruct"));
  EXPECT_FALSE(formats.at("google-gemma-2-2b-it")->traits().takes_system);
  EXPECT_TRUE(traits("Qwen-Qwen3-0.6B").takes_system);
  EXPECT_TRUE(traits("openai-gpt-oss-120b").knows_developer);
  EXPECT_FALSE(traits("openai-gpt-oss-120b").takes_null_content);
  EXPECT_FALSE(traits("Qwen-Qwen3-0.6B").wants_json_text);
  EXPECT_TRUE(traits("Qwen-Qwen2.5-7B-Instruct").takes_null_content);
}

}  // namespace
}  // namespace weft
