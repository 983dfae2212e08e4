// SentencePiece files whose pieces' ids a vocab.json has: Marian's and M2M100's directories.
// tests/tools/make_translation_fixtures.py made the fixtures; cross_check_test.cc has the most of
// their strings.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tokenizer/tokenizer.h"
#include "tests/model/tokenizer/random_text.h"
#include "tests/read_file.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr EncodeOptions kAlone = {.add_special_tokens = false};

// The fixture `name` with other files in place of some; an empty one is left out.
Result<std::shared_ptr<const Tokenizer>> LoadWith(const std::string& name,
                                                  const std::map<std::string, std::string>& changed,
                                                  int64_t vocab_size = 1000) {
  const TemporaryDirectory directory;
  for (const char* const file : {"source.spm", "sentencepiece.bpe.model", "vocab.json"}) {
    const std::string path = FixturePath(name) + "/" + file;
    if (changed.contains(file) || !std::filesystem::exists(path)) continue;
    directory.Write(file, ReadFile(path));
  }
  for (const auto& [file, text] : changed) {
    if (!text.empty()) directory.Write(file, text);
  }
  return Tokenizer::FromDirectory(directory.path(), vocab_size);
}

std::string ErrorOf(const Result<std::shared_ptr<const Tokenizer>>& tokenizer) {
  return tokenizer ? "none" : tokenizer.error().message;
}

TEST(MarianTokenizerTest, ACodeIsATokenWhereATextBegins) {
  const auto tokenizer = LoadWith("marian", {});
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const nlohmann::json expected = ReadJson(FixturePath("marian/expected.json"));
  for (const auto& [text, ids] :
       expected["marked"].get<std::vector<std::pair<std::string, std::vector<TokenId>>>>()) {
    EXPECT_EQ((*tokenizer)->Encode(text, {}).value(), ids) << text;
  }
  const std::vector<TokenId> unread = (*tokenizer)->Encode(">>de<< the", {false, false}).value();
  EXPECT_THAT(unread, testing::Not(testing::Contains((*tokenizer)->TokenOf(">>de<<").value())));
}

TEST(MarianTokenizerTest, SaysWhatItIs) {
  const auto tokenizer = LoadWith("marian", {}).value();
  EXPECT_EQ(tokenizer->description(), "SentencePiece Unigram (tokenizer.model), 715 tokens");
  EXPECT_EQ(tokenizer->bos(), std::nullopt);
  EXPECT_EQ(tokenizer->eos(), 0);
  EXPECT_EQ(tokenizer->end_tokens(), std::vector<TokenId>{0});
  EXPECT_TRUE(tokenizer->adds_eos());
  EXPECT_TRUE(tokenizer->IsControl(714));  // padding
  EXPECT_EQ(tokenizer->TokenText(712), ">>fra<<");
  const auto pair = tokenizer->EncodePair("the", "the", {}, {});
  ASSERT_TRUE(pair);
  EXPECT_THAT(pair->ids, ElementsAre(592, 592, 0));
}

TEST(MarianTokenizerTest, AddedTokensPartTexts) {
  const auto tokenizer = LoadWith("marian", {{"tokenizer_config.json", R"({
      "tokenizer_class": "MarianTokenizer", "added_tokens_decoder": {
        "0": {"content": "</s>", "special": true}, "720": {"content": "<sep>", "special": true},
        "721": {"content": "fox", "special": false}}})"}});
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("the<sep>fox", kAlone).value(), ElementsAre(592, 720, 721));
}

// Pieces that vocab.json lacks are unknown, each of them, and what no piece spells may be a token.
TEST(MarianTokenizerTest, IdsAreThoseOfVocabJson) {
  const auto tokenizer = LoadWith(
      "marian", {{"vocab.json", R"({"</s>": 3, "<unk>": 5, "\u2581the": 1, "\u16a0\u16a2": 9})"}});
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("the \u16A0\u16A2 the", kAlone).value(),
              ElementsAre(1, 5, 9, 1));
  EXPECT_THAT((*tokenizer)->Encode("the \u16A0 the fox", kAlone).value(),
              ElementsAre(1, 5, 5, 1, 5));
  EXPECT_EQ((*tokenizer)->Decode({1, 9, 1, 3}), "the\u16A0\u16A2 the");
}

