// tokenizer.json with Unigram and WordPiece models, and BERT's vocab.txt.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/tokenizer_json.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using Json = nlohmann::json;

Json SmallUnigram() {
  return Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 1, "content": "</s>", "special": true}],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "post_processor": {"type": "TemplateProcessing",
                       "single": [{"SpecialToken": {"id": "</s>"}}, {"Sequence": {"id": "A"}}],
                       "special_tokens": {"</s>": {"ids": [1]}}},
    "model": {"type": "Unigram", "unk_id": 0,
              "vocab": [["<unk>", 0.0], ["</s>", 0], ["▁", -2.5], ["a", -3], ["▁ab", -4.5],
                        ["b", -3.5], ["<", -4], ["/", -4], ["s", -4], [">", -4]]}
  })");
}

Json SmallWordPiece() {
  return Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true},
                     {"id": 1, "content": "[CLS]", "special": true},
                     {"id": 2, "content": "[SEP]", "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##able": 4, "!": 5, "i": 6,
                        "'": 7, "##!": 8, "[": 9, "]": 10, "cls": 11}}
  })");
}

Result<std::shared_ptr<const Tokenizer>> Load(const Json& json) {
  return LoadTokenizerJson(json.dump(), "t.json", {}, 20);
}

TEST(UnigramJsonTest, TheSmallOneLoads) {
  const auto tokenizer = Load(SmallUnigram());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("ab a", {}).value(), (std::vector<TokenId>{1, 4, 2, 3}));
  EXPECT_EQ((*tokenizer)->Decode({1, 4, 2, 3, 0}), "ab a");
  EXPECT_EQ((*tokenizer)->TokenBytes(4), " ab");
  EXPECT_EQ((*tokenizer)->bos(), 1);
  EXPECT_EQ((*tokenizer)->end_tokens(), std::vector<TokenId>{1});
  EXPECT_EQ((*tokenizer)->description(), "Unigram (tokenizer.json), 10 tokens");
}

// The reference has </s> among the pieces, with the best score of all.
TEST(UnigramJsonTest, SpecialTokensAreTextInUntrustedText) {
  const auto tokenizer = Load(SmallUnigram());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("</s>", {.add_special_tokens = false}).value(),
            std::vector<TokenId>{1});
  const EncodeOptions untrusted = {.add_special_tokens = false, .parse_special_tokens = false};
  EXPECT_EQ((*tokenizer)->Encode("</s>", untrusted).value(), (std::vector<TokenId>{2, 6, 7, 8, 9}));
}

// Where it is no special token, its text is a piece as others, and unknown.
TEST(UnigramJsonTest, TheUnknownTokenMayBeAPiece) {
  Json json = SmallUnigram();
  json["added_tokens"].erase(0);
  const auto tokenizer = Load(json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("z<unk>za", {.add_special_tokens = false}).value(),
            (std::vector<TokenId>{2, 0, 3}));
}

// "zq" has the lowest score of all, and z without a token one that is lower by 10.
TEST(UnigramJsonTest, AnUnknownCharacterIsWorseThanAnyPiece) {
  Json json = SmallUnigram();
  json["model"]["vocab"].push_back({"zq", -20});
  json["model"]["vocab"].push_back({"q", 9.5});
  const EncodeOptions plain = {.add_special_tokens = false};
  EXPECT_EQ(Load(json).value()->Encode("zq", plain).value(), (std::vector<TokenId>{2, 10}));
  json["model"]["vocab"][11][1] = 10.5;
  EXPECT_EQ(Load(json).value()->Encode("zq", plain).value(), (std::vector<TokenId>{2, 0, 11}));
}

TEST(UnigramJsonTest, BytesThatAreNotUtf8AreUnknownOrByteTokens) {
  Json json = SmallUnigram();
  const EncodeOptions plain = {.add_special_tokens = false};
  EXPECT_EQ(Load(json).value()->Encode("a\xFF", plain).value(), (std::vector<TokenId>{2, 3, 0}));
  json["model"]["byte_fallback"] = true;
  json["model"]["vocab"].push_back({"<0xFF>", -9});
  const auto tokenizer = Load(json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("a\xFF", plain).value(), (std::vector<TokenId>{2, 3, 10}));
  EXPECT_EQ((*tokenizer)->Decode({3, 10}), "a\xFF");
}

