// Replay of recorded traffic.
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/plan/plan_description.h"
#include "loadtest/plan/render_prompt.h"
#include "loadtest/plan/trace.h"
#include "loadtest/report/plan_text.h"
#include "tests/data_paths.h"
#include "tests/loadtest/plan_fixture.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Two share two blocks of 512 tokens, the third only the first of them.
constexpr const char* kMooncake =
    "{\"timestamp\": 2000, \"input_length\": 1300, \"output_length\": 50, "
    "\"hash_ids\": [1, 2, 3]}\n"
    "{\"timestamp\": 1000, \"input_length\": 1200, \"output_length\": 9, \"hash_ids\": [1, 2, 4]}\n"
    "{\"timestamp\": 5500, \"input_length\": 520, \"output_length\": 0, \"hash_ids\": [1, 5]}\n";

constexpr const char* kAzure =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 23:59:59.9000000,374,44\r\n"
    "2023-11-17 00:00:00.4000000,396,109\r\n"
    "2023-11-17 00:00:01+00:00,5,0";

std::vector<nanoseconds> SendTimes(const LoadPlan& plan) {
  std::vector<nanoseconds> times;
  for (const PlannedRequest& request : plan.requests) times.push_back(request.send_at);
  return times;
}

std::vector<int64_t> PromptLengths(const LoadPlan& plan) {
  std::vector<int64_t> lengths;
  for (const PlannedRequest& request : plan.requests) {
    const std::string prompt = RenderPrompt(plan, request);
    lengths.push_back(std::count(prompt.begin(), prompt.end(), ' ') + 1);
  }
  return lengths;
}

// Words that two prompts have in common from their beginning.
int64_t SharedWords(const LoadPlan& plan, size_t a, size_t b) {
  const std::string first = RenderPrompt(plan, plan.requests[a]) + ' ';
  const std::string second = RenderPrompt(plan, plan.requests[b]) + ' ';
  const auto end = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
  return std::count(first.begin(), end, ' ');
}

TEST(MooncakeTrace, KeepsTimesLengthsAndSharedBlocks) {
  const TextFile file(kMooncake);
  const LoadPlan plan = PlanOf({"--trace", file.path()});
  EXPECT_EQ(plan.users, 0);
  EXPECT_THAT(SendTimes(plan),
              ElementsAre(milliseconds(0), milliseconds(1000), milliseconds(4500)));
  EXPECT_THAT(PromptLengths(plan), ElementsAre(1200, 1300, 520));
  EXPECT_EQ(plan.requests[0].max_tokens, 9);
  EXPECT_EQ(plan.requests[1].max_tokens, 50);
  EXPECT_EQ(plan.requests[2].max_tokens, 1);
  EXPECT_NEAR(static_cast<double>(SharedWords(plan, 0, 1)), 1024, 3);
  EXPECT_NEAR(static_cast<double>(SharedWords(plan, 0, 2)), 512, 3);
  EXPECT_EQ(DescribePlan(plan).shared_prompt_tokens, 1024 + 512);
}

TEST(MooncakeTrace, ScaledLengthsAreExactAndStillShared) {
  const TextFile file(kMooncake);
  const LoadPlan plan =
      PlanOf({"--trace", file.path(), "--trace-length-scale", "0.1", "--trace-time-scale", "0.5"});
  EXPECT_THAT(SendTimes(plan), ElementsAre(milliseconds(0), milliseconds(500), milliseconds(2250)));
  EXPECT_THAT(PromptLengths(plan), ElementsAre(120, 130, 52));
  EXPECT_EQ(plan.requests[1].max_tokens, 5);
  EXPECT_EQ(plan.requests[0].max_tokens, 1);
  EXPECT_EQ(DescribePlan(plan).shared_prompt_tokens, 102 + 51);
  EXPECT_THAT(PromptLengths(PlanOf({"--trace", file.path(), "--trace-length-scale", "0.0001"})),
              ElementsAre(1, 1, 1));
}

TEST(MooncakeTrace, BlocksThatAreNotGivenAreARequestsOwn) {
  const TextFile file(
      "{\"timestamp\": 0.5, \"input_length\": 1000, \"output_length\": 1, \"hash_ids\": [1]}\n"
      "{\"timestamp\": 1.5, \"input_length\": 1000, \"output_length\": 1, \"hash_ids\": [1]}\n"
      "{\"timestamp\": 2.5, \"input_length\": 1000, \"output_length\": 1}\n");
  const LoadPlan plan = PlanOf({"--trace", file.path()});
  EXPECT_THAT(PromptLengths(plan), ElementsAre(1000, 1000, 1000));
  EXPECT_EQ(DescribePlan(plan).shared_prompt_tokens, 512);
}

