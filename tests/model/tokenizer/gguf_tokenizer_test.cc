// Tokenizers from GGUF metadata: the vocabularies of real models, and files that lie.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/formats/gguf.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {
namespace {

const std::string kVocabularies = std::string(WEFT_SHARED_DATA) + "/tokenizers/";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

// The texts of an .inp file: each is ended by the separator.
std::vector<std::string> ReadTexts(const std::string& path) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const std::string content = ReadFile(path);
  std::vector<std::string> texts;
  for (size_t begin = 0, end = 0; (end = content.find(kSeparator, begin)) != std::string::npos;
       begin = end + kSeparator.size()) {
    texts.push_back(content.substr(begin, end - begin));
  }
  return texts;
}

std::vector<std::vector<TokenId>> ReadIds(const std::string& path) {
  std::istringstream content(ReadFile(path));
  std::vector<std::vector<TokenId>> lines;
  for (std::string line; std::getline(content, line);) {
    std::istringstream numbers(line);
    std::vector<TokenId> ids;
    for (TokenId id = 0; numbers >> id;) ids.push_back(id);
    lines.push_back(ids);
  }
  return lines;
}

struct RealVocabulary {
  std::string name;
  int64_t vocab_size;
};
void PrintTo(const RealVocabulary& vocabulary, std::ostream* out) { *out << vocabulary.name; }

class RealVocabularyTest : public testing::TestWithParam<RealVocabulary> {
 protected:
  void SetUp() override {
    const std::string path = kVocabularies + "ggml-vocab-" + GetParam().name + ".gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    Result<GgufFile> file = GgufFile::Open(path);
    ASSERT_TRUE(file) << file.error().message;
    file_ = std::move(*file);
    auto tokenizer = Tokenizer::FromGguf(file_.metadata, GetParam().vocab_size);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = *tokenizer;
    texts_ = ReadTexts(path + ".inp");
    expected_ = ReadIds(path + ".out");
  }

  GgufFile file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
  std::vector<std::vector<TokenId>> expected_;
};

TEST_P(RealVocabularyTest, EncodesEveryCaseAsExpected) {
  ASSERT_GE(texts_.size(), 40u);
  ASSERT_EQ(texts_.size(), expected_.size());
  for (size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_EQ(tokenizer_->Encode(texts_[i], {.add_special_tokens = false}), expected_[i])
        << "case " << i << ": " << texts_[i];
  }
}

TEST_P(RealVocabularyTest, DecodesEveryCaseToItsText) {
  for (const std::string& text : texts_) {
    EXPECT_EQ(tokenizer_->Decode(tokenizer_->Encode(text, {.add_special_tokens = false})), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Gguf, RealVocabularyTest,
                         testing::Values(RealVocabulary{"gpt-2", 50257},
                                         RealVocabulary{"llama-spm", 32000},
                                         RealVocabulary{"phi-3", 32064},
                                         RealVocabulary{"deepseek-coder", 32256},
                                         RealVocabulary{"falcon", 65024}),
                         [](const testing::TestParamInfo<RealVocabulary>& instance) {
                           std::string name = instance.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weft
