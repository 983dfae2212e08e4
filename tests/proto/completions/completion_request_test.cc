// Bodies of /v1/completions: what is accepted, and what every refusal says.
#include "proto/completions/completion_request.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json_reader.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CompletionRequest Parsed(const std::string& body) {
  const ApiResult<CompletionRequest> request = ParseCompletionRequest(body);
  EXPECT_TRUE(request) << body << ": " << (request ? "" : request.error().message);
  return request.value_or(CompletionRequest{});
}

ApiError Refused(const std::string& body) {
  const ApiResult<CompletionRequest> request = ParseCompletionRequest(body);
  EXPECT_FALSE(request) << body;
  return request ? ApiError{} : request.error();
}

TEST(CompletionRequestTest, FillsInDefaults) {
  const CompletionRequest request = Parsed(R"({"prompt":"Hi"})");
  EXPECT_EQ(request.model, std::nullopt);
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(std::get<std::string>(request.prompts[0]), "Hi");
  EXPECT_FALSE(request.prompt_is_list);
  EXPECT_EQ(request.n, 1);
  EXPECT_EQ(request.max_tokens, std::nullopt);
  EXPECT_EQ(request.sampling.temperature, 1.0);
  EXPECT_EQ(request.sampling.top_p, 1.0);
  EXPECT_EQ(request.sampling.min_p, 0.0);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.seed, std::nullopt);
  EXPECT_EQ(request.logprobs, std::nullopt);
  EXPECT_FALSE(request.stream || request.echo || request.sampling.ignore_eos ||
               request.include_usage);
}

TEST(CompletionRequestTest, ReadsEveryField) {
  const CompletionRequest request = Parsed(R"({
    "model": "m", "prompt": "Hi", "n": 3, "best_of": 3, "max_tokens": 7, "min_tokens": 2,
    "temperature": 0.5, "top_p": 0.25, "min_p": 0.125, "top_k": 40, "seed": -1,
    "stop": ["a", "b"], "stop_token_ids": [5, 6], "include_stop_str_in_output": true,
    "ignore_eos": true, "echo": true, "logprobs": 0, "stream": true,
    "stream_options": {"include_usage": true}, "user": "u"})");
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.sampling.min_tokens, 2);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.25);
  EXPECT_EQ(request.sampling.min_p, 0.125);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.seed, ~uint64_t{0});
  EXPECT_THAT(request.sampling.stop, ElementsAre("a", "b"));
  EXPECT_THAT(request.sampling.stop_token_ids, ElementsAre(5, 6));
  EXPECT_EQ(request.logprobs, 0);
  EXPECT_TRUE(request.sampling.include_stop && request.sampling.ignore_eos && request.echo &&
              request.stream && request.include_usage);
  EXPECT_EQ(request.unknown_field_count, 0);
}

TEST(CompletionRequestTest, ReadsWhatOnlyWholeAnswersHave) {
  const CompletionRequest request =
      Parsed(R"({"prompt":"","n":2,"best_of":5,"prompt_logprobs":3,"suffix":"end"})");
  EXPECT_EQ(request.n, 2);
  EXPECT_EQ(request.best_of, 5);
  EXPECT_EQ(request.prompt_logprobs, 3);
  EXPECT_EQ(request.suffix, "end");
  EXPECT_EQ(Parsed(R"({"prompt":"","n":2})").best_of, 2);
  const CompletionRequest beams = Parsed(
      R"({"prompt":"","use_beam_search":true,"length_penalty":-0.5,"early_stopping":true,"best_of":4,
          "temperature":0,"stop_token_ids":[1],"min_tokens":1,"ignore_eos":true})");
  EXPECT_TRUE(beams.use_beam_search && beams.early_stopping);
  EXPECT_EQ(beams.length_penalty, -0.5);
  EXPECT_EQ(beams.unknown_field_count, 0);
  std::string prompts = "\"\"";
  for (int i = 1; i < 200; ++i) prompts += ",\"\"";
  EXPECT_EQ(Refused("{\"prompt\":[" + prompts + "],\"best_of\":6}").param, "best_of");
}