TEST(AzureTrace, KeepsTimesAndLengths) {
  const TextFile file(kAzure);
  const LoadPlan plan = PlanOf({"--trace", file.path()});
  EXPECT_THAT(SendTimes(plan), ElementsAre(milliseconds(0), milliseconds(500), milliseconds(1100)));
  EXPECT_THAT(PromptLengths(plan), ElementsAre(374, 396, 5));
  EXPECT_EQ(plan.requests[1].max_tokens, 109);
  EXPECT_EQ(plan.requests[2].max_tokens, 1);
  EXPECT_EQ(DescribePlan(plan).shared_prompt_tokens, 0);
}

TEST(Trace, APieceOfIt) {
  const TextFile file(kAzure);
  EXPECT_THAT(SendTimes(PlanOf({"--trace", file.path(), "--trace-begin", "200ms",
                                "--trace-duration", "700ms", "--trace-time-scale", "2"})),
              ElementsAre(milliseconds(600)));
  EXPECT_EQ(PlanOf({"--trace", file.path(), "--requests", "2"}).requests.size(), 2);
  EXPECT_EQ(PlanOf({"--trace", file.path(), "--duration", "1s"}).requests.size(), 2);
  const LoadPlan shorter = PlanOf({"--trace", file.path(), "--max-prompt-tokens", "380"});
  EXPECT_THAT(PromptLengths(shorter), ElementsAre(374, 5));
  EXPECT_TRUE(PlanText(shorter).ends_with(
      "; 1 of the trace's requests are left out: their prompts have more than 380 tokens"))
      << PlanText(shorter);
  EXPECT_EQ(PlanError({"--trace", file.path(), "--trace-begin", "1h"}),
            file.path() +
                ": none of its 3 requests is in the piece that --trace-begin, --trace-duration and "
                "--max-prompt-tokens leave");
}

TEST(Trace, ItsLengthsAtAnotherRateOrInAClosedLoop) {
  const TextFile file(kAzure);
  const LoadPlan rated = PlanOf({"--trace", file.path(), "--rate", "10", "--arrivals", "constant"});
  EXPECT_THAT(SendTimes(rated), ElementsAre(milliseconds(0), milliseconds(100), milliseconds(200)));
  EXPECT_THAT(PromptLengths(rated), ElementsAre(374, 396, 5));
  const LoadPlan closed = PlanOf({"--trace", file.path(), "--concurrency", "2"});
  EXPECT_EQ(closed.users, 2);
  EXPECT_EQ(closed.requests.size(), 3);
}

TEST(Trace, MayBeHostile) {
  const TextFile file(kAzure);
  const LoadPlan plan = PlanOf({"--trace", file.path(), "--hostile", "cancel=100%"});
  EXPECT_EQ(DescribePlan(plan).cancel_count, 3);
}

TEST(Trace, FilesThatLieAreRefused) {
  const auto error = [](const std::string& text) {
    const TextFile file(text);
    std::string message = PlanError({"--trace", file.path()});
    const std::string start = "--trace: " + file.path();
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  };
  EXPECT_EQ(error(""), ": no requests in it");
  EXPECT_EQ(error("TIMESTAMP,ContextTokens,GeneratedTokens\n"), ": no requests in it");
  EXPECT_EQ(error("time,tokens\n"),
            ":1: expected a Mooncake trace (a JSON object a line) or Azure's CSV (a first line "
            "TIMESTAMP,ContextTokens,GeneratedTokens), found 'time,tokens'");

  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  EXPECT_EQ(error(header + "2023-11-16 18:15:46,3"),
            ":2: expected TIMESTAMP,ContextTokens,GeneratedTokens, found '2023-11-16 18:15:46,3'");
  for (const char* time :
       {"", "2023-11-16", "2023-13-16 18:15:46", "2023-02-29 18:15:46", "2023-11-16 24:15:46",
        "2023-11-16 18:15:46.", "2023-11-16 18:15:46.1234567890", "2023-11-16 18:15:46x",
        "9999-11-16 18:15:46", "2023-11-16T18:15:46", "2023-11-16 18:-5:46"}) {
    EXPECT_EQ(error(header + time + ",3,4"),
              ":2: TIMESTAMP: expected a time like 2023-11-16 18:15:46.6805900, found '" +
                  std::string(time) + "'");
  }
  for (const char* count : {"", "0", "-1", "10000001", "1.5", "99999999999"}) {
    EXPECT_EQ(error(header + "2023-11-16 18:15:46," + count + ",4"),
              ":2: ContextTokens: expected an integer from 1 to 10000000, found '" +
                  std::string(count) + "'");
  }
  EXPECT_THAT(error(header + "2023-11-16 18:15:46,3,x"),
              HasSubstr(":2: GeneratedTokens: expected"));
  EXPECT_THAT(error(header + "2023-11-16 18:15:46,3,4,5"), HasSubstr("found '4,5'"));
}

