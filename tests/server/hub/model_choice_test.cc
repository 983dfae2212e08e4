// Which files of a repository a name means.
#include "server/hub/model_choice.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ModelRoom kPlenty = {.memory = 8000, .weights = 7000};

std::vector<HubFile> Files(const std::vector<std::pair<std::string, uint64_t>>& sizes) {
  std::vector<HubFile> files;
  for (const auto& [path, size] : sizes) files.push_back({.path = path, .size = size});
  return files;
}

std::vector<std::string> PathsOf(const ModelFiles& model) {
  std::vector<std::string> paths;
  for (const HubFile& file : model.files) paths.push_back(file.path);
  return paths;
}

TEST(QuantisationTest, WhatNamesOfFilesSay) {
  struct Case {
    std::string path;
    std::optional<std::string> expected;
  };
  for (const Case& each : {
           Case{"Qwen3-0.6B-Q8_0.gguf", "Q8_0"},
           Case{"qwen2.5-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"},
           Case{"tiny.Q4_K_M.gguf", "Q4_K_M"},
           Case{"Q4_K_M/big-Q4_K_M-00001-of-00003.gguf", "Q4_K_M"},
           Case{"gemma-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"},
           Case{"a-fp16.gguf", "F16"},
           Case{"a-BF16.gguf", "BF16"},
           Case{"gpt-oss-20b-mxfp4.gguf", "MXFP4"},
           Case{"a-IQ2_XXS.gguf", "IQ2_XXS"},
           Case{"ggml-model-q4_0.gguf", "Q4_0"},
           Case{"llama_q4_k_m.gguf", "Q4_K_M"},
           Case{"weft-demo.gguf", std::nullopt},
           Case{"Qwen3-8B.gguf", std::nullopt},
       }) {
    EXPECT_EQ(QuantisationOf(each.path), each.expected) << each.path;
  }
}

TEST(QuantisationTest, WhatWeftLoads) {
  for (const std::string name :
       {"Q4_K_M", "Q8_0", "F16", "MXFP4", "Q3_K_M", "Q2_K", "IQ4_XS", "UD-IQ2_M", "TQ1_0", ""}) {
    EXPECT_TRUE(IsLoadable(name)) << name;
  }
  for (const std::string name : {"Q4_0_4_4", "Q1_0", "NVFP4"}) {
    EXPECT_FALSE(IsLoadable(name)) << name;
  }
}

TEST(ChooseModelTest, TheBestThatFits) {
  const auto files = Files({{"m-Q4_0_4_4.gguf", 200},
                            {"m-Q4_K_M.gguf", 400},
                            {"m-Q4_K_S.gguf", 390},
                            {"m-Q5_K_M.gguf", 500},
                            {"m-Q8_0.gguf", 800},
                            {"mmproj-m-F16.gguf", 50},
                            {"README.md", 1}});
  struct Case {
    uint64_t weights;
    std::string expected;
  };
  for (const Case& each : {Case{7000, "Q4_K_M"}, Case{400, "Q4_K_M"}, Case{399, "Q4_K_S"}}) {
    const auto chosen = ChooseModel({"a/b", ""}, files, {.memory = 9000, .weights = each.weights});
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->label, each.expected);
  }
  const auto chosen = ChooseModel({"a/b", ""}, files, kPlenty).value();
  EXPECT_EQ(chosen.main_path, "m-Q4_K_M.gguf");
  EXPECT_EQ(chosen.reason,
            "Q4_K_M (400 B) of 5 quantisations: the fastest one whose accuracy holds, and it fits "
            "in 7.8 KiB");
  const auto none = ChooseModel({"a/b", ""}, files, {.memory = 300, .weights = 250});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(none.error().message, HasSubstr("Q4_K_S (390 B)"));
  const auto forced =
      ChooseModel({"a/b", ""}, files, {.memory = 300, .weights = 250, .is_forced = true});
  EXPECT_EQ(forced.value().label, "Q4_0_4_4");
}

