// Directories of sentence-transformers: the fixture of BERT with modules beside it.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "model/kernels/kernels.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/model_fixture.h"
#include "tests/model/parity_fixture.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr int64_t kHidden = 24;  // of the fixture
constexpr int64_t kSize = 3;
constexpr const char* kModules = R"([
  {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
  {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}
])";
constexpr const char* kDense = R"({"in_features": 24, "out_features": 3, "bias": true,
  "activation_function": "torch.nn.modules.activation.Tanh"})";

float WeightAt(int64_t row, int64_t column) {
  return static_cast<float>((row * 7 + column * 5) % 11 - 5) / 16;
}
float BiasAt(int64_t row) { return static_cast<float>(row) / 4; }

class SentenceModulesTest : public testing::Test {
 protected:
  SentenceModulesTest() {
    std::filesystem::copy(ParityPath("bert", "hf"), model_);
    for (const char* folder : {"/1_Pooling", "/2_Dense"}) {
      std::filesystem::create_directory(model_ + folder);
    }
    Write("modules.json", kModules);
    Write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
    Write("2_Dense/config.json", kDense);
    WriteDense();
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(model_ + "/" + name, std::ios::binary) << text;
  }
  void WriteDense() const {
    std::vector<float> numbers;
    for (int64_t row = 0; row < kSize; ++row) numbers.push_back(BiasAt(row));
    for (int64_t row = 0; row < kSize; ++row) {
      for (int64_t column = 0; column < kHidden; ++column) numbers.push_back(WeightAt(row, column));
    }
    const std::string header =
        R"({"linear.bias":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},)"
        R"("linear.weight":{"dtype":"F32","shape":[3,24],"data_offsets":[12,300]}})";
    const auto length = static_cast<uint64_t>(header.size());
    std::ofstream file(model_ + "/2_Dense/model.safetensors", std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file << header;
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  }
  std::string ErrorOfLoading() const {
    const auto checkpoint = LoadCheckpoint(model_);
    return checkpoint ? "" : checkpoint.error().message;
  }

  const TemporaryDirectory directory_;
  const std::string model_ = directory_.path() + "/model";
};

TEST_F(SentenceModulesTest, DenseLayersMakeTheEmbedding) {
  std::vector<float> pooled;
  for (int64_t i = 0; i < kHidden; ++i) pooled.push_back(std::sin(static_cast<float>(i)) * 2);
  std::vector<float> first;
  for (const KernelTable* kernels : AvailableTables(Arithmetic::kBF16, KvType::kBF16)) {
    RunnableModel model(model_, {.adjust_kernels = [&](KernelTable& table) { table = *kernels; }});
    EXPECT_EQ(model.spec().pooling, Pooling::kMax);
    EXPECT_EQ(model.spec().embedding_size(), kSize);
    const std::vector<float> embedding = model.FromPooled(PooledOutput::kEmbedding, pooled);
    ASSERT_EQ(std::ssize(embedding), kSize);
    for (int64_t row = 0; row < kSize; ++row) {
      double sum = BiasAt(row);
      for (int64_t i = 0; i < kHidden; ++i) {
        sum += double{WeightAt(row, i)} * double{pooled[static_cast<size_t>(i)]};
      }
      EXPECT_NEAR(embedding[static_cast<size_t>(row)], std::tanh(sum), 1e-6) << kernels->name;
    }
    if (first.empty()) first = embedding;
    EXPECT_EQ(embedding, first) << kernels->name;
  }
}

TEST_F(SentenceModulesTest, WithoutModulesThereIsThePoolingAlone) {
  std::filesystem::remove(model_ + "/modules.json");
  const auto checkpoint = LoadCheckpoint(model_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->spec.pooling, Pooling::kMax);
  EXPECT_EQ(checkpoint->spec.embedding_size(), kHidden);
}

TEST_F(SentenceModulesTest, ThePoolingLiesWhereModulesSay) {
  std::filesystem::rename(model_ + "/1_Pooling", model_ + "/pool");
  std::filesystem::remove_all(model_ + "/2_Dense");
  Write("modules.json", R"([{"path": "", "type": "a.Transformer"},
                            {"path": "pool", "type": "a.b.Pooling"}])");
  const auto checkpoint = LoadCheckpoint(model_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->spec.pooling, Pooling::kMax);
}

