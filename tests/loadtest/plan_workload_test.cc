// What planned requests say: shared prefixes, conversations, prompts of files, profiles, and how
// clients misbehave.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/plan/plan_description.h"
#include "loadtest/plan/render_prompt.h"
#include "loadtest/report/plan_text.h"
#include "tests/loadtest/plan_fixture.h"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

int64_t WordCount(const std::string& text) {
  return text.empty() ? 0 : std::count(text.begin(), text.end(), ' ') + 1;
}

TEST(RenderPrompt, SegmentsOfOneSeedBeginAlikeWhateverTheirLength) {
  LoadPlan plan;
  PlannedRequest request;
  request.segments = {{.seed = 5, .token_count = 100}};
  const std::string longer = RenderPrompt(plan, request);
  EXPECT_EQ(WordCount(longer), 100);
  for (const int32_t count : {1, 9, 10, 11, 99}) {
    request.segments = {{.seed = 5, .token_count = count}};
    const std::string text = RenderPrompt(plan, request);
    EXPECT_EQ(WordCount(text), count);
    EXPECT_TRUE(longer.starts_with(text + ' ')) << count;
  }
  request.segments = {};
  EXPECT_EQ(RenderPrompt(plan, request), "");
}

TEST(RenderPrompt, NeedsNoEscapingAndUsesAllWords) {
  LoadPlan plan;
  PlannedRequest request;
  request.segments = {{.seed = 1, .token_count = 3000}, {.seed = 2, .token_count = 7}};
  const std::string text = RenderPrompt(plan, request);
  EXPECT_EQ(WordCount(text), 3007);
  EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzI "), std::string::npos);
  EXPECT_EQ(text.find("  "), std::string::npos);
  std::set<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  EXPECT_EQ(words.size(), 64);
}

TEST(RenderPrompt, IdsOfOneSeedBeginAlikeAndStayInTheVocabulary) {
  LoadPlan plan;
  plan.vocabulary_size = 2147483647;
  PlannedRequest request;
  request.segments = {{.seed = 5, .token_count = 3}};
  const std::string three = RenderPromptIds(plan, request);
  request.segments = {{.seed = 5, .token_count = 4}};
  EXPECT_TRUE(RenderPromptIds(plan, request).starts_with(three.substr(0, three.size() - 1) + ','));
  request.segments = {};
  EXPECT_EQ(RenderPromptIds(plan, request), "[]");
}

TEST(Workload, SharedPrefixesAreSharedInTheText) {
  const LoadPlan plan = PlanOf({"--shared-prefix-tokens", "40", "--shared-prefixes", "3",
                                "--prompt-tokens", "10", "--requests", "300"});
  std::map<std::string, int> prefixes;
  std::set<std::string> whole;
  for (const PlannedRequest& request : plan.requests) {
    const std::string prompt = RenderPrompt(plan, request);
    EXPECT_EQ(WordCount(prompt), 50);
    size_t end = 0;
    for (int i = 0; i < 40; ++i) end = prompt.find(' ', end) + 1;
    ++prefixes[prompt.substr(0, end)];
    whole.insert(prompt);
  }
  ASSERT_EQ(prefixes.size(), 3);
  for (const auto& [prefix, count] : prefixes) EXPECT_NEAR(count, 100, 30);
  EXPECT_EQ(whole.size(), 300);
  const PlanDescription description = DescribePlan(plan);
  EXPECT_EQ(description.shared_prompt_tokens, 297 * 40);
  EXPECT_EQ(description.all.prompt_tokens.sum, 300 * 50);
  EXPECT_EQ(PlanText(plan),
            "8 users at a time; 300 requests; prompts of 50 tokens, 79.2% of them as in an earlier "
            "one, answers of at most 64");
}