TEST(MarianTokenizerTest, BadFilesAreErrorsThatNameThem) {
  const auto error = [](const std::string& ids) {
    return ErrorOf(LoadWith("marian", {{"vocab.json", ids}}));
  };
  EXPECT_THAT(error(R"({"</s>": 0, "a": 1})"),
              HasSubstr("vocab.json: the special token '<unk>' is not there"));
  EXPECT_THAT(error(R"({"<unk>": 0, "a": 1})"),
              HasSubstr("vocab.json: the special token '</s>' is not there"));
  EXPECT_THAT(error(R"({"<unk>": 0, "</s>": 1, "a": 1000})"),
              HasSubstr("vocab.json: 'a' is 1000, an id below 1000 expected"));
  EXPECT_THAT(error(R"({"<unk>": 0, "</s>": -1})"), HasSubstr("'</s>' is -1"));
  EXPECT_THAT(error(R"({"<unk>": 0, "</s>": 0})"),
              HasSubstr("'<unk>' has the id 0, which is that of '</s>'"));
  EXPECT_THAT(error(R"({"<unk>": "0"})"), HasSubstr("vocab.json: '<unk>'"));
  EXPECT_THAT(error("[]"), HasSubstr("vocab.json"));
  EXPECT_THAT(error("{"), HasSubstr("vocab.json"));
  EXPECT_THAT(ErrorOf(LoadWith("marian", {{"vocab.json", R"({"<unk>": 0, "</s>": 99999999})"}},
                               100'000'000)),
              HasSubstr("'</s>' is 99999999, in a file of 2 tokens"));
  EXPECT_THAT(ErrorOf(LoadWith("marian", {{"vocab.json", ""}})),
              HasSubstr("no tokenizer is there"));
  EXPECT_THAT(ErrorOf(LoadWith("marian", {{"source.spm", "\x0A\x7F"}})), HasSubstr("source.spm"));
  EXPECT_THAT(
      ErrorOf(LoadWith("marian", {{"tokenizer_config.json", R"({"separate_vocabs": true})"}})),
      HasSubstr("separate_vocabs"));
}

TEST(M2M100TokenizerTest, LanguagesHaveTheIdsBehindTheFiles) {
  const auto tokenizer = Tokenizer::FromDirectory(FixturePath("m2m100"), 1000);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const nlohmann::json expected = ReadJson(FixturePath("m2m100/expected.json"));
  for (const auto& [text, id] :
       expected["languages"].get<std::vector<std::pair<std::string, TokenId>>>()) {
    EXPECT_EQ((*tokenizer)->TokenOf(text), id) << text;
    EXPECT_TRUE((*tokenizer)->IsControl(id)) << text;
  }
  EXPECT_EQ((*tokenizer)->bos(), 0);
  EXPECT_EQ((*tokenizer)->eos(), 2);
}

TEST(M2M100TokenizerTest, TheSourcesLanguageIsTheConfigurations) {
  const auto language_of = [](const std::string& config) {
    const auto tokenizer = LoadWith("m2m100", {{"tokenizer_config.json", config}});
    if (!tokenizer) return tokenizer.error().message;
    return std::string((*tokenizer)->TokenText((*tokenizer)->Encode("a", {}).value().front()));
  };
  EXPECT_EQ(language_of(R"({"tokenizer_class": "M2M100Tokenizer", "src_lang": null})"), "__en__");
  EXPECT_EQ(language_of(R"({"language_codes": "wmt21", "src_lang": "is"})"), "__is__");
  EXPECT_THAT(language_of(R"({"language_codes": "wmt21", "src_lang": "fr"})"),
              HasSubstr("src_lang is 'fr', none of the 8 languages"));
  EXPECT_THAT(language_of(R"({"language_codes": "wmt22"})"),
              HasSubstr("language_codes is 'wmt22', expected 'm2m100' or 'wmt21'"));
  EXPECT_THAT(language_of(R"({"tokenizer_class": "Speech2TextTokenizer"})"),
              HasSubstr("tokenizer_config.json names 'Speech2TextTokenizer'"));
  EXPECT_THAT(ErrorOf(LoadWith("m2m100", {}, 643)),
              HasSubstr("545 tokens and 100 languages, the model's vocabulary has 643"));
}

}  // namespace
}  // namespace weft