TEST(CompletionRequestTest, ReadsEveryKindOfPrompt) {
  const CompletionRequest texts = Parsed(R"({"prompt":["a","b"]})");
  EXPECT_TRUE(texts.prompt_is_list);
  ASSERT_EQ(texts.prompts.size(), 2U);
  EXPECT_EQ(std::get<std::string>(texts.prompts[1]), "b");
  const CompletionRequest ids = Parsed(R"({"prompt":[1,2,3]})");
  ASSERT_EQ(ids.prompts.size(), 1U);
  EXPECT_THAT(std::get<std::vector<int32_t>>(ids.prompts[0]), ElementsAre(1, 2, 3));
  const CompletionRequest lists = Parsed(R"({"prompt":[[1,2],[3]]})");
  ASSERT_EQ(lists.prompts.size(), 2U);
  EXPECT_THAT(std::get<std::vector<int32_t>>(lists.prompts[1]), ElementsAre(3));
}

TEST(CompletionRequestTest, TakesNullForTheDefault) {
  const CompletionRequest request = Parsed(
      R"({"prompt":"Hi","model":null,"max_tokens":null,"temperature":null,"stop":null,"seed":null,
          "logprobs":null,"suffix":null,"logit_bias":null,"stream_options":null,"best_of":null})");
  EXPECT_EQ(request.sampling.temperature, 1.0);
  EXPECT_EQ(request.max_tokens, std::nullopt);
}

TEST(CompletionRequestTest, CountsAndIgnoresUnknownFields) {
  EXPECT_EQ(Parsed(R"({"prompt":"Hi","frobnicate":1,"x":{"y":[]}})").unknown_field_count, 2);
  EXPECT_EQ(Parsed(R"({"prompt":"Hi","x":1,"stream":true,
                       "stream_options":{"include_obfuscation":true,"y":1,"z":2}})")
                .unknown_field_count,
            3);
}

TEST(CompletionRequestTest, UsageInEveryEventNeedsUsage) {
  const auto parsed = [](const std::string& options) {
    return Parsed(R"({"prompt":"","stream":true,"stream_options":{)" + options + "}}");
  };
  EXPECT_TRUE(parsed(R"("continuous_usage_stats":true,"include_usage":true)").continuous_usage);
  EXPECT_FALSE(parsed(R"("continuous_usage_stats":true)").continuous_usage);
  EXPECT_FALSE(parsed(R"("include_usage":true)").continuous_usage);
}

TEST(CompletionRequestTest, AcceptsTheEndsOfRanges) {
  EXPECT_EQ(Parsed(R"({"prompt":"","seed":18446744073709551615})").sampling.seed, ~uint64_t{0});
  EXPECT_EQ(Parsed(R"({"prompt":"","temperature":2})").sampling.temperature, 2);
  EXPECT_EQ(Parsed(R"({"prompt":"","top_k":-1})").sampling.top_k, 0);
  EXPECT_EQ(Parsed(R"({"prompt":"","logprobs":20})").logprobs, 20);
  EXPECT_EQ(Parsed(R"({"prompt":"","max_tokens":2147483647})").max_tokens, 2147483647);
  EXPECT_EQ(Parsed(R"({"prompt":"","max_tokens":0,"echo":true})").max_tokens, 0);
  EXPECT_EQ(Parsed(R"({"prompt":"","presence_penalty":0.0,"suffix":""})").n, 1);
}

struct Refusal {
  std::string body;
  std::string param;
  std::string message_part;
  std::string code = "invalid_value";
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesTheFieldAndSaysWhatToDo) {
  const ApiError error = Refused(GetParam().body);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.type, "invalid_request_error");
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message_part));
}