TEST(Workload, TurnsFollowTheirConversationInOrder) {
  const LoadPlan plan = PlanOf({"--rate", "2", "--turns", "2-4", "--think-time", "3s", "--requests",
                                "100", "--shared-prefix-tokens", "20", "--prompt-tokens", "5"});
  EXPECT_EQ(plan.requests.size(), 100);
  EXPECT_EQ(plan.requests[0].previous_turn, -1);
  std::map<int, int> conversations_of_length;
  int length = 0;
  for (size_t i = 0; i < 100; ++i) {
    const PlannedRequest& request = plan.requests[i];
    const bool is_first = request.previous_turn < 0;
    if (is_first && i > 0) ++conversations_of_length[length];
    length = is_first ? 1 : length + 1;
    EXPECT_EQ(request.previous_turn, is_first ? -1 : static_cast<int>(i) - 1);
    EXPECT_EQ(request.pause, is_first ? seconds(0) : seconds(3));
    EXPECT_EQ(WordCount(RenderPrompt(plan, request)), is_first ? 25 : 5);
    EXPECT_EQ(request.send_at, plan.requests[is_first ? i : i - 1].send_at);
  }
  EXPECT_EQ(conversations_of_length.size(), 3);
  EXPECT_EQ(conversations_of_length.begin()->first, 2);
  EXPECT_EQ(conversations_of_length.rbegin()->first, 4);
}

TEST(Workload, OnePromptForAll) {
  const LoadPlan plan = PlanOf({"--prompt", "Say \"hi\"", "--requests", "3"});
  for (const PlannedRequest& request : plan.requests) {
    EXPECT_EQ(RenderPrompt(plan, request), "Say \"hi\"");
  }
  EXPECT_EQ(
      PlanText(plan),
      "8 users at a time; 3 requests; given prompts, answers of at most 64; given prompts are "
      "the same in the warm-up and in every run: a prefix cache may know them");
}

TEST(Workload, PromptsOfAFileInTheirOrder) {
  const TextFile file(
      "{\"prompt\": \"one\", \"max_tokens\": 5}\r\n"
      "\n"
      "{\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"},"
      " {\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"tw\"},"
      " {\"type\": \"text\", \"text\": \"o\"}]}]}\n"
      "{\"custom_id\": \"x\", \"body\": {\"prompt\": \"three\","
      " \"max_completion_tokens\": 7}}");
  const LoadPlan plan = PlanOf({"--prompts", file.path(), "--max-tokens", "9"});
  ASSERT_EQ(plan.requests.size(), 3);  // all that it has
  EXPECT_EQ(RenderPrompt(plan, plan.requests[0]), "one");
  EXPECT_EQ(RenderPrompt(plan, plan.requests[2]), "three");
  EXPECT_EQ(plan.requests[0].max_tokens, 5);
  EXPECT_EQ(plan.requests[1].max_tokens, 9);
  EXPECT_EQ(plan.requests[2].max_tokens, 7);
  const GivenPrompt& chat = plan.given_prompts[static_cast<size_t>(plan.requests[1].given_prompt)];
  ASSERT_EQ(chat.messages.size(), 2);
  EXPECT_EQ(chat.messages[0].role, "system");
  EXPECT_EQ(chat.messages[0].content, "be brief");
  EXPECT_EQ(chat.messages[1].content, "two");

  const LoadPlan again = PlanOf({"--prompts", file.path(), "--requests", "7"});
  EXPECT_EQ(RenderPrompt(again, again.requests[6]), "one");
}

TEST(Workload, PromptFilesThatLieAreRefused) {
  const auto error = [](const std::string& text) {
    const TextFile file(text);
    std::string message = PlanError({"--prompts", file.path()});
    const std::string start = "--prompts: " + file.path();
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  };
  EXPECT_EQ(error(""), ": no prompts in it");
  EXPECT_EQ(error(" \n\n"), ": no prompts in it");
  EXPECT_EQ(error("{\"prompt\": \"a\"}\n[1]"), ":2: expected a JSON object, found '[1]'");
  EXPECT_EQ(error("{\"prompt\": \"a\""), ":1: expected a JSON object, found '{\"prompt\": \"a\"'");
  EXPECT_EQ(error("{}"), ":1: expected either \"prompt\" or \"messages\", found neither");
  EXPECT_EQ(error("{\"prompt\": \"\", \"messages\": []}"),
            ":1: expected either \"prompt\" or \"messages\", found both");
  EXPECT_EQ(error("{\"prompt\": [1, 2]}"), ":1: \"prompt\" is array: expected a string");
  EXPECT_EQ(error("{\"messages\": []}"),
            ":1: \"messages\": expected an array of at least one message");
  EXPECT_EQ(error("{\"messages\": [{\"role\": \"user\"}]}"),
            ":1: \"messages\": expected objects with role and content");
  EXPECT_EQ(error("{\"messages\": [{\"role\": 1, \"content\": \"\"}]}"),
            ":1: \"role\" of a message is number: expected a string");
  EXPECT_EQ(
      error("{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]}"),
      ":1: \"content\" of a message has a part that is not of text");
  for (const char* value : {"0", "-1", "1.5", "\"5\"", "10000001", "99999999999999999999"}) {
    EXPECT_EQ(error("{\"prompt\": \"a\", \"max_tokens\": " + std::string(value) + "}"),
              ":1: \"max_tokens\": expected an integer from 1 to 10000000");
  }
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_EQ(
      error("{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": " + deep + "}]}]}"),
      ":1: \"content\" of a message has a part that is not of text");
  EXPECT_THAT(PlanError({"--prompts", "/nowhere.jsonl"}), HasSubstr("--prompts: /nowhere.jsonl"));
}

