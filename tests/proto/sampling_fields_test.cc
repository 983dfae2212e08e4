// The sampling fields that every endpoint shares: ranges, defaults, and what every refusal names.
#include "proto/sampling_fields.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json_reader.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

SamplingFields Read(const std::string& body) {
  SamplingFields fields;
  const ApiResult<void> read = ReadSamplingFields(ParseJson(body).value(), fields);
  EXPECT_TRUE(read) << body << ": " << (read ? "" : read.error().message);
  return fields;
}

ApiError Refused(const std::string& body) {
  SamplingFields fields;
  const ApiResult<void> read = ReadSamplingFields(ParseJson(body).value(), fields);
  EXPECT_FALSE(read) << body;
  return read ? ApiError{} : read.error();
}

TEST(SamplingFieldsTest, ReadsEveryField) {
  const SamplingFields fields = Read(R"({
    "temperature": 0.5, "dynatemp_range": 0.25, "dynatemp_exponent": 2, "top_k": 40, "top_p": 0.25,
    "min_p": 0.125, "typical_p": 0.5, "top_n_sigma": 1.5, "xtc_probability": 0.75,
    "xtc_threshold": 0.25, "mirostat": 2, "mirostat_tau": 3, "mirostat_eta": 0.5,
    "repetition_penalty": 1.25, "frequency_penalty": -0.5, "presence_penalty": 1.5,
    "repeat_last_n": 64, "dry_multiplier": 0.5, "dry_base": 2, "dry_allowed_length": 3,
    "dry_penalty_last_n": 128, "dry_sequence_breakers": ["x"], "samplers": ["top_k", "typ_p"],
    "logit_bias": {"7": -100, "50256": 0.5}, "allowed_token_ids": [3, 1], "bad_words": ["no"],
    "seed": 5, "min_tokens": 2, "ignore_eos": true, "stop": "end", "stop_token_ids": [9],
    "include_stop_str_in_output": true})");
  EXPECT_EQ(fields.temperature, 0.5);
  EXPECT_EQ(fields.dynatemp_range, 0.25);
  EXPECT_EQ(fields.dynatemp_exponent, 2);
  EXPECT_EQ(fields.top_k, 40);
  EXPECT_EQ(fields.top_p, 0.25);
  EXPECT_EQ(fields.min_p, 0.125);
  EXPECT_EQ(fields.typical_p, 0.5);
  EXPECT_EQ(fields.top_n_sigma, 1.5);
  EXPECT_EQ(fields.xtc_probability, 0.75);
  EXPECT_EQ(fields.xtc_threshold, 0.25);
  EXPECT_EQ(fields.mirostat, 2);
  EXPECT_EQ(fields.mirostat_tau, 3);
  EXPECT_EQ(fields.mirostat_eta, 0.5);
  EXPECT_EQ(fields.repetition_penalty, 1.25);
  EXPECT_EQ(fields.frequency_penalty, -0.5);
  EXPECT_EQ(fields.presence_penalty, 1.5);
  EXPECT_EQ(fields.repeat_last_n, 64);
  EXPECT_EQ(fields.dry_multiplier, 0.5);
  EXPECT_EQ(fields.dry_base, 2);
  EXPECT_EQ(fields.dry_allowed_length, 3);
  EXPECT_EQ(fields.dry_penalty_last_n, 128);
  EXPECT_THAT(fields.dry_sequence_breakers, ElementsAre("x"));
  EXPECT_THAT(fields.samplers.value(), ElementsAre("top_k", "typical_p"));
  EXPECT_THAT(fields.logit_bias, ElementsAre(Pair(50256, 0.5), Pair(7, -100)));
  EXPECT_THAT(fields.allowed_token_ids, ElementsAre(3, 1));
  EXPECT_THAT(fields.bad_words, ElementsAre("no"));
  EXPECT_EQ(fields.seed, 5U);
  EXPECT_EQ(fields.min_tokens, 2);
  EXPECT_TRUE(fields.ignore_eos && fields.include_stop);
  EXPECT_THAT(fields.stop, ElementsAre("end"));
  EXPECT_THAT(fields.stop_token_ids, ElementsAre(9));
}