TEST(Trace, MooncakeLinesThatLieAreRefused) {
  const auto error = [](const char* line) {
    const auto request = ParseMooncakeLine(line);
    return request ? "" : request.error().message;
  };
  EXPECT_EQ(error("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1"),
            "expected a JSON object, found '{\"timestamp\": 0, \"input_length\": 1, "
            "\"output_length\": 1'");
  EXPECT_EQ(error("{\"input_length\": 1, \"output_length\": 1}"),
            "\"timestamp\": expected milliseconds from 0 to 9000000000000, found nothing");
  EXPECT_THAT(error("{\"timestamp\": -1}"), HasSubstr("found '-1'"));
  EXPECT_THAT(error("{\"timestamp\": 1e300}"), HasSubstr("\"timestamp\""));
  EXPECT_THAT(error("{\"timestamp\": \"0\"}"), HasSubstr("\"timestamp\""));
  EXPECT_EQ(error("{\"timestamp\": 0, \"input_length\": 0, \"output_length\": 1}"),
            "\"input_length\": expected an integer from 1 to 10000000, found '0'");
  EXPECT_EQ(error("{\"timestamp\": 0, \"input_length\": 1}"),
            "\"output_length\": expected an integer from 0 to 10000000, found nothing");
  EXPECT_THAT(error("{\"timestamp\": 0, \"input_length\": 99999999999, \"output_length\": 1}"),
              HasSubstr("\"input_length\""));
  EXPECT_EQ(error("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, "
                  "\"hash_ids\": [1, 2]}"),
            "\"hash_ids\": expected at most 1 for an input_length of 512, one for 512 tokens, "
            "found 2");
  EXPECT_EQ(error("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, "
                  "\"hash_ids\": 1}"),
            "\"hash_ids\": expected an array");
  EXPECT_EQ(error("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, "
                  "\"hash_ids\": [\"a\"]}"),
            "\"hash_ids\": expected integers, found string");
}

TEST(Trace, DeepNestingIsHarmless) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  const auto refused = ParseMooncakeLine("{\"timestamp\": " + deep + "}");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("found array"));
}

TEST(Trace, OptionsThatMakeNoSenseAreRefused) {
  const TextFile file(kAzure);
  EXPECT_THAT(PlanError({"--trace", file.path(), "--prompt-tokens", "5"}), HasSubstr("excludes"));
  EXPECT_THAT(PlanError({"--trace-time-scale", "2"}), HasSubstr("requires --trace"));
  EXPECT_THAT(PlanError({"--trace", file.path(), "--trace-time-scale", "0"}),
              HasSubstr("--trace-time-scale: 0 is not between"));
  EXPECT_THAT(PlanError({"--trace", file.path(), "--trace-length-scale", "-1"}),
              HasSubstr("--trace-length-scale: -1 is not between"));
  EXPECT_THAT(PlanError({"--trace", file.path(), "--ramp", "1s"}),
              HasSubstr("--ramp: --trace has times of its own"));
  EXPECT_THAT(PlanError({"--trace", "/nowhere"}), HasSubstr("--trace: /nowhere"));
}

// The published traces, where they are at hand.
std::string SharedTrace(const char* name) { return SharedDataPath("traces/") + name; }

TEST(Trace, PublishedMooncakeTrace) {
  const std::string path = SharedTrace("mooncake-conversation.jsonl");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const LoadPlan plan = PlanOf({"--trace", path});
  const PlanDescription description = DescribePlan(plan);  // counted independently
  EXPECT_EQ(description.all.request_count, 12031);
  EXPECT_EQ(description.all.prompt_tokens.sum, 144793823);
  EXPECT_EQ(description.shared_prompt_tokens, 54098411);
  const LoadPlan scaled = PlanOf({"--trace", path, "--trace-length-scale", "0.05"});
  const PlanDescription small = DescribePlan(scaled);
  EXPECT_NEAR(static_cast<double>(small.shared_prompt_tokens),
              0.05 * static_cast<double>(description.shared_prompt_tokens), 1e4);
}

TEST(Trace, PublishedAzureTraces) {
  const std::string path = SharedTrace("azure-llm-2023-conv.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const PlanDescription conversations = DescribePlan(PlanOf({"--trace", path}));
  EXPECT_EQ(conversations.all.request_count, 19366);
  EXPECT_EQ(conversations.all.prompt_tokens.greatest, 14050);
  EXPECT_NEAR(conversations.span_s, 3501.72, 0.01);
  const PlanDescription code =
      DescribePlan(PlanOf({"--trace", SharedTrace("azure-llm-2023-code.csv")}));
  EXPECT_EQ(code.all.request_count, 8819);
}

}  // namespace
}  // namespace weft