const Refusal kRefusals[] = {
    {"[]", "", "must be a JSON object, not an empty array"},
    {"{}", "prompt", "'prompt' is missing", "missing_required_parameter"},
    {R"({"prompt":null})", "prompt", "'prompt' is missing", "missing_required_parameter"},
    {R"({"prompt":5})", "prompt", "not the number 5"},
    {R"({"prompt":{}})", "prompt", "not an object"},
    {R"({"prompt":[]})", "prompt", "empty array"},
    {R"({"prompt":[[]]})", "prompt[0]", "empty array"},
    {R"({"prompt":["a",1]})", "prompt[1]", "not the number 1"},
    {R"({"prompt":["a",[1]]})", "prompt[1]", "mixes"},
    {R"({"prompt":[1,"a"]})", "prompt[1]", "must be an integer"},
    {R"({"prompt":[1,-2]})", "prompt[1]", "not the number -2"},
    {R"({"prompt":[1,2.5]})", "prompt[1]", "not the number 2.5"},
    {R"({"prompt":[1,4294967296]})", "prompt[1]", "0 to 2147483647"},
    {R"({"prompt":[[1],[2,99999999999999999999]]})", "prompt[1][1]", "0 to 2147483647"},
    {R"({"prompt":[null]})", "prompt[0]", "not null"},
    {R"({"prompt":"","model":5})", "model", "must be a string"},
    {R"({"prompt":"","n":0})", "n", "from 1 to 128"},
    {R"({"prompt":"","n":129})", "n", "from 1 to 128"},
    {R"({"prompt":"","n":true})", "n", "not true"},
    {R"({"prompt":"","n":"2"})", "n", R"(not the string "2")"},
    {R"({"prompt":"","best_of":0})", "best_of", "from 1 to 128"},
    {R"({"prompt":"","n":3,"best_of":2})", "best_of", "less than 'n' (3)"},
    {R"({"prompt":"","use_beam_search":1})", "use_beam_search", "true or false"},
    {R"({"prompt":"","use_beam_search":true,"stream":true})", "use_beam_search", "streamed"},
    {R"({"prompt":"","use_beam_search":true,"temperature":0.5})", "temperature", "combined with"},
    {R"({"prompt":"","use_beam_search":true,"top_k":5})", "top_k", "combined with"},
    {R"({"prompt":"","use_beam_search":true,"stop":"x"})", "stop", "combined with"},
    {R"({"prompt":"","use_beam_search":true,"logit_bias":{"1":1}})", "logit_bias", "combined with"},
    {R"({"prompt":"","use_beam_search":true,"logprobs":1})", "logprobs", "combined with"},
    {R"({"prompt":"","use_beam_search":true,"max_tokens":0,"echo":true})", "max_tokens",
     "at least 1"},
    {R"({"prompt":"","length_penalty":2})", "length_penalty", "'use_beam_search': true"},
    {R"({"prompt":"","early_stopping":true})", "early_stopping", "'use_beam_search': true"},
    {R"({"prompt":"","use_beam_search":true,"length_penalty":11})", "length_penalty", "-10 to 10"},
    {R"({"prompt":"","best_of":2,"stream":true})", "best_of", "cannot be streamed"},
    {R"({"prompt":"","prompt_logprobs":21})", "prompt_logprobs", "from 0 to 20"},
    {R"({"prompt":"","prompt_logprobs":-1})", "prompt_logprobs", "from 0 to 20"},
    {R"({"prompt":"","prompt_logprobs":1,"stream":true})", "prompt_logprobs", "cannot be streamed"},
    {R"({"prompt":"","max_tokens":-2})", "max_tokens", "0 to 2147483647"},
    {R"({"prompt":"","max_tokens":16.5})", "max_tokens", "must be an integer"},
    {R"({"prompt":"","max_tokens":18446744073709551615})", "max_tokens", "must be an integer"},
    {R"({"prompt":"","max_tokens":0})", "max_tokens", "'echo'"},
    {R"({"prompt":"","min_tokens":5,"max_tokens":4})", "min_tokens", "more than 'max_tokens'"},
    {R"({"prompt":"","temperature":-0.1})", "temperature", "from 0 to 2"},
    {R"({"prompt":"","temperature":2.1})", "temperature", "from 0 to 2"},
    {R"({"prompt":"","temperature":"hot"})", "temperature", "must be a number"},
    {R"({"prompt":"","temperature":1e300})", "temperature", "from 0 to 2"},
    {R"({"prompt":"","top_p":-0.5})", "top_p", "from 0 to 1"},
    {R"({"prompt":"","top_p":1.5})", "top_p", "from 0 to 1"},
    {R"({"prompt":"","min_p":1.5})", "min_p", "from 0 to 1"},
    {R"({"prompt":"","top_k":-2})", "top_k", "from -1"},
    {R"({"prompt":"","seed":1.5})", "seed", "64-bit integer"},
    {R"({"prompt":"","seed":99999999999999999999})", "seed", "64-bit integer"},
    {R"({"prompt":"","stop":5})", "stop", "must be a string"},
    {R"({"prompt":"","stop":""})", "stop", "1 to 1024"},
    {R"({"prompt":"","stop":["a",""]})", "stop[1]", "1 to 1024"},
    {R"({"prompt":"","stop":["a",null]})", "stop[1]", "not null"},
    {R"({"prompt":"","stop":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]})", "stop", "at most 16"},
    {R"({"prompt":"","stop_token_ids":5})", "stop_token_ids", "array"},
    {R"({"prompt":"","stop_token_ids":[-1]})", "stop_token_ids[0]", "from 0"},
    {R"({"prompt":"","logprobs":21})", "logprobs", "from 0 to 20"},
    {R"({"prompt":"","logprobs":true})", "logprobs", "must be an integer"},
    {R"({"prompt":"","echo":1})", "echo", "true or false"},
    {R"({"prompt":"","stream":"yes"})", "stream", "true or false"},
    {R"({"prompt":"","stream_options":{}})", "stream_options", "'stream': true"},
    {R"({"prompt":"","stream":true,"stream_options":[]})", "stream_options", "must be an object"},
    {R"({"prompt":"","stream":true,"stream_options":{"include_usage":1}})",
     "stream_options.include_usage", "true or false"},
    {R"({"prompt":"","user":5})", "user", "must be a string"},
    {R"({"prompt":"","suffix":5})", "suffix", "must be a string"},
    {R"({"prompt":"","prompt":""})", "prompt", "appears twice", "duplicate_key"},
    {R"({"prompt":"a","x":[{"y":1,"y":2}]})", "x[0].y", "appears twice", "duplicate_key"},
    {R"({"prompt":"a","x":[1,[],{"y":{"z":[]},"w":[[],{"k":1,"k":2}]}]})", "x[2].w[1].k",
     "appears twice", "duplicate_key"},
    {R"([{"a":1,"a":2}])", "[0].a", "appears twice", "duplicate_key"},
    {R"({"prompt":"","stream":true,"stream_options":{"continuous_usage_stats":1}})",
     "stream_options.continuous_usage_stats", "true or false"},
    {R"({"prompt":"","stream":true,"stream_options":{"include_obfuscation":1}})",
     "stream_options.include_obfuscation", "true or false"},
    {R"({"prompt":"","metadata":"a"})", "metadata", "must be an object"},
    {R"({"prompt":"","n_predict":5})", "n_predict", "leave it out", "unsupported_parameter"},
    {R"({"prompt":"","truncate_prompt_tokens":5})", "truncate_prompt_tokens", "leave it out",
     "unsupported_parameter"},
    {"", "", "not valid JSON", "invalid_json"},
    {R"({"prompt":"a"} x)", "", "at byte", "invalid_json"},
    {"{\"prompt\":\"\xff\"}", "", "UTF-8", "invalid_json"},
    {R"({"prompt":"\ud800"})", "", "surrogate", "invalid_json"},
    {R"({"prompt":"","temperature":NaN})", "", "not valid JSON", "invalid_json"},
    {R"({"prompt":"","temperature":1e999})", "", "out of the range", "invalid_json"},
};
INSTANTIATE_TEST_SUITE_P(All, RefusalTest, testing::ValuesIn(kRefusals));

