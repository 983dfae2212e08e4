#include "proto/llama_server/llama_request.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

LlamaRequest LlamaOk(std::string_view fields) {
  const std::string body =
      R"({"prompt":"a")" + (fields.empty() ? "" : "," + std::string(fields)) + "}";
  ApiResult<LlamaRequest> request = ParseLlamaCompletion(body);
  EXPECT_TRUE(request) << body << (request ? "" : request.error().message);
  return request ? *std::move(request) : LlamaRequest();
}

std::string ParamOf(const ApiResult<LlamaRequest>& request) {
  EXPECT_FALSE(request);
  return request ? "" : request.error().param;
}

TEST(LlamaRequestTest, PromptsMixTextsAndTokens) {
  const LlamaRequest one = *ParseLlamaCompletion(R"({"prompt":[1,2,"b",3]})");
  EXPECT_FALSE(one.prompt.is_list);
  const auto& parts = std::get<MixedPrompt>(one.prompt.prompts.at(0)).parts;
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(std::get<int32_t>(parts[1]), 2);
  EXPECT_EQ(std::get<std::string>(parts[2]), "b");
  const LlamaRequest several =
      *ParseLlamaCompletion(R"({"prompt":["a",[1,2],["b",3],{"prompt_string":"c"}]})");
  ASSERT_EQ(several.prompt.prompts.size(), 4U);
  EXPECT_EQ(std::get<std::string>(several.prompt.prompts[0]), "a");
  EXPECT_THAT(std::get<std::vector<int32_t>>(several.prompt.prompts[1]), ElementsAre(1, 2));
  EXPECT_EQ(std::get<MixedPrompt>(several.prompt.prompts[2]).parts.size(), 2U);
  EXPECT_EQ(std::get<std::string>(several.prompt.prompts[3]), "c");
}

TEST(LlamaRequestTest, WhatIsNoPromptIsRefused) {
  for (const auto& [body, param] : std::vector<std::pair<std::string, std::string>>{
           {R"({})", "prompt"},
           {R"({"prompt":[]})", "prompt"},
           {R"({"prompt":[1,true]})", "prompt[1]"},
           {R"({"prompt":["a",{}]})", "prompt[1].prompt_string"},
           {R"({"prompt":{"prompt_string":"a","multimodal_data":["b"]}})",
            "prompt.multimodal_data"},
           {R"({"prompt":{"content":[{"type":"image_url"}]}})", "prompt.content[0].type"}}) {
    EXPECT_EQ(ParamOf(ParseLlamaCompletion(body)), param) << body;
  }
}

TEST(LlamaRequestTest, NamesAreMapped) {
  const LlamaRequest request =
      LlamaOk(R"("n_predict":5,"typ_p":0.5,"seed":7,"samplers":["top_k","infill","top_p"],)"
              R"("id_slot":0,"n_indent":4,"t_max_predict_ms":1,"unknown":1)");
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.sampling.typical_p, 0.5);
  EXPECT_EQ(request.sampling.seed, 7U);
  EXPECT_THAT(*request.sampling.samplers, ElementsAre("top_k", "top_p"));
  EXPECT_EQ(request.unknown_field_count, 1);
  EXPECT_EQ(LlamaOk(R"("max_tokens":6)").max_tokens, 6);
  for (const char* const none : {R"("n_predict":-1)", R"("n_predict":-2)", ""}) {
    EXPECT_EQ(LlamaOk(none).max_tokens, std::nullopt) << none;
  }
  for (const char* const drawn : {R"("seed":-1)", R"("seed":4294967295)"}) {
    EXPECT_EQ(LlamaOk(drawn).sampling.seed, std::nullopt) << drawn;
  }
}

TEST(LlamaRequestTest, BiasesAreOfTokensAndOfTexts) {
  const LlamaRequest pairs = LlamaOk(R"("logit_bias":[[5,-1.5],["ab",false],[6,1000]])");
  EXPECT_THAT(pairs.token_biases, ElementsAre(Pair(5, -1.5), Pair(6, 100.0)));
  EXPECT_THAT(pairs.text_biases, ElementsAre(Pair("ab", kNeverBias)));
  EXPECT_THAT(pairs.sampling.logit_bias, IsEmpty());
  const LlamaRequest object = LlamaOk(R"("logit_bias":{"5":2,"ab":-3})");
  EXPECT_THAT(object.token_biases, ElementsAre(Pair(5, 2.0)));
  EXPECT_THAT(object.text_biases, ElementsAre(Pair("ab", -3.0)));
  EXPECT_EQ(ParamOf(ParseLlamaCompletion(R"({"prompt":"a","logit_bias":[[1]]})")), "logit_bias[0]");
  EXPECT_EQ(ParamOf(ParseLlamaCompletion(R"({"prompt":"a","logit_bias":[[1,"x"]]})")),
            "logit_bias[0][1]");
}

TEST(LlamaRequestTest, WhatIsNotOfferedIsRefusedByName) {
  for (const char* const field : {"post_sampling_probs", "n_cmpl", "min_keep", "lora"}) {
    const std::string value = field == std::string("lora") ? R"([{"id":0}])" : "2";
    const ApiResult<LlamaRequest> request =
        ParseLlamaCompletion(R"({"prompt":"a",")" + std::string(field) + "\":" + value + "}");
    EXPECT_EQ(ParamOf(request), field);
  }
}

TEST(LlamaRequestTest, InfillHasItsOwnFields) {
  const LlamaRequest request = *ParseLlamaInfill(
      R"({"input_prefix":"a","input_suffix":"b","prompt":"c","input_extra":[{"text":"t"}]})");
  EXPECT_EQ(request.infill->before, "a");
  EXPECT_EQ(request.infill->after, "b");
  EXPECT_EQ(request.infill->files.at(0).name, "tmp");
  EXPECT_EQ(std::get<std::string>(request.prompt.prompts.at(0)), "c");
  for (const auto& [fields, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("input_prefix":"a")", "input_suffix"},
           {R"("input_suffix":"a")", "input_prefix"},
           {R"("input_prefix":"a","input_suffix":"b","input_extra":[{}])", "input_extra[0].text"},
           {R"("input_prefix":"a","input_suffix":"b","input_extra":[{"text":"","filename":1}])",
            "input_extra[0].filename"}}) {
    EXPECT_EQ(ParamOf(ParseLlamaInfill("{" + fields + "}")), param);
  }
}

TEST(LlamaRequestTest, TheShapeSaysWhoseABodyIs) {
  for (const char* const body : {R"({"prompt":"a"})", R"({"prompt":"a","n_predict":1,"model":"m"})",
                                 R"({"prompt":"a","stream":true,"temperature":0})"}) {
    EXPECT_TRUE(IsLlamaCompletion(body)) << body;
  }
  for (const char* const body :
       {R"({"prompt":"a","model":"m"})", R"({"prompt":"a","max_tokens":1})", "[]", "{"}) {
    EXPECT_FALSE(IsLlamaCompletion(body)) << body;
  }
  EXPECT_TRUE(IsLlamaEmbedding(R"({"input":"a"})"));
  EXPECT_TRUE(IsLlamaEmbedding(R"({"content":"a","model":"m"})"));
  EXPECT_FALSE(IsLlamaEmbedding(R"({"input":"a","model":"m"})"));
}

}  // namespace
}  // namespace weft