TEST(WordPieceJsonTest, TheSmallOneLoads) {
  const auto loaded = Load(SmallWordPiece());
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(tokenizer.Encode("Un\u00E2ble i!", {}).value(),
            (std::vector<TokenId>{1, 3, 4, 6, 5, 2}));
  EXPECT_EQ(tokenizer.Encode("\xFF", {.add_special_tokens = false}).value(),
            std::vector<TokenId>{});
  const EncodeOptions untrusted = {.add_special_tokens = false, .parse_special_tokens = false};
  EXPECT_EQ(tokenizer.Encode("[CLS]", untrusted).value(), (std::vector<TokenId>{9, 11, 10}));
  EXPECT_EQ(tokenizer.description(), "WordPiece (tokenizer.json), 12 tokens");
  EXPECT_EQ(tokenizer.TokenText(4), "##able");
  EXPECT_TRUE(tokenizer.IsControl(0));
}

TEST(WordPieceJsonTest, WordsAreJoinedAsTheFileSays) {
  Json json = SmallWordPiece();
  EXPECT_EQ(Load(json).value()->Decode({1, 6, 3, 4, 5, 7, 0, 8, 2}), "i unable! '!");
  json["decoder"]["cleanup"] = false;
  EXPECT_EQ(Load(json).value()->Decode({1, 6, 3, 4, 5, 7, 0, 8, 2}), "i unable ! '!");
  EXPECT_EQ(Load(json).value()->Decode({1, 3}, true), "[CLS] un");
}

TEST(PieceModelsJsonTest, WhatIsWrongOrUnknownIsRefusedByName) {
  struct Lie {
    Json json;
    std::string pointer;
    Json value;
    std::string message;
  };
  const std::string long_text(1025, 'a');
  const Json unigram = SmallUnigram();
  const Json wordpiece = SmallWordPiece();
  const Lie lies[] = {
      {unigram, "/model/vocab", Json::object(), "model.vocab is object, an array expected"},
      {unigram, "/model/vocab/3", "a", "model.vocab[3] is not a spelling and its score"},
      {unigram, "/model/vocab/3", Json::array({"a"}), "vocab[3] is not"},
      {unigram, "/model/vocab/3", Json::array({"a", "b"}), "vocab[3] is not"},
      {unigram, "/model/vocab/3", Json::array({1, -1}), "vocab[3] is not"},
      {unigram, "/model/vocab/3", Json::array({long_text, -1}), "vocab[3] has 1025 bytes"},
      {unigram, "/model/vocab/3", Json::array({"", -1}), "token 3 has 0 bytes"},
      {unigram, "/model/vocab", Json(21, Json::array({"a", -1})), "id 20, 0 to 19 expected"},
      {unigram, "/model/unk_id", 10, "model.unk_id is 10, a token below 10 expected"},
      {unigram, "/model/unk_id", -1, "model.unk_id is -1"},
      {unigram, "/model/unk_id", "<unk>", "model.unk_id is string"},
      {unigram, "/pre_tokenizer", {{"type", "ByteLevel"}}, "ByteLevel is not supported with"},
      {unigram, "/decoder", {{"type", "WordPiece"}}, "'WordPiece' is not supported"},
      {wordpiece, "/model/vocab", Json::array(), "model.vocab is array, an object expected"},
      {wordpiece, "/model/vocab/" + long_text, 19, "token 19 has 1025 bytes"},
      {wordpiece, "/model/unk_token", "?", "model.unk_token is '?', which is not"},
      {wordpiece, "/model/continuing_subword_prefix", "@@", "is '@@', which is not supported"},
      {wordpiece, "/model/max_input_chars_per_word", -1, "max_input_chars_per_word is -1"},
      {wordpiece, "/model/max_input_chars_per_word", 1 << 30, "0 to 1048576 expected"},
      {wordpiece, "/decoder/prefix", "@@", "decoder.prefix is '@@', which is not supported"},
      {wordpiece, "/decoder/cleanup", "yes", "decoder.cleanup is string, a boolean expected"},
      {wordpiece, "/decoder", {{"type", "ByteLevel"}}, "ByteLevel is not supported with"},
      {wordpiece, "/post_processor/cls", {"[X]", 1}, "'[X]' is not in the vocabulary"},
  };
  for (const Lie& lie : lies) {
    Json json = lie.json;
    json[Json::json_pointer(lie.pointer)] = lie.value;
    const auto tokenizer = Load(json);
    ASSERT_FALSE(tokenizer) << lie.pointer;
    const std::string& error = tokenizer.error().message;
    EXPECT_NE(error.find(lie.message), std::string::npos) << lie.pointer << ": " << error;
    EXPECT_NE(error.find("t.json"), std::string::npos) << error;
  }
}

