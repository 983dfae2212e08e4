// The same ids and texts as Hugging Face's tokenizers, SentencePiece and tiktoken, on 10,000 random
// strings a vocabulary. tests/tools/make_tokenizer_fixtures.py, make_piece_fixtures.py and
// make_translation_fixtures.py made the fixtures and say what is in them.
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "tests/model/tokenizer/random_text.h"

namespace weft {
namespace {

constexpr uint64_t kStringCount = 10000;

class CrossCheckTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string directory = FixturePath(GetParam());
    auto tokenizer = Tokenizer::FromDirectory(directory, 2000);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = *tokenizer;
    expected_ = ReadJson(directory + "/expected.json");
    // SentencePiece itself reads the texts of control tokens as text.
    options_.parse_special_tokens = !GetParam().starts_with("sentencepiece");
    options_.add_special_tokens = false;
  }

  // The reference decodes to text: what is not UTF-8 became U+FFFD.
  std::string DecodeText(const std::vector<TokenId>& ids) const {
    IncrementalDecoder decoder;
    const std::string text = decoder.Append(tokenizer_->Decode(ids));
    return text + decoder.Finish();
  }
  // The same token by token.
  std::string Stream(const std::vector<TokenId>& ids) const {
    IncrementalDecoder decoder(tokenizer_->leading_spaces());
    std::string text;
    for (const TokenId id : ids) text += decoder.Append(tokenizer_->TokenBytes(id));
    return text + decoder.Finish();
  }

  EncodeOptions options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  nlohmann::json expected_;
  RandomText random_text_;
};

TEST_P(CrossCheckTest, TheFirstStringsHaveTheReferencesIds) {
  const auto cases = expected_["cases"].get<std::vector<std::vector<TokenId>>>();
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string text = random_text_(i);
    EXPECT_EQ(tokenizer_->Encode(text, options_).value(), cases[i])
        << "string " << i << ": " << text;
  }
}

TEST_P(CrossCheckTest, SpecialTokensAreAddedAsInTheReference) {
  const auto cases = expected_["with_special"].get<std::vector<std::vector<TokenId>>>();
  options_.add_special_tokens = true;
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(tokenizer_->Encode(random_text_(i), options_).value(), cases[i]) << "string " << i;
  }
}