TEST(CompletionRequestTest, RefusesNulCharacters) {
  using std::string_literals::operator""s;
  EXPECT_EQ(Refused("{\"prompt\":\"\"}\0x"s).code, "invalid_json");
  EXPECT_EQ(Refused("{\"prompt\":\"a\0b\"}"s).code, "invalid_json");
}

TEST(CompletionRequestTest, RefusesDeepNestingWithoutRecursion) {
  std::string deep = R"({"prompt":"","x":)";
  deep.append(10'000'000, '[');
  EXPECT_EQ(Refused(deep).code, "json_too_deep");
  EXPECT_TRUE(Refused(deep).param.starts_with("x[0][0]")) << Refused(deep).param;
  const std::string deepest =
      std::string(kMaxJsonDepth - 1, '[') + "null" + std::string(kMaxJsonDepth - 1, ']');
  EXPECT_EQ(Parsed(R"({"prompt":"","x":)" + deepest + "}").unknown_field_count, 1);
}

TEST(CompletionRequestTest, RefusesMoreValuesThanTheLimitButTakesAnyNumberOfNumbers) {
  const auto with = [](int64_t count, std::string_view value) {
    std::string body = R"({"prompt":"","x":[)";  // three values
    for (int64_t i = 0; i < count; ++i) body.append(i > 0 ? "," : "").append(value);
    return body + "]}";
  };
  EXPECT_EQ(Parsed(with(kMaxJsonValues - 3, "[]")).unknown_field_count, 1);
  const ApiError error = Refused(with(kMaxJsonValues - 2, "[]"));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "too_many_values");
  EXPECT_EQ(error.param, "x[131069]");
  EXPECT_EQ(error.message, "the request body has more than 131072 JSON values; send fewer");
  EXPECT_EQ(Refused(with(kMaxJsonValues - 2, "null")).code, "too_many_values");
  EXPECT_EQ(Parsed(with(2 * kMaxJsonValues, "17")).unknown_field_count, 1);
}