TEST_F(SentenceModulesTest, DenseLayersThatDoNotFitAreRefused) {
  const std::string place = model_ + "/2_Dense/config.json: ";
  Write("2_Dense/config.json", R"({"in_features": 25, "out_features": 3})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr(place + "in_features is 25"));
  Write("2_Dense/config.json", R"({"in_features": 24, "out_features": 0})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr(place + "out_features is 0"));
  Write("2_Dense/config.json", R"({"in_features": 24, "out_features": 4})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("2_Dense/linear.weight"));
  Write("2_Dense/config.json",
        R"({"in_features": 24, "out_features": 3, "activation_function": "a.Softmax"})");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr(place + "activation_function is 'a.Softmax'"));
  Write("2_Dense/config.json", kDense);
  std::filesystem::remove(model_ + "/2_Dense/model.safetensors");
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("2_Dense"));
}

TEST_F(SentenceModulesTest, ModulesThatAreNotComputedAreRefused) {
  const std::string place = model_ + "/modules.json: ";
  const auto error_of = [&](const std::string& modules) {
    Write("modules.json", modules);
    return ErrorOfLoading();
  };
  EXPECT_EQ(error_of("{}"), place + "not a JSON array of at most 64 modules");
  EXPECT_EQ(error_of("[{\"path\": \"\"}]"), place + "module 0 has no string type");
  EXPECT_EQ(error_of("[7]"), place + "module 0 has no string path");
  EXPECT_EQ(error_of(R"([{"path": "", "type": "a.CNN"}])"),
            place + "the module 'a.CNN' is not supported");
  EXPECT_EQ(error_of(R"([{"path": "../x", "type": "a.Dense"}])"),
            place + "module 0 has the path '../x', expected a folder beside it");
  EXPECT_EQ(error_of(R"([{"path": "0_Transformer", "type": "a.Transformer"}])"),
            place + "the transformer lies in '0_Transformer', expected it beside modules.json");
  EXPECT_EQ(
      error_of(R"([{"path": "3", "type": "a.Normalize"}, {"path": "2_Dense", "type": "a.Dense"}])"),
      place + "'a.Dense' comes too late, expected it before the normalisation");
}

// Checkpoints with the head of their training are encoders like others.
TEST_F(SentenceModulesTest, AHeadThatEmbeddingsDoNotNeedIsLeftOut) {
  std::ifstream file(model_ + "/config.json");
  std::string config((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t at = config.find("BertModel");
  ASSERT_NE(at, std::string::npos);
  for (const std::string name : {"BertForMaskedLM", "BertForPreTraining"}) {
    std::string changed = config;
    Write("config.json", changed.replace(at, 9, name));
    EXPECT_EQ(ErrorOfLoading(), "") << name;
  }
  Write("config.json", config.replace(at, 9, "BertForNextSentencePrediction"));
  EXPECT_THAT(ErrorOfLoading(), HasSubstr("'BertForNextSentencePrediction' is not supported"));
}

// SPLADE: the head for masked tokens counts where modules ask for it, or where there are none and
// it is there.
TEST(SparseModulesTest, TheHeadForMaskedTokensMakesSparseVectors) {
  constexpr const char* kSparse = R"([
    {"path": "", "type": "sentence_transformers.sparse_encoder.models.MLMTransformer"},
    {"path": "1_SpladePooling",
     "type": "sentence_transformers.sparse_encoder.models.SpladePooling"}])";
  const TemporaryDirectory directory;
  const std::string model = directory.path() + "/model";
  std::filesystem::copy(ParityPath("bert_masked", "hf"), model);
  std::filesystem::create_directory(model + "/1_SpladePooling");
  const std::string config = model + "/1_SpladePooling/config.json";
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  };
  const auto log_count = [&] {
    const auto checkpoint = LoadCheckpoint(model);
    EXPECT_TRUE(checkpoint) << checkpoint.error().message;
    return checkpoint && checkpoint->spec.sparse ? checkpoint->spec.sparse->log_count : 0;
  };
  EXPECT_EQ(log_count(), 1);
  write(model + "/modules.json", R"([{"path": "", "type": "a.Transformer"}])");
  EXPECT_EQ(log_count(), 0);
  write(model + "/modules.json", kSparse);
  write(config, R"({"pooling_strategy": "max", "activation_function": "relu"})");
  EXPECT_EQ(log_count(), 1);
  write(config, R"({"pooling_strategy": "max", "activation_function": "log1p_relu"})");
  EXPECT_EQ(log_count(), 2);
  write(config, R"({"pooling_strategy": "sum"})");
  EXPECT_THAT(LoadCheckpoint(model).error().message,
              HasSubstr(config + ": pooling_strategy is 'sum'"));
  write(config, R"({"activation_function": "tanh"})");
  EXPECT_THAT(LoadCheckpoint(model).error().message,
              HasSubstr("activation_function is 'tanh', expected relu or log1p_relu"));
  write(config, "{}");
  for (const char* gone : {"model.safetensors", "config.json"}) {
    std::filesystem::copy_file(ParityPath("bert", "hf") + "/" + gone, model + "/" + gone,
                               std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_THAT(LoadCheckpoint(model).error().message,
              HasSubstr("tensor cls.predictions.transform.dense.weight is missing"));
}

}  // namespace
}  // namespace weft
