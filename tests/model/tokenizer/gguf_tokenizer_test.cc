// Tokenizers from GGUF metadata: the vocabularies of real models, and files that lie.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/formats/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/data_paths.h"
#include "tests/model/tokenizer/hand_made_gguf.h"
#include "tests/read_file.h"

namespace weft {
namespace {

const std::string kVocabularies = SharedDataPath("tokenizers/");

// The texts of an .inp file, parted by the separator.
std::vector<std::string> ReadTexts(const std::string& path) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const std::string content = ReadFile(path);
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find(kSeparator, begin), content.size());
    texts.push_back(content.substr(begin, end - begin));
    begin = end + kSeparator.size();
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
  bool is_lossless = true;  // whether texts come back as they were
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
    EXPECT_EQ(tokenizer_->Encode(texts_[i], {.add_special_tokens = false}).value(), expected_[i])
        << "case " << i << ": " << texts_[i];
  }
}

TEST_P(RealVocabularyTest, DecodesEveryCaseToItsText) {
  if (!GetParam().is_lossless) GTEST_SKIP() << "its normalizer drops what texts have";
  for (const std::string& text : texts_) {
    EXPECT_EQ(tokenizer_->Decode(tokenizer_->Encode(text, {.add_special_tokens = false}).value()),
              text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gguf, RealVocabularyTest,
    testing::Values(RealVocabulary{"gpt-2", 50257}, RealVocabulary{"llama-spm", 32000},
                    RealVocabulary{"phi-3", 32064}, RealVocabulary{"deepseek-coder", 32256},
                    RealVocabulary{"falcon", 65024},
                    // llama.cpp has these in its models/.
                    RealVocabulary{"bert-bge", 30522, false}, RealVocabulary{"command-r", 256000},
                    RealVocabulary{"deepseek-llm", 102400}, RealVocabulary{"gemma-4", 262144},
                    RealVocabulary{"llama-bpe", 128256}, RealVocabulary{"mpt", 50432},
                    RealVocabulary{"qwen2", 152064}, RealVocabulary{"qwen35", 248320},
                    RealVocabulary{"refact", 49216}, RealVocabulary{"starcoder", 49152}),
    [](const testing::TestParamInfo<RealVocabulary>& instance) {
      std::string name = instance.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(StoriesTest, PromptsHaveTheExpectedIds) {
  const std::string path = SharedDataPath("models/stories260K");
  if (!std::filesystem::exists(path + ".gguf")) GTEST_SKIP() << path << ".gguf is absent";
  const Result<GgufFile> file = GgufFile::Open(path + ".gguf");
  ASSERT_TRUE(file) << file.error().message;
  const auto tokenizer = Tokenizer::FromGguf(file->metadata, 512);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto expected = nlohmann::json::parse(ReadFile(path + ".expected.json"));
  for (const auto& known : expected["cases"]) {
    EXPECT_EQ((*tokenizer)->Encode(known["prompt"].get<std::string>(), {}).value(),
              known["prompt_tokens"].get<std::vector<TokenId>>());
    EXPECT_EQ((*tokenizer)->Decode(known["prompt_tokens"].get<std::vector<TokenId>>()),
              known["prompt"].get<std::string>());
  }
  EXPECT_EQ((*tokenizer)->bos(), 1);
  EXPECT_EQ((*tokenizer)->end_tokens(), std::vector<TokenId>{2});
  EXPECT_TRUE((*tokenizer)->adds_bos());
  EXPECT_FALSE((*tokenizer)->adds_eos());
}

struct ByteLevelGguf : HandMadeGguf {
  ByteLevelGguf()
      : HandMadeGguf({"a", "b", "ab", "Ġ", "Ġab", "<|end|>", "<|x|>", "\u00C3", "\u00A9"},
                     {1, 1, 1, 1, 1, 4, 3, 1, 1}) {
    values["tokenizer.ggml.model"] = std::string_view("gpt2");
    values["tokenizer.ggml.pre"] = std::string_view("gpt-2");
    values["tokenizer.ggml.merges"] = std::vector<std::string_view>{"a b", "Ġ ab"};
  }
};

struct SentencePieceGguf : HandMadeGguf {
  SentencePieceGguf()
      : HandMadeGguf({"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁", "a", "▁a", "aa", "é"},
                     {2, 3, 3, 6, 6, 1, 1, 1, 1, 5}) {
    values["tokenizer.ggml.model"] = std::string_view("llama");
    values["tokenizer.ggml.scores"] = std::vector<double>{0, 0, 0, 0, 0, -9, -9, -2, -1, -9};
  }
};

TEST(GgufTokenizerTest, ByteLevelMetadataIsUnderstood) {
  ByteLevelGguf gguf;
  gguf.values["tokenizer.ggml.bos_token_id"] = int64_t{6};
  gguf.values["tokenizer.ggml.eos_token_id"] = int64_t{0xFFFFFFFF};
  gguf.values["tokenizer.ggml.padding_token_id"] = int64_t{-1};
  gguf.values["tokenizer.ggml.add_bos_token"] = true;
  const auto loaded = gguf.Load(12);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(tokenizer.Encode("ab ab<|x|>é", {}).value(), (std::vector<TokenId>{6, 2, 4, 6, 7, 8}));
  // The byte that no token spells is dropped.
  EXPECT_EQ(tokenizer.Encode("abz<|end|>", {.add_special_tokens = false}).value(),
            (std::vector<TokenId>{2, 5}));
  EXPECT_EQ(tokenizer.bos(), 6);
  EXPECT_EQ(tokenizer.end_tokens(), std::vector<TokenId>{5});  // by its text
  EXPECT_TRUE(tokenizer.IsControl(5));
  EXPECT_TRUE(tokenizer.IsControl(6));
  EXPECT_FALSE(tokenizer.IsControl(4));
  EXPECT_EQ(tokenizer.TokenBytes(4), " ab");
  EXPECT_EQ(tokenizer.TokenBytes(6), "");
  EXPECT_EQ(tokenizer.TokenText(4), "Ġab");
  EXPECT_EQ(tokenizer.TokenOf("Ġab"), 4);
  EXPECT_EQ(tokenizer.TokenOf(" ab"), std::nullopt);
  EXPECT_EQ(tokenizer.description(), "byte-level BPE (gpt-2), 9 tokens");
  // Ids of the padding, and ids that are none at all.
  EXPECT_EQ(tokenizer.vocab_size(), 12);
  for (const TokenId id : {11, 12, -1}) {
    EXPECT_EQ(tokenizer.TokenBytes(id), "");
    EXPECT_EQ(tokenizer.TokenText(id), "");
    EXPECT_FALSE(tokenizer.IsControl(id));
  }
  EXPECT_EQ(tokenizer.Decode({6, 2, 11, 4, 7, 8}), "ab abé");
  EXPECT_EQ(tokenizer.Decode({6, 2, 4}, true), "<|x|>ab ab");
}

TEST(GgufTokenizerTest, MergesThatMakeNoTokenAreIgnored) {
  ByteLevelGguf gguf;
  gguf.values["tokenizer.ggml.merges"] = std::vector<std::string_view>{"b a", "a b", "z z"};
  const auto tokenizer = gguf.Load(9);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("bab", {}).value(), (std::vector<TokenId>{1, 2}));
}

TEST(GgufTokenizerTest, ControlTokensAreTextInUntrustedText) {
  const ByteLevelGguf gguf;
  const auto tokenizer = gguf.Load(9);
  ASSERT_TRUE(tokenizer);
  const EncodeOptions untrusted = {.add_special_tokens = false, .parse_special_tokens = false};
  EXPECT_EQ((*tokenizer)->Encode("<|x|>ab<|end|>", untrusted).value(), std::vector<TokenId>{2});
}

TEST(GgufTokenizerTest, SentencePieceMetadataIsUnderstood) {
  SentencePieceGguf gguf;
  const auto loaded = gguf.Load(10);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(tokenizer.Encode("a", {}).value(), (std::vector<TokenId>{1, 7}));
  EXPECT_EQ(tokenizer.Encode("aa", {}).value(), (std::vector<TokenId>{1, 5, 8}));
  EXPECT_EQ(tokenizer.Encode("", {}).value(), std::vector<TokenId>{1});
  // Each text behind a control token gets its space; a character without token becomes its bytes,
  // or unknown, neighbours together.
  EXPECT_EQ(tokenizer.Encode("a</s>a\u00E9zza", {.add_special_tokens = false}).value(),
            (std::vector<TokenId>{7, 2, 7, 9, 0, 6}));
  EXPECT_EQ(tokenizer.Encode("\xC3\xA9\xC3", {.add_special_tokens = false}).value(),
            (std::vector<TokenId>{5, 9, 3}));
  EXPECT_EQ(tokenizer.Decode({1, 7, 3, 4, 7}), "aé a");
  EXPECT_EQ(tokenizer.TokenBytes(7), " a");
  EXPECT_EQ(tokenizer.TokenBytes(0), "");
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.end_tokens(), std::vector<TokenId>{2});
}

TEST(GgufTokenizerTest, SpacePrefixAndExtraSpacesFollowTheFile) {
  SentencePieceGguf gguf;
  gguf.values["tokenizer.ggml.add_bos_token"] = false;
  gguf.values["tokenizer.ggml.add_eos_token"] = true;
  gguf.values["tokenizer.ggml.add_space_prefix"] = false;
  auto tokenizer = gguf.Load(10);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ((*tokenizer)->Encode("a  a ", {}).value(), (std::vector<TokenId>{6, 5, 7, 5, 2}));
  EXPECT_EQ((*tokenizer)->Decode({5, 7}), "  a");
  gguf.values["tokenizer.ggml.remove_extra_whitespaces"] = true;
  tokenizer = gguf.Load(10);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ((*tokenizer)->Encode(" a  a ", {}).value(), (std::vector<TokenId>{6, 7, 2}));
}

TEST(GgufTokenizerTest, HarmonysEndOfMessageEndsNoTurn) {
  HandMadeGguf gguf({"<|end|>", "<|return|>", "<|call|>"}, {3, 3, 3});
  gguf.values["tokenizer.ggml.model"] = std::string_view("gpt2");
  gguf.values["tokenizer.ggml.merges"] = std::vector<std::string_view>{};
  const auto tokenizer = gguf.Load(3);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->end_tokens(), (std::vector<TokenId>{1, 2}));
  HandMadeGguf solar({"<|end|>", "<|flush|>", "<|calls|>"}, {3, 3, 3});
  solar.values["tokenizer.ggml.model"] = std::string_view("gpt2");
  solar.values["tokenizer.ggml.pre"] = std::string_view("solar-open");
  solar.values["tokenizer.ggml.merges"] = std::vector<std::string_view>{};
  EXPECT_EQ(solar.Load(3).value()->end_tokens(), (std::vector<TokenId>{1, 2}));
}

TEST(GgufTokenizerTest, Gemma4HasMergesOverCharacters) {
  HandMadeGguf gguf({"<pad>", "<eos>", "<bos>", "<unk>", "<0xC3>", "<0xA9>", "▁", "a", "▁a", "\n",
                     "\n\n", "<|tool_call>", "<|tool_response>", "</s>"},
                    {3, 3, 3, 3, 6, 6, 1, 1, 1, 1, 1, 4, 4, 4});
  gguf.values["tokenizer.ggml.model"] = std::string_view("gemma4");
  gguf.values["tokenizer.ggml.merges"] = std::vector<std::string_view>{"\n \n", "▁ a"};
  gguf.values["tokenizer.ggml.bos_token_id"] = int64_t{2};
  gguf.values["tokenizer.ggml.eos_token_id"] = int64_t{1};
  gguf.values["tokenizer.ggml.add_bos_token"] = false;  // the first files' mistake
  const auto tokenizer = gguf.Load(14);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("a a\n\n\né<|tool_call>", {}).value(),
            (std::vector<TokenId>{2, 7, 8, 10, 9, 4, 5, 11}));
  EXPECT_EQ((*tokenizer)->Decode({2, 8, 10, 4, 5, 11}), " a\n\né<|tool_call>");
  // What a tool answers ends the model's part; </s> is HTML in Gemma's vocabularies.
  EXPECT_EQ((*tokenizer)->end_tokens(), (std::vector<TokenId>{1, 12}));
  EXPECT_EQ((*tokenizer)->TokenBytes(13), "</s>");
  gguf.values.erase("tokenizer.ggml.merges");
  EXPECT_NE(gguf.Error(14).find("merges is missing"), std::string::npos);
}

