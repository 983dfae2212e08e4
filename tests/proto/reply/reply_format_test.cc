// The format of replies, read from chat templates.
#include "proto/reply/reply_format.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data_paths.h"

namespace weft {
namespace {

struct Expected {
  CallFormat calls;
  std::string reasoning_open;
};

TEST(ReplyFormatTest, KnowsTheTemplatesOfMany) {
  const std::map<std::string, Expected> expected = {
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use",
       {CallFormat::kCommandR, "<|START_THINKING|>"}},
      {"GLM-4.6", {CallFormat::kGlm, "<think>"}},
      {"HuggingFaceTB-SmolLM3-3B", {CallFormat::kPlainJson, "<think>"}},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", {CallFormat::kHermes, "<think>"}},
      {"Qwen-Qwen2.5-7B-Instruct", {CallFormat::kHermes, "<think>"}},
      {"Qwen-Qwen3-0.6B", {CallFormat::kHermes, "<think>"}},
      {"Qwen3-Coder", {CallFormat::kQwenXml, "<think>"}},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", {CallFormat::kDeepSeekV3, "<think>"}},
      {"deepseek-ai-DeepSeek-V3.1", {CallFormat::kDeepSeekV31, "<think>"}},
      {"google-gemma-2-2b-it", {CallFormat::kPlainJson, "<think>"}},
      {"ibm-granite-granite-3.3-2B-Instruct", {CallFormat::kGranite, "<think>"}},
      {"meta-llama-Llama-3.1-8B-Instruct", {CallFormat::kLlama, "<think>"}},
      {"meta-llama-Llama-3.2-3B-Instruct", {CallFormat::kLlama, "<think>"}},
      {"microsoft-Phi-3.5-mini-instruct", {CallFormat::kPlainJson, "<think>"}},
      {"mistralai-Mistral-Nemo-Instruct-2407", {CallFormat::kMistral, "<think>"}},
      {"openai-gpt-oss-120b", {CallFormat::kHarmony, ""}},
  };
  const std::filesystem::path directory = SharedDataPath("chat_templates");
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is absent";
  size_t template_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".jinja") continue;
    ++template_count;
    const std::string name = entry.path().stem().string();
    ASSERT_TRUE(expected.contains(name)) << name;
    std::ifstream file(entry.path());
    const ReplyFormat format = ReplyFormatOf(std::string(std::istreambuf_iterator<char>(file), {}));
    EXPECT_EQ(format.calls, expected.at(name).calls) << name;
    EXPECT_EQ(format.reasoning_open, expected.at(name).reasoning_open) << name;
    EXPECT_EQ(format.answer_open.empty(),
              !name.starts_with("Cohere") && !name.starts_with("ibm-granite"))
        << name;
  }
  EXPECT_EQ(template_count, expected.size());
}

TEST(ReplyFormatTest, KnowsFormatsByTheirTags) {
  EXPECT_EQ(ReplyFormatOf("").calls, CallFormat::kPlainJson);
  EXPECT_EQ(ReplyFormatOf("[TOOL_CALLS]{{ name }}[ARGS]").calls, CallFormat::kMistralNamed);
  EXPECT_EQ(ReplyFormatOf("<|tool_call_begin|>").calls, CallFormat::kKimi);
  for (const auto& [source, format] : std::map<std::string, CallFormat>{
           {"<seed:tool_call>\n<function=f>\n<parameter=a>", CallFormat::kSeedXml},
           {"<minimax:tool_call><invoke name=", CallFormat::kMiniMax},
           {"<|tools_prefix|>", CallFormat::kApertus},
           {"<|tool_call>call:", CallFormat::kGemma},
           {"<start_function_call>", CallFormat::kFunctionGemma},
           {"<function_calls>", CallFormat::kOlmo},
           {"<|tool_call_start|>", CallFormat::kLfm2},
           {"<tool_calls>", CallFormat::kHunyuan},
           {"<TOOLCALL>", CallFormat::kNemotron},
           {"<toolcall>", CallFormat::kNemotronMini},
           {"<|observation|>", CallFormat::kGlm4},
           {"<|observation|> <arg_key>", CallFormat::kGlm},
           {"List of tools: [", CallFormat::kLfm2},
           {"<|tool_calls|><|tool_call:begin|>", CallFormat::kSolar},
           {"Action:\n```json\n[{tool_name", CallFormat::kCommandAction},
           {"<|header_start|> \"parameters\"", CallFormat::kLlama}}) {
    EXPECT_EQ(ReplyFormatOf(source).calls, format) << source;
  }
  EXPECT_EQ(ReplyFormatOf("<|START_TEXT|>").answer_close, "<|END_TEXT|>");
  EXPECT_EQ(ReplyFormatOf("<|inner_suffix|>").reasoning_open, "<|inner_prefix|>");
  EXPECT_EQ(ReplyFormatOf("[THINK][/THINK]").reasoning_close, "[/THINK]");
  EXPECT_EQ(ReplyFormatOf("<seed:think></seed:think>").reasoning_open, "<seed:think>");
}

TEST(ReplyFormatTest, ListsTheTagsOfAReply) {
  EXPECT_THAT(TagsOf(ReplyFormatOf("<tool_call>"), true),
              testing::UnorderedElementsAre("<tool_call>", "</tool_call>", "<think>", "</think>"));
  EXPECT_THAT(TagsOf(ReplyFormatOf("<tool_call>"), false),
              testing::UnorderedElementsAre("<think>", "</think>"));
  EXPECT_THAT(TagsOf(ReplyFormatOf("<|channel|>"), false), testing::Contains("<|message|>"));
}

TEST(ReplyFormatTest, SeesThatThePromptHasOpenedReasoning) {
  const ReplyFormat format = ReplyFormatOf("");
  EXPECT_TRUE(BeginsInReasoning(format, "<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(BeginsInReasoning(format, "<think>"));
  EXPECT_FALSE(BeginsInReasoning(format, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(BeginsInReasoning(format, "a"));
  EXPECT_FALSE(BeginsInReasoning(format, ""));
  EXPECT_FALSE(BeginsInReasoning(ReplyFormatOf("<|channel|>"), "<think>"));
}

}  // namespace
}  // namespace weft