TEST(SamplingFieldsTest, DefaultsChangeNothing) {
  const SamplingFields fields = Read("{}");
  EXPECT_EQ(fields.temperature, 1);
  EXPECT_EQ(fields.repetition_penalty, 1);
  EXPECT_EQ(fields.frequency_penalty, 0);
  EXPECT_EQ(fields.presence_penalty, 0);
  EXPECT_EQ(fields.repeat_last_n, -1);
  EXPECT_EQ(fields.dry_multiplier, 0);
  EXPECT_THAT(fields.dry_sequence_breakers, ElementsAre("\n", ":", "\"", "*"));
  EXPECT_EQ(fields.xtc_probability, 0);
  EXPECT_EQ(fields.mirostat, 0);
  EXPECT_EQ(fields.samplers, std::nullopt);
  EXPECT_TRUE(fields.logit_bias.empty() && fields.allowed_token_ids.empty() &&
              fields.bad_words.empty());
  const SamplingFields nulls = Read(R"({"logit_bias":null,"samplers":null,"bad_words":null,
      "allowed_token_ids":null,"repetition_penalty":null,"dry_sequence_breakers":null})");
  EXPECT_EQ(nulls.dry_sequence_breakers.size(), 4U);
}

TEST(SamplingFieldsTest, TakesLlamaCppsNameOfTheRepetitionPenalty) {
  EXPECT_EQ(Read(R"({"repeat_penalty":1.5})").repetition_penalty, 1.5);
  EXPECT_EQ(Read(R"({"repeat_penalty":1.5,"repetition_penalty":1.5})").repetition_penalty, 1.5);
  const ApiError error = Refused(R"({"repeat_penalty":1.5,"repetition_penalty":1.2})");
  EXPECT_EQ(error.param, "repeat_penalty");
  EXPECT_THAT(error.message, HasSubstr("two names of one value"));
}

TEST(SamplingFieldsTest, AnEmptyListMeansWhatItSays) {
  EXPECT_TRUE(Read(R"({"samplers":[]})").samplers->empty());
  EXPECT_TRUE(Read(R"({"dry_sequence_breakers":[]})").dry_sequence_breakers.empty());
  EXPECT_TRUE(Read(R"({"logit_bias":{},"bad_words":[],"stop":[]})").logit_bias.empty());
}

TEST(SamplingFieldsTest, EveryNumberHasItsRange) {
  struct Range {
    const char* name;
    double minimum;
    double maximum;
  };
  const Range ranges[] = {
      {"temperature", 0, 2},
      {"dynatemp_range", 0, 2},
      {"dynatemp_exponent", 0, 100},
      {"top_p", 0, 1},
      {"min_p", 0, 1},
      {"typical_p", 0, 1},
      {"top_n_sigma", -1, 1000},
      {"xtc_probability", 0, 1},
      {"xtc_threshold", 0, 1},
      {"mirostat_tau", 0, 100},
      {"mirostat_eta", 0, 1},
      {"repetition_penalty", 0.01, 100},
      {"repeat_penalty", 0.01, 100},
      {"frequency_penalty", -2, 2},
      {"presence_penalty", -2, 2},
      {"dry_multiplier", 0, 100},
      {"dry_base", 1, 100},
  };
  for (const Range& range : ranges) {
    Read(fmt::format(R"({{"{}":{}}})", range.name, range.minimum));
    Read(fmt::format(R"({{"{}":{}}})", range.name, range.maximum));
    for (const std::string& bad :
         {fmt::to_string(range.minimum - 0.001), fmt::to_string(range.maximum + 0.001),
          std::string("1e300"), std::string("-1e300"), std::string("\"1\""), std::string("true"),
          std::string("[1]")}) {
      const ApiError error = Refused(fmt::format(R"({{"{}":{}}})", range.name, bad));
      EXPECT_EQ(error.param, range.name);
      EXPECT_EQ(error.code, "invalid_value");
      EXPECT_THAT(error.message,
                  HasSubstr(fmt::format("from {} to {}", range.minimum, range.maximum)));
    }
    EXPECT_TRUE(IsSamplingField(range.name));
  }
}

struct Refusal {
  std::string body;
  std::string param;
  std::string message_part;
};

class SamplingRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(SamplingRefusalTest, NamesThePathAndSaysWhatToDo) {
  const ApiError error = Refused(GetParam().body);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message_part));
  EXPECT_LT(error.message.size(), 300U);
}

const Refusal kRefusals[] = {
    {R"({"mirostat":1})", "mirostat", "must be 0 or 2"},
    {R"({"mirostat":3})", "mirostat", "from 0 to 2"},
    {R"({"mirostat":2.5})", "mirostat", "must be an integer"},
    {R"({"repeat_last_n":-2})", "repeat_last_n", "from -1"},
    {R"({"dry_allowed_length":-1})", "dry_allowed_length", "from 0"},
    {R"({"dry_penalty_last_n":-2})", "dry_penalty_last_n", "from -1"},
    {R"({"dry_sequence_breakers":"x"})", "dry_sequence_breakers", "array of strings"},
    {R"({"dry_sequence_breakers":[""]})", "dry_sequence_breakers[0]", "1 to 64"},
    {R"({"dry_sequence_breakers":["a",5]})", "dry_sequence_breakers[1]", "not the number 5"},
    {R"({"samplers":"dkyp"})", "samplers", "array of names"},
    {R"({"samplers":["top_k","tail_free"]})", "samplers[1]", "one of penalties, dry, temperature"},
    {R"({"samplers":["top_k",7]})", "samplers[1]", "not the number 7"},
    {R"({"samplers":["typ_p","top_k","typical_p"]})", "samplers[2]", "a second time"},
    {R"({"logit_bias":[[5,1]]})", "logit_bias", "must be an object"},
    {R"({"logit_bias":{"a":1}})", "logit_bias.a", "token id"},
    {R"({"logit_bias":{"":1}})", "logit_bias.", "token id"},
    {R"({"logit_bias":{"-1":1}})", "logit_bias.-1", "token id"},
    {R"({"logit_bias":{"05":1}})", "logit_bias.05", "token id"},
    {R"({"logit_bias":{"4294967301":1}})", "logit_bias.4294967301", "token id"},
    {R"({"logit_bias":{"5":101}})", "logit_bias.5", "from -100 to 100"},
    {R"({"logit_bias":{"5":null}})", "logit_bias.5", "not null"},
    {R"({"allowed_token_ids":[]})", "allowed_token_ids", "empty array"},
    {R"({"allowed_token_ids":[-1]})", "allowed_token_ids[0]", "from 0"},
    {R"({"allowed_token_ids":7})", "allowed_token_ids", "array"},
    {R"({"bad_words":["a",""]})", "bad_words[1]", "1 to 128"},
    {R"({"bad_words":"a"})", "bad_words", "array of strings"},
    {R"({"grammar_lazy":true})", "grammar_lazy", "leave it out"},
};
INSTANTIATE_TEST_SUITE_P(All, SamplingRefusalTest, testing::ValuesIn(kRefusals));

TEST(SamplingFieldsTest, ListsHaveTheirLimits) {
  std::string biases;
  for (int i = 0; i < 1025; ++i) biases += fmt::format("{}\"{}\":1", i == 0 ? "" : ",", i);
  EXPECT_EQ(Refused("{\"logit_bias\":{" + biases + "}}").param, "logit_bias");
  std::string words = "\"a\"";
  for (int i = 0; i < 256; ++i) words += ",\"a\"";
  EXPECT_EQ(Refused("{\"bad_words\":[" + words + "]}").param, "bad_words");
  EXPECT_EQ(Refused("{\"bad_words\":[\"" + std::string(129, 'a') + "\"]}").param, "bad_words[0]");
  EXPECT_LT(Refused("{\"logit_bias\":{\"" + std::string(100'000, 'a') + "\":1}}").message.size(),
            300U);
}

TEST(SamplingFieldsTest, KnowsItsNames) {
  for (const char* name : {"stop", "seed", "logit_bias", "samplers", "min_tokens", "top_k",
                           "ignore_eos", "grammar_lazy", "n_probs"})
    EXPECT_TRUE(IsSamplingField(name)) << name;
  for (const char* name : {"prompt", "n", "max_tokens", "guided_json", "frobnicate", ""})
    EXPECT_FALSE(IsSamplingField(name)) << name;
}

}  // namespace
}  // namespace weft