TEST_P(CrossCheckTest, AllStringsHaveTheReferencesIdsAndTexts) {
  const auto blocks = expected_["blocks"].get<std::vector<std::string>>();
  const auto decoded = expected_["decoded"].get<std::vector<std::string>>();
  ASSERT_EQ(blocks.size(), kStringCount / kBlock);
  ASSERT_EQ(decoded.size(), blocks.size());
  for (uint64_t block = 0; block < blocks.size(); ++block) {
    Fnv1a ids_hash;
    Fnv1a text_hash;
    for (uint64_t seed = block * kBlock; seed < (block + 1) * kBlock; ++seed) {
      const std::vector<TokenId> ids = tokenizer_->Encode(random_text_(seed), options_).value();
      ids_hash.Add(IdBytes(ids) + "\xFF\xFF\xFF\xFF");
      const std::string text = DecodeText(ids);
      text_hash.Add(text + "\xFF\xFF\xFF\xFF");
      ASSERT_EQ(Stream(ids), text) << "string " << seed;
    }
    EXPECT_EQ(ids_hash.Hex(), blocks[block]) << "strings from " << block * kBlock;
    EXPECT_EQ(text_hash.Hex(), decoded[block]) << "strings from " << block * kBlock;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, CrossCheckTest,
    testing::Values("gpt2", "llama3", "qwen2", "deepseek_coder", "deepseek_v3", "falcon",
                    "starcoder", "gpt4o", "behaviours", "llama2", "metaspace",
                    "sentencepiece_bytes", "sentencepiece_nfkc", "tiktoken", "tekken", "gpt2_files",
                    "sentencepiece_unigram", "sentencepiece_unigram_symbols",
                    "sentencepiece_unigram_bytes", "unigram_xglm", "unigram_t5", "unigram_albert",
                    "unigram_bytes", "wordpiece", "wordpiece_cased", "wordpiece_files", "marian",
                    "m2m100"),
    [](const testing::TestParamInfo<std::string>& instance) { return instance.param; });

// Strings of all of Unicode, where the references are of other versions of it than our libraries.
// tests/tools/make_unicode_fixture.py made the fixture; check_tokenizers.py has many more.
TEST(AnyUnicodeTest, StringsHaveTheReferencesIds) {
  constexpr size_t kTextsAHash = 20;
  const nlohmann::json fixture = ReadJson(FixturePath("any_unicode.json"));
  const auto texts = fixture["texts"].get<std::vector<std::string>>();
  for (const auto& [name, hashes] : fixture.items()) {
    if (name == "texts") continue;
    const auto tokenizer = Tokenizer::FromDirectory(FixturePath(name), 2000);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const EncodeOptions options = {.add_special_tokens = false,
                                   .parse_special_tokens = !name.starts_with("sentencepiece")};
    ASSERT_EQ(hashes.size() * kTextsAHash, texts.size());
    for (size_t i = 0; i < hashes.size(); ++i) {
      Fnv1a hash;
      for (size_t j = i * kTextsAHash; j < (i + 1) * kTextsAHash; ++j) {
        hash.Add(IdBytes((*tokenizer)->Encode(texts[j], options).value()) + "\xFF\xFF\xFF\xFF");
      }
      EXPECT_EQ(hash.Hex(), hashes[i].get<std::string>())
          << name << ", texts from " << i * kTextsAHash;
    }
  }
}

std::vector<std::string> Split(const PreTokenizer& pre_tokenizer, std::string_view text) {
  PreTokenizeScratch scratch;
  std::vector<std::string_view> pieces;
  pre_tokenizer.Split(text, true, &scratch, &pieces);
  return {pieces.begin(), pieces.end()};
}

// One hash for each block of strings, over their pieces.
std::vector<std::string> HashPieces(const PreTokenizer& pre_tokenizer,
                                    const std::vector<std::string>& texts) {
  std::vector<std::string> hashes;
  for (size_t begin = 0; begin < texts.size(); begin += kBlock) {
    Fnv1a hash;
    for (size_t i = begin; i < begin + kBlock; ++i) {
      for (const std::string& piece : Split(pre_tokenizer, texts[i])) hash.Add(piece + "\xFF\xFF");
      hash.Add("\xFF\xFF\xFF\xFF");
    }
    hashes.push_back(hash.Hex());
  }
  return hashes;
}

// tests/tools/make_pre_tokenizer_fixtures.py made the fixture and says what is in it.
TEST(PublishedPreTokenizersTest, NamesAndSectionsCutAsTheReferenceDoes) {
  const nlohmann::json fixture = ReadJson(FixturePath("pre_tokenizers.json"));
  const RandomText random_text;
  std::vector<std::string> texts;
  for (uint64_t seed = 20'000; seed < 23'000; ++seed) texts.push_back(random_text(seed));
  for (const nlohmann::json& row : fixture["models"]) {
    const auto blocks = row["blocks"].get<std::vector<std::string>>();
    const auto names = row["names"].get<std::vector<std::string>>();
    SCOPED_TRACE(names.front());
    const auto section = ReadPreTokenizer(JsonView(row["section"], "section"));
    ASSERT_TRUE(section) << section.error().message;
    EXPECT_TRUE(section->is_byte_level);
    EXPECT_EQ(HashPieces(section->pre_tokenizer, texts), blocks);
    // Of names with one pattern, the first and the last.
    for (const std::string& name : {names.front(), names.back()}) {
      const Result<NamedPreTokenizer> named = MakeNamedPreTokenizer(name);
      ASSERT_TRUE(named) << named.error().message;
      EXPECT_EQ(HashPieces(named->pre_tokenizer, texts), blocks) << name;
    }
    for (const std::string& name : names) {
      const Result<NamedPreTokenizer> named = MakeNamedPreTokenizer(name);
      ASSERT_TRUE(named) << named.error().message;
      for (size_t i = 0; i < 100; ++i) {
        EXPECT_EQ(Split(named->pre_tokenizer, texts[i]), Split(section->pre_tokenizer, texts[i]))
            << name << ": " << texts[i];
      }
    }
  }
}

TEST(PublishedPreTokenizersTest, PatternsMeanWhatTheyMeanToOniguruma) {
  const nlohmann::json fixture = ReadJson(FixturePath("pre_tokenizers.json"));
  const auto texts = fixture["texts"].get<std::vector<std::string>>();
  for (const nlohmann::json& row : fixture["patterns"]) {
    const auto pattern = row["pattern"].get<std::string>();
    PreTokenizer pre_tokenizer;
    const Result<void> added = pre_tokenizer.AddRegex(pattern);
    ASSERT_TRUE(added) << added.error().message;
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(Split(pre_tokenizer, texts[i]), row["pieces"][i].get<std::vector<std::string>>())
          << pattern << ": " << texts[i];
    }
  }
}

}  // namespace
}  // namespace weft