TEST(CompletionRequestTest, TakesAHundredMegabytes) {
  std::string text;
  text.resize(100'000'000, 'x');
  const std::string body = R"({"prompt":")" + text + R"(","n":0})";
  EXPECT_EQ(Refused(body).param, "n");  // the text is read, and what follows it
  EXPECT_LT(Refused(R"({"model":")" + text + R"(","prompt":5})").message.size(), 300U);
}

TEST(CompletionRequestTest, MessagesStayShortWhateverTheBodyHolds) {
  const std::string long_text(1'000'000, 'x');
  EXPECT_LT(Refused(R"({"prompt":"","n":")" + long_text + "\"}").message.size(), 300U);
  EXPECT_LT(Refused("{\"" + long_text + "\":1,\"" + long_text + "\":2}").message.size(), 300U);
  EXPECT_LT(Refused("{\"prompt\":" + long_text).message.size(), 300U);
  const std::string twice = "{\"" + long_text + "\":{\"a\":1,\"a\":2}}";
  EXPECT_LT(Refused(twice).param.size(), 300U);
  EXPECT_EQ(Refused(twice).code, "duplicate_key");
}

TEST(CompletionRequestTest, ParsesTheJsonTestSuiteAsItSays) {
  const std::filesystem::path directory = SharedDataPath("json");
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is absent";
  int case_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json") continue;
    ++case_count;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string body(std::istreambuf_iterator<char>(file), {});
    const ApiError error = Refused(body);  // none of them is a completion request
    const bool is_json = error.code != "invalid_json" && error.code != "json_too_deep";
    if (name.starts_with("y_")) {
      EXPECT_TRUE(is_json) << name << ": " << error.message;
    }
    if (name.starts_with("n_")) {
      EXPECT_FALSE(is_json) << name << ": " << error.message;
    }
  }
  EXPECT_GT(case_count, 300);
}

}  // namespace
}  // namespace weft