TEST(Profiles, AreMixedByWeight) {
  const LoadPlan plan = PlanOf({"--max-tokens", "7", "--requests", "2000", "--profile",
                                "name=chat,weight=3,prompt-tokens=normal:100,10,turns=1",
                                "--profile", "name=long,prompt-tokens=1000-2000,max-tokens=3"});
  EXPECT_THAT(plan.profiles, ElementsAre("chat", "long"));
  const PlanDescription description = DescribePlan(plan);
  ASSERT_EQ(description.profiles.size(), 2);
  EXPECT_EQ(description.all.request_count, 2000);
  EXPECT_NEAR(static_cast<double>(description.profiles[0].request_count), 1500, 60);
  EXPECT_EQ(description.profiles[0].max_tokens.least, 7);  // as the command line says
  EXPECT_EQ(description.profiles[1].max_tokens.greatest, 3);
  EXPECT_GE(description.profiles[1].prompt_tokens.least, 1000);
  EXPECT_LE(description.profiles[0].prompt_tokens.greatest, 200);
}

TEST(Profiles, SharedPrefixesAreTheirOwn) {
  const LoadPlan plan = PlanOf({"--shared-prefix-tokens", "30", "--profile", "name=a", "--profile",
                                "name=b", "--requests", "50"});
  std::set<std::string> beginnings;
  for (const PlannedRequest& request : plan.requests) {
    beginnings.insert(RenderPrompt(plan, request).substr(0, 40));
  }
  EXPECT_EQ(beginnings.size(), 2);
}

TEST(Profiles, WhatIsWrongIsSaid) {
  const auto error = [](const std::string& profile) { return PlanError({"--profile", profile}); };
  EXPECT_EQ(error("chat"), "--profile: 'chat': expected KEY=VALUE,KEY=VALUE,..., found 'chat'");
  EXPECT_EQ(error("weight=2"), "--profile 'weight=2': expected a name=...");
  EXPECT_EQ(error("name=a,name=b"), "--profile: 'name=a,name=b': 'name' stands there twice");
  EXPECT_THAT(error("name=a,color=red"),
              HasSubstr("'color': there is no such key: expected name, weight, prompt-tokens"));
  EXPECT_THAT(error("name=a,weight=x"), HasSubstr("'weight': 'x' is not a number"));
  EXPECT_EQ(error("name=a,weight=0"), "profile 'a': weight 0 is not above 0 and at most 1e9");
  EXPECT_THAT(error("name=a,turns=20000"), HasSubstr("--turns: 20000 is more than 10000"));
  EXPECT_THAT(error("name=a,prompt-tokens=5-1"),
              HasSubstr("'prompt-tokens': '5-1' is not a length"));
  EXPECT_THAT(error("name=a,prompt=hi,turns=2"), HasSubstr("--turns is for generated prompts"));
  EXPECT_THAT(error("name=a,prompt=hi,shared-prefix-tokens=2"),
              HasSubstr("--shared-prefix-tokens is for generated prompts"));
  EXPECT_THAT(error("name=a,prompt=hi,prompts=f"), HasSubstr("expected one of them"));
  EXPECT_THAT(error("name=a,shared-prefixes=0"),
              HasSubstr("--shared-prefixes: 0 is not between 1 and 1000000"));
  EXPECT_EQ(PlanError({"--profile", "name=a", "--profile", "name=a"}),
            "--profile: there are two of the name 'a'");
  EXPECT_THAT(PlanError({"--prompt", "x", "--vocabulary-size", "1000"}),
              HasSubstr("--vocabulary-size is for generated prompts"));
  EXPECT_THAT(PlanError({"--shared-prefix-tokens", "-1"}),
              HasSubstr("--shared-prefix-tokens: -1 is not between 0"));
}