TEST(ChooseModelTest, ByQuantisationOrFile) {
  const auto files = Files({{"m-Q4_0_4_4.gguf", 300},
                            {"m-Q4_K_M.gguf", 400},
                            {"F16/m-F16-00001-of-00002.gguf", 10},
                            {"F16/m-F16-00002-of-00002.gguf", 20},
                            {"m-Q8_0-00001-of-00002.gguf", 10}});
  const auto choose = [&](const std::string& selector, bool is_forced = false) {
    return ChooseModel({"a/b", selector}, files,
                       {.memory = 8000, .weights = 7000, .is_forced = is_forced});
  };
  EXPECT_EQ(choose("q4_k_m").value().main_path, "m-Q4_K_M.gguf");
  EXPECT_EQ(choose("m-Q4_K_M.gguf").value().label, "Q4_K_M");
  for (const std::string selector : {"F16", "F16/m-F16-00002-of-00002.gguf"}) {
    const ModelFiles set = choose(selector).value();
    EXPECT_EQ(set.main_path, "F16/m-F16-00001-of-00002.gguf");
    EXPECT_THAT(PathsOf(set),
                ElementsAre("F16/m-F16-00001-of-00002.gguf", "F16/m-F16-00002-of-00002.gguf"));
    EXPECT_EQ(set.bytes(), 30u);
  }
  // Half a set is none.
  for (const std::string selector : {"Q8_0", "Q6_K"}) {
    const auto chosen = choose(selector);
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(chosen.error().message,
                HasSubstr("there are F16 (30 B), Q4_0_4_4 (300 B), Q4_K_M (400 B)"));
  }
  EXPECT_EQ(choose("Q4_0_4_4").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(choose("Q4_0_4_4", true).value().label, "Q4_0_4_4");
}

TEST(ChooseModelTest, FewerBitsWhereNothingElseFits) {
  const auto files = Files({{"m-IQ2_M.gguf", 250}, {"m-Q3_K_M.gguf", 300}, {"m-Q4_K_M.gguf", 400}});
  const auto choose = [&](uint64_t weights) {
    return ChooseModel({"a/b", ""}, files, {.memory = 9000, .weights = weights})->label;
  };
  EXPECT_EQ(choose(400), "Q4_K_M");
  EXPECT_EQ(choose(399), "Q3_K_M");
  EXPECT_EQ(choose(299), "IQ2_M");
}

TEST(ChooseModelTest, SeveralFilesOfOneQuantisation) {
  const auto files = Files({{"a-Q8_0.gguf", 1}, {"b-Q8_0.gguf", 1}});
  const auto chosen = ChooseModel({"a/b", "Q8_0"}, files, kPlenty);
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().message, HasSubstr("a-Q8_0.gguf, b-Q8_0.gguf"));
}

TEST(ChooseModelTest, ADirectoryOfSafetensors) {
  const auto files = Files({{"1_Pooling/config.json", 1},
                            {"additional_chat_templates/tool_use.jinja", 1},
                            {"config.json", 1},
                            {"consolidated.safetensors", 100},
                            {"model-00001-of-00002.safetensors", 50},
                            {"model-00002-of-00002.safetensors", 50},
                            {"model.safetensors.index.json", 1},
                            {"onnx/config.json", 1},
                            {"original/a.safetensors", 100},
                            {"pytorch_model.bin", 100},
                            {"tokenizer.json", 1},
                            {"x-Q8_0.gguf", 1}});
  const ModelFiles model = ChooseModel({"a/b", ""}, files, kPlenty).value();
  EXPECT_FALSE(model.is_gguf);
  EXPECT_THAT(PathsOf(model),
              ElementsAre("1_Pooling/config.json", "additional_chat_templates/tool_use.jinja",
                          "config.json", "model-00001-of-00002.safetensors",
                          "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                          "tokenizer.json"));
  const auto small = ChooseModel({"a/b", ""}, files, {.memory = 99, .weights = 99});
  EXPECT_EQ(small.error().code, ErrorCode::kResourceExhausted);
  const auto half = Files({{"config.json", 1}, {"model-00001-of-00002.safetensors", 50}});
  EXPECT_EQ(ChooseModel({"a/b", ""}, half, kPlenty).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace weft