TEST(GgufTokenizerTest, WhiteSpaceBehindPhi3sTokensGoes) {
  HandMadeGguf gguf({"<unk>", "<s>", "</s>", "▁", "a", "▁a", "\n", "<|user|>", "<|endoftext|>"},
                    {2, 3, 3, 1, 1, 1, 1, 3, 3});
  gguf.values["tokenizer.ggml.model"] = std::string_view("llama");
  gguf.values["tokenizer.ggml.scores"] = std::vector<double>{0, 0, 0, -9, -9, -1, -9, 0, 0};
  const EncodeOptions plain = {.add_special_tokens = false};
  auto tokenizer = gguf.Load(9);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("<|user|>\na", plain).value(), (std::vector<TokenId>{7, 3, 6, 4}));
  gguf.values["general.architecture"] = std::string_view("phi3");
  tokenizer = gguf.Load(9);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("<|user|>\n a", plain).value(), (std::vector<TokenId>{7, 5}));
  EXPECT_EQ((*tokenizer)->Encode("<|endoftext|>\na", plain).value(),
            (std::vector<TokenId>{8, 3, 6, 4}));
}

// Each spoils one key; the error names the file, the key and what is wrong.
TEST(GgufTokenizerTest, FilesThatLieAreRefused) {
  struct Lie {
    std::string key;
    std::optional<GgufValue> value;  // nullopt: the key is missing
    std::string message;
  };
  using Strings = std::vector<std::string_view>;
  const std::string long_spelling(2000, 'a');
  const std::vector<Lie> byte_level_lies = {
      {"tokenizer.ggml.model", std::nullopt, "missing"},
      {"tokenizer.ggml.model", std::string_view("rwkv"), "'rwkv', which is not supported"},
      {"tokenizer.ggml.model", int64_t{3}, "tokenizer.ggml.model"},
      {"tokenizer.ggml.pre", std::string_view("klingon"), "'klingon' is not supported"},
      {"tokenizer.ggml.tokens", std::nullopt, "missing or empty"},
      {"tokenizer.ggml.tokens", Strings{}, "missing or empty"},
      {"tokenizer.ggml.tokens", Strings(10, "a"), "10 tokens, the model's vocabulary 9"},
      {"tokenizer.ggml.tokens", Strings(9, long_spelling), "2000 bytes"},
      {"tokenizer.ggml.tokens", std::vector<int64_t>{1, 2}, "tokenizer.ggml.tokens"},
      {"tokenizer.ggml.token_type", std::vector<int64_t>{1}, "has 1 entries"},
      {"tokenizer.ggml.token_type", std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 1, 7}, "type 7"},
      {"tokenizer.ggml.token_type", std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 1, 0}, "type 0"},
      {"tokenizer.ggml.merges", std::nullopt, "missing"},
      {"tokenizer.ggml.merges", Strings{"ab"}, "merge 0 is 'ab'"},
      {"tokenizer.ggml.merges", Strings{""}, "merge 0"},
      {"tokenizer.ggml.merges", Strings{" "}, "merge 0"},
      {"tokenizer.ggml.merges", Strings{"a b", "Ġa b"},
       "merge 1 of '\\xc4\\xa0a' and 'b' names '\\xc4\\xa0a'"},
      {"tokenizer.ggml.bos_token_id", int64_t{9}, "is 9, a token below 9"},
      {"tokenizer.ggml.eos_token_id", int64_t{-2}, "is -2"},
      {"tokenizer.ggml.eot_token_id", int64_t{1} << 40, "is 1099511627776"},
      {"tokenizer.ggml.eom_token_id", int64_t{100}, "is 100"},
      {"tokenizer.ggml.unknown_token_id", int64_t{100}, "is 100"},
      {"tokenizer.ggml.padding_token_id", int64_t{100}, "is 100"},
      {"tokenizer.ggml.bos_token_id", std::string_view("1"), "bos_token_id"},
      {"tokenizer.ggml.add_bos_token", true, "no such token"},
      {"tokenizer.ggml.add_eos_token", int64_t{1}, "add_eos_token"},
  };
  for (const Lie& lie : byte_level_lies) {
    ByteLevelGguf gguf;
    gguf.values.erase(lie.key);
    if (lie.value) gguf.values[lie.key] = *lie.value;
    const std::string error = gguf.Error(9);
    EXPECT_NE(error.find(lie.message), std::string::npos)
        << lie.key << ", not \"" << lie.message << "\": " << error;
    EXPECT_NE(error.find("made.gguf"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Lie> sentencepiece_lies = {
      {"tokenizer.ggml.scores", std::nullopt, "has 0 entries"},
      {"tokenizer.ggml.scores", std::vector<double>(9), "has 9 entries"},
      {"tokenizer.ggml.scores", std::vector<double>(10, infinity), "not finite"},
      {"tokenizer.ggml.scores", std::vector<double>(10, 1e300), "not finite"},
      {"tokenizer.ggml.scores", std::vector<double>(10, std::nan("")), "not finite"},
      {"tokenizer.ggml.add_space_prefix", std::string_view("no"), "add_space_prefix"},
  };
  for (const Lie& lie : sentencepiece_lies) {
    SentencePieceGguf gguf;
    gguf.values.erase(lie.key);
    if (lie.value) gguf.values[lie.key] = *lie.value;
    const std::string error = gguf.Error(10);
    EXPECT_NE(error.find(lie.message), std::string::npos) << lie.key << ": " << error;
  }
  EXPECT_NE(ByteLevelGguf().Error(0).find("vocabulary size 0"), std::string::npos);
  EXPECT_NE(ByteLevelGguf().Error(int64_t{1} << 40).find("vocabulary size"), std::string::npos);
}

}  // namespace
}  // namespace weft
