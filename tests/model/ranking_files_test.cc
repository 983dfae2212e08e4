// Rankers as their files tell them: the prompt, the answers, and whether a score is a probability.
#include "model/ranking_files.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "model/inspect.h"
#include "tests/model/encoder_fixture.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

constexpr const char* kSystem =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n";
constexpr const char* kInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";
// As sentence-transformers publishes it, with the fixtures' control tokens.
constexpr const char* kTemplate =
    R"({% set system = messages | selectattr("role", "eq", "system") | map(attribute="content") | list -%}
<|begin|>judge<|end|>by: {{ system[0] if system else "the usual" }}
{% for message in messages if message.role != "system" %}
{{ message.role }}={{ message.content }}
{%- if not loop.last %}{{ "\n" }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|end|>answer:{% endif %})";

// A copy of a fixture's directory, with other files beside it.
class RankingFilesTest : public testing::Test {
 protected:
  void Copy(const std::string& fixture) const {
    std::filesystem::remove_all(model_);
    std::filesystem::copy(ParityPath(fixture, "hf"), model_);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(model_ + "/" + name).parent_path());
    std::ofstream(model_ + "/" + name, std::ios::binary) << text;
  }
  // Of config.json, before its first member.
  void AddToConfig(const std::string& members) const {
    std::ifstream file(model_ + "/config.json");
    std::string config((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Write("config.json", config.insert(config.find('{') + 1, members + ","));
  }
  std::string ErrorOfLoading() const {
    const auto checkpoint = LoadCheckpoint(model_);
    return checkpoint ? "" : checkpoint.error().message;
  }

  const TemporaryDirectory directory_;
  const std::string model_ = directory_.path() + "/model";
};

// llama.cpp's form: a classifier of two labels, whose prompt is a template.
TEST_F(RankingFilesTest, Qwen3RerankerInGguf) {
  RunnableModel model(ParityPath("qwen3_reranker", "model.gguf"), {.arithmetic = Arithmetic::kF32});
  const Checkpoint& checkpoint = model.checkpoint();
  ASSERT_TRUE(checkpoint.spec.classifier && checkpoint.ranking && checkpoint.ranking->prompt);
  EXPECT_FALSE(checkpoint.spec.generates());
  EXPECT_EQ(checkpoint.spec.classifier->labels, (std::vector<std::string>{"yes", "no"}));
  EXPECT_EQ(checkpoint.ranking->output, PooledOutput::kLabels);
  EXPECT_TRUE(checkpoint.ranking->is_probability);
  const RankingPrompt& prompt = *checkpoint.ranking->prompt;
  // The fixture's vocabulary has no control token of it, so that all is in the body.
  EXPECT_EQ(prompt.prefix + prompt.body + prompt.suffix,
            std::string(kSystem) +
                "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
                "<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(prompt.instruction, kInstruction);
  const std::vector<Text> texts = ReadTexts("qwen3_reranker");
  EXPECT_LT(RelativeError(Encode(model, texts).back(), texts.back().hidden), 1e-4);
  EXPECT_LT(RelativeError(LabelLogits(model, texts), ReadExpected("qwen3_reranker", "logits")),
            1e-4);
}

TEST_F(RankingFilesTest, Qwen3RerankerInSafetensors) {
  RunnableModel model(ParityPath("qwen3_reranker", "hf"), {.arithmetic = Arithmetic::kF32});
  EXPECT_TRUE(model.spec().makes(PooledOutput::kTokenLogits));
  EXPECT_FALSE(model.checkpoint().ranking);  // its files are those of any decoder
  const auto expected = ReadExpected("qwen3_reranker", "logits");
  const std::vector<Text> texts = ReadTexts("qwen3_reranker");
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<float> last = model.RunSequence(texts[i].tokens).back();
    EXPECT_LT(RelativeError({{last[5], last[6]}}, {expected[i]}), 1e-4) << i;
  }
}

TEST_F(RankingFilesTest, RankersThatWereTrainedAsDecodersAreKnownByArchitecture) {
  const auto rank = [](const std::string& fixture) {
    const Checkpoint checkpoint = LoadOrThrow(ParityPath(fixture, "hf"));
    return TrainedRanking(checkpoint.spec, *checkpoint.tokenizer);
  };
  EXPECT_THAT(rank("llama3").error().message, HasSubstr("llama is not known to rank: qwen3"));
  EXPECT_THAT(rank("qwen3").error().message, HasSubstr("the vocabulary has no token 'yes'"));
  const auto of_labels = rank("qwen3_classifier");
  ASSERT_TRUE(of_labels);
  EXPECT_EQ(of_labels->output, PooledOutput::kLabels);
  EXPECT_EQ(of_labels->prompt->prefix, kSystem);
  EXPECT_EQ(of_labels->prompt->instruction, kInstruction);
  // The operator's word counts where files say nothing of a prompt.
  const auto rank_for = [](const std::string& fixture, std::string_view task) {
    return RankingFor(LoadOrThrow(ParityPath(fixture, "hf")), task);
  };
  EXPECT_FALSE(rank_for("qwen3_classifier", "")->value().prompt);
  EXPECT_TRUE(rank_for("qwen3_classifier", "rerank")->value().prompt);
  EXPECT_FALSE(rank_for("gte_classifier", "rerank")->value().prompt);
  EXPECT_FALSE(rank_for("qwen2", "").value());
  EXPECT_THAT(rank_for("qwen3", "rerank").error().message, HasSubstr("--task rerank: the vocab"));

  const Checkpoint mxbai = LoadOrThrow(ParityPath("qwen2", "hf"));
  const auto ranking = TrainedRanking(mxbai.spec, *mxbai.tokenizer);
  ASSERT_TRUE(ranking) << ranking.error().message;
  EXPECT_EQ(ranking->output, PooledOutput::kTokenLogits);
  EXPECT_EQ(mxbai.tokenizer->Decode(ranking->tokens), "10");
  // As the package mxbai-rerank has it, each part is encoded by itself.
  const auto joined = [&](const std::vector<std::string>& parts) {
    Ids all;
    for (const std::string& part : parts) {
      const Ids ids = mxbai.tokenizer->Encode(part, {.add_special_tokens = false}).value();
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  };
  const RankingPrompt& prompt = *ranking->prompt;
  const auto encode = [&](const RankingTexts& texts, const Truncation& truncation) {
    return EncodeRanking(*ranking, *mxbai.tokenizer, texts, truncation).value();
  };
  const Ids whole = encode({.query = "who the", .document = "me the"}, {}).ids;
  EXPECT_EQ(whole,
            joined({prompt.prefix, "query: who the", "\n", "document: me the", prompt.suffix}));
  EXPECT_EQ(encode({.query = "who", .document = "me", .instruction = "judge"}, {}).ids,
            joined({prompt.prefix, "instruction: judge\nquery: who", "\n", "document: me",
                    prompt.suffix}));
  const EncodedText cut =
      encode({.query = "who the", .document = "me the"}, {.max_tokens = std::ssize(whole) - 3});
  EXPECT_EQ(cut.dropped_count, 3);
  const Ids suffix = joined({prompt.suffix});
  Ids kept(whole.begin(), whole.end() - 3 - std::ssize(suffix));
  kept.insert(kept.end(), suffix.begin(), suffix.end());
  EXPECT_EQ(cut.ids, kept);
}

// sentence-transformers: a module names the answers, and a chat template has both texts.
TEST_F(RankingFilesTest, LogitScoreModules) {
  Copy("qwen3");
  Write("modules.json", R"([{"path": "", "type": "a.Transformer"},
                            {"path": "1_LogitScore", "type": "a.b.LogitScore"}])");
  Write("1_LogitScore/config.json",
        R"({"true_token_id": 7, "false_token_id": 3, "module_input_name": "causal_logits"})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("LogitScore module needs a chat template"));
  Write("chat_template.jinja", kTemplate);
  const Checkpoint checkpoint = LoadOrThrow(model_);
  ASSERT_TRUE(checkpoint.ranking && checkpoint.ranking->prompt);
  EXPECT_EQ(checkpoint.ranking->output, PooledOutput::kTokenLogits);
  EXPECT_EQ(checkpoint.ranking->tokens, (Ids{7, 3}));
  EXPECT_TRUE(checkpoint.ranking->is_probability);
  const RankingPrompt& prompt = *checkpoint.ranking->prompt;
  EXPECT_EQ(prompt.prefix, "<|begin|>judge<|end|>");
  EXPECT_EQ(prompt.body, "by: {instruction}\nquery={query}\ndocument={document}");
  EXPECT_EQ(prompt.suffix, "<|end|>answer:");
  EXPECT_EQ(prompt.instruction, "the usual");

  Write("config_sentence_transformers.json",
        R"({"prompts": {"a": "wisely"}, "default_prompt_name": "a",
            "activation_fn": "torch.nn.modules.linear.Identity"})");
  Write("1_LogitScore/config.json", R"({"true_token_id": 7, "false_token_id": null})");
  const Checkpoint other = LoadOrThrow(model_);
  EXPECT_EQ(other.ranking->prompt->instruction, "wisely");
  EXPECT_EQ(other.ranking->tokens, (Ids{7}));
  EXPECT_FALSE(other.ranking->is_probability);

  Write("1_LogitScore/config.json", R"({"true_token_id": 264})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("1_LogitScore/config.json: true_token_id is 264"));
}

TEST_F(RankingFilesTest, AnIdentityLeavesTheLogit) {
  const auto is_probability = [&] { return LoadOrThrow(model_).ranking.value().is_probability; };
  const auto copy_with = [&](const std::string& members) {
    Copy("gte_classifier");  // one label
    AddToConfig(members);
  };
  Copy("gte_classifier");
  EXPECT_TRUE(is_probability());
  copy_with(R"("sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity")");
  EXPECT_FALSE(is_probability());
  copy_with(R"("sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"})");
  EXPECT_FALSE(is_probability());
  copy_with(R"("sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"})");
  EXPECT_THAT(ErrorOfLoading(),
              HasSubstr("sentence_transformers.activation_fn is "
                        "'torch.nn.modules.activation.Tanh', expected Identity or Sigmoid"));
  // Three labels are no ranking.
  Copy("llama_classifier");
  EXPECT_FALSE(LoadOrThrow(model_).ranking);
}

// A decoder that makes embeddings, like Qwen3-Embedding and E5-Mistral: with a head or without.
TEST_F(RankingFilesTest, DecodersMakeEmbeddings) {
  Copy("qwen3");
  Write("modules.json", R"([{"path": "", "type": "a.Transformer"},
                            {"path": "1_Pooling", "type": "a.Pooling"},
                            {"path": "2_Normalize", "type": "a.Normalize"}])");
  Write("1_Pooling/config.json",
        R"({"pooling_mode_mean_tokens": false, "pooling_mode_lasttoken": true})");
  Write("config_sentence_transformers.json",
        R"({"prompts": {"query": "Instruct: find\nQuery:", "document": ""},
            "default_prompt_name": null})");
  // An end token, whose hidden state is what is pooled.
  std::ifstream vocabulary(model_ + "/tokenizer.json");
  auto tokenizer = nlohmann::json::parse(vocabulary);
  tokenizer["post_processor"] = nlohmann::json::parse(R"({"type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "<|end|>", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [257], "tokens": ["<|end|>"]}}})");
  Write("tokenizer.json", tokenizer.dump());
  const Checkpoint checkpoint = LoadOrThrow(model_);
  EXPECT_EQ(checkpoint.tokenizer->Encode("", {}).value(), (Ids{257}));
  EXPECT_EQ(checkpoint.spec.pooling, Pooling::kLast);
  EXPECT_TRUE(checkpoint.spec.generates());
  EXPECT_THAT(DescribeCheckpoint(checkpoint, {}), HasSubstr("document '', query 'Instruct: find"));
  EXPECT_EQ(checkpoint.prompts.Find("query").value(), "Instruct: find\nQuery:");
  EXPECT_EQ(checkpoint.prompts.Find("document").value(), "");
  EXPECT_EQ(checkpoint.prompts.Find("").value(), "");
  EXPECT_EQ(checkpoint.prompts.Find("code").error().message,
            "there is no prompt 'code': the model's files have 'document', 'query'");
  Write("config_sentence_transformers.json",
        R"({"prompts": {"query": "q: "}, "default_prompt_name": "query"})");
  EXPECT_EQ(LoadOrThrow(model_).prompts.Find("").value(), "q: ");
  Write("config_sentence_transformers.json", R"({"default_prompt_name": "query"})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("default_prompt_name is 'query', which is no prompt"));
  Write("config_sentence_transformers.json", R"({"prompts": {"query": 3}})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("prompts.query is not a string"));

  Copy("qwen3_reranker");
  std::ifstream file(model_ + "/config.json");
  std::string config((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string name = "Qwen3ForCausalLM";
  Write("config.json", config.replace(config.find(name), name.size(), "Qwen3Model"));
  const Checkpoint headless = LoadOrThrow(model_);
  EXPECT_FALSE(headless.spec.has_head());
  EXPECT_TRUE(headless.spec.makes(PooledOutput::kEmbedding));
  EXPECT_EQ(headless.prompts.Find("query").error().message,
            "there is no prompt 'query': the model's files name none");
}

}  // namespace
}  // namespace weft