// As transformers' MPNetTokenizer reads it.
TEST(BertFilesTest, MPNetHasTokensOfItsOwn) {
  const TemporaryDirectory directory;
  directory.Write("vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\nhello\nwor\n##ld\n,\n<mask>\n");
  directory.Write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  const auto tokenizer = Tokenizer::FromDirectory(directory.path(), 9);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto encode = [&](const char* text) { return (*tokenizer)->Encode(text, {}).value(); };
  EXPECT_EQ(encode("Hello, World"), (std::vector<TokenId>{0, 4, 7, 5, 6, 2}));
  EXPECT_EQ(encode("hello <mask> world <mask>"), (std::vector<TokenId>{0, 4, 8, 5, 6, 8, 2}));
  EXPECT_EQ(encode("h\u00E9llo nope</s>"), (std::vector<TokenId>{0, 4, 3, 2, 2}));
  EXPECT_EQ((*tokenizer)->EncodePair("hello", "world", {}, {}).value().ids,
            (std::vector<TokenId>{0, 4, 2, 2, 5, 6, 2}));
}

TEST(BertFilesTest, TheVocabularyIsReadAsItsClassDoes) {
  const TemporaryDirectory directory;
  const auto load = [&] { return Tokenizer::FromDirectory(directory.path(), 20); };
  const auto error = [&] {
    const auto tokenizer = load();
    return tokenizer ? std::string() : tokenizer.error().message;
  };
  directory.Write("vocab.txt", "[PAD]\r\n[UNK]\n\n[CLS]\n[SEP]\nun\n##able\nUn\n##\u00E2ble");
  auto tokenizer = load();  // no class is named
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("Un\u00E2ble [PAD]", {}).value(),
            (std::vector<TokenId>{3, 5, 6, 0, 4}));
  directory.Write("tokenizer_config.json",
                  R"({"tokenizer_class": "DistilBertTokenizer", "do_lower_case": false})");
  tokenizer = load();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("Un\u00E2ble", {}).value(), (std::vector<TokenId>{3, 7, 8, 4}));
  directory.Write("tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_NE(error().find("vocab.txt: read for the class BertTokenizer"), std::string::npos);
  directory.Write("tokenizer_config.json", R"({"cls_token": "<s>"})");
  EXPECT_NE(error().find("the special token '<s>' is not there"), std::string::npos) << error();
  directory.Write("tokenizer_config.json", R"({"strip_accents": 1})");
  EXPECT_NE(error().find("strip_accents is number, a boolean expected"), std::string::npos);
  directory.Write("tokenizer_config.json", "{}");
  directory.Write("vocab.txt", "[UNK]\n\xFF\n");
  EXPECT_NE(error().find("vocab.txt: line 2 is not UTF-8"), std::string::npos) << error();
  directory.Write("vocab.txt", "\n");
  EXPECT_NE(error().find("vocab.txt: no tokens"), std::string::npos) << error();
}

}  // namespace
}  // namespace weft