TEST(Hostile, EveryKindHasItsShare) {
  const LoadPlan plan = PlanOf({"--requests", "10000", "--hostile",
                                "cancel=5%,stall=0.02,malformed=1%", "--max-tokens", "20"});
  const PlanDescription description = DescribePlan(plan);
  EXPECT_NEAR(static_cast<double>(description.cancel_count), 500, 70);
  EXPECT_NEAR(static_cast<double>(description.stall_count), 200, 45);
  EXPECT_NEAR(static_cast<double>(description.malformed_count), 100, 30);
  std::set<int32_t> cancelled_after;
  for (const PlannedRequest& request : plan.requests) {
    if (request.behaviour == Behaviour::kCancel) cancelled_after.insert(request.behaviour_tokens);
    EXPECT_EQ(request.stall, request.behaviour == Behaviour::kStall ? seconds(5) : seconds(0));
  }
  EXPECT_EQ(cancelled_after.size(), 10);
  EXPECT_THAT(cancelled_after, Each(AllOf(Ge(1), Le(10))));

  const LoadPlan all = PlanOf({"--hostile", "stall=100%,stall-after=3,stall-time=1s"});
  for (const PlannedRequest& request : all.requests) {
    EXPECT_EQ(request.behaviour, Behaviour::kStall);
    EXPECT_EQ(request.behaviour_tokens, 3);
    EXPECT_EQ(request.stall, seconds(1));
  }
}

TEST(Hostile, ChangesNoPromptAndEndsItsConversation) {
  const LoadPlan peaceful = PlanOf({});
  const LoadPlan hostile = PlanOf({"--hostile", "cancel=50%"});
  for (size_t i = 0; i < peaceful.requests.size(); ++i) {
    EXPECT_EQ(RenderPrompt(hostile, hostile.requests[i]),
              RenderPrompt(peaceful, peaceful.requests[i]));
  }
  const LoadPlan chats = PlanOf({"--hostile", "cancel=30%", "--turns", "5"});
  for (const PlannedRequest& request : chats.requests) {
    if (request.previous_turn < 0) continue;
    EXPECT_EQ(chats.requests[static_cast<size_t>(request.previous_turn)].behaviour,
              Behaviour::kNormal);
  }
}

TEST(Hostile, WhatIsWrongIsSaid) {
  const auto error = [](const char* mix) { return PlanError({"--hostile", mix}); };
  EXPECT_EQ(error("cancel=5"), "--hostile: '5' is not a share: expected 0% to 100%, or 0 to 1");
  EXPECT_EQ(error("cancel=-1%"), "--hostile: '-1%' is not a share: expected 0% to 100%, or 0 to 1");
  EXPECT_EQ(error("cancel=60%,stall=60%"),
            "--hostile: 'cancel=60%,stall=60%': the shares are more than 100% together");
  EXPECT_THAT(error("explode=1%"), HasSubstr("there is no 'explode': expected cancel, stall"));
  EXPECT_THAT(error("cancel=1%,cancel-after=0"), HasSubstr("'0' is not a number of tokens from 1"));
  EXPECT_THAT(error("stall=1%,stall-time=x"), HasSubstr("'x' is not a time"));
  EXPECT_THAT(error("5%"), HasSubstr("expected KEY=VALUE"));
}

TEST(DescribePlan, CountsAndRates) {
  const LoadPlan plan = PlanOf({"--rate", "10", "--arrivals", "constant", "--requests", "101",
                                "--prompt-tokens", "10-20", "--max-tokens", "5"});
  const PlanDescription description = DescribePlan(plan);
  EXPECT_DOUBLE_EQ(description.span_s, 10);
  EXPECT_DOUBLE_EQ(description.mean_rate, 10.1);
  EXPECT_EQ(description.all.prompt_tokens.least, 10);
  EXPECT_EQ(description.all.prompt_tokens.greatest, 20);
  EXPECT_EQ(description.all.max_tokens.sum, 505);
  EXPECT_EQ(description.all.conversation_count, 101);
  EXPECT_EQ(description.shared_prompt_tokens, 0);
  EXPECT_EQ(DescribePlan(PlanOf({})).mean_rate, 0);
}

}  // namespace
}  // namespace weft
