// tokenizer.json and tokenizer.model: what is refused, and what the files beside them say.
#include "model/tokenizer/tokenizer_json.h"

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/tokenizer_model.h"
#include "tests/data_paths.h"
#include "tests/read_file.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using Json = nlohmann::json;

const std::string kFixtures = SourcePath("tests/model/tokenizer/fixtures/");

// A byte-level tokenizer of a few tokens.
Json SmallTokenizer() {
  return Json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true, "normalized": false},
                     {"id": 5, "content": "</s>", "special": true, "normalized": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": [["a", "b"]]}
  })");
}

Result<std::shared_ptr<const Tokenizer>> Load(const Json& json, const SpecialTokenHints& hints = {},
                                              int64_t vocab_size = 10) {
  return LoadTokenizerJson(json.dump(), "t.json", hints, vocab_size);
}

TEST(TokenizerJsonTest, TheSmallOneLoads) {
  const auto tokenizer = Load(SmallTokenizer());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("ab a<s>", {}).value(), (std::vector<TokenId>{2, 3, 0, 4}));
  EXPECT_EQ((*tokenizer)->end_tokens(), std::vector<TokenId>{5});
  EXPECT_EQ((*tokenizer)->bos(), std::nullopt);
}

// As Gemma 3 1B has one: the model has no row for it.
TEST(TokenizerJsonTest, AnAddedTokenBehindTheVocabularyIsText) {
  Json json = SmallTokenizer();
  json["added_tokens"].push_back({{"id", 10}, {"content", "ba"}, {"special", true}});
  const auto tokenizer = Load(json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("aba", {}).value(), (std::vector<TokenId>{2, 0}));
}

// Each sets one place of the small tokenizer (a JSON pointer) to a value.
TEST(TokenizerJsonTest, WhatIsWrongOrUnknownIsRefusedByName) {
  struct Lie {
    std::string pointer;
    Json value;
    std::string message;
  };
  Json nested = {{"type", "NFC"}};
  for (int i = 0; i < 20; ++i)
    nested = {{"type", "Sequence"}, {"normalizers", Json::array({nested})}};
  const auto split = [](const Json& pattern, const std::string& behavior) {
    return Json{{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}};
  };
  const std::vector<Lie> lies = {
      {"", Json::array(), "an object expected"},
      {"/model", nullptr, "model is missing"},
      {"/model/type", "WordLevel", "'WordLevel', which is not supported"},
      {"/model/type", 3, "a string expected"},
      {"/model/continuing_subword_prefix", "##", "continuing_subword_prefix is '##'"},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
      {"/model/byte_fallback", "yes", "a boolean expected"},
      {"/model/unk_token", "<unk>", "'<unk>', which is not in the vocabulary"},
      {"/model/vocab", Json::array(), "an object expected"},
      {"/model/vocab/c", 10, "id 10, 0 to 9 expected"},
      {"/model/vocab/c", -1, "id -1"},
      {"/model/vocab/c", 1.5, "an integer expected"},
      {"/model/vocab/c", 18446744073709551615u, "id -1"},
      {"/model/vocab/c", 2, "both"},
      {"/model/vocab/", 6, "0 bytes"},
      {"/model/merges", nullptr, "an array expected"},
      {"/model/merges/0", "ab", "merges[0] is not a pair"},
      {"/model/merges/0", "a b c", "not a pair"},
      {"/model/merges/0", Json::array({"a"}), "not a pair"},
      {"/model/merges/0", Json::array({"a", 1}), "not a pair"},
      {"/model/merges/0", Json::array({"", "ab"}), "names ''"},
      {"/added_tokens", "x", "an array expected"},
      {"/added_tokens/0/id", -1, "id -1"},
      {"/added_tokens/0/id", 0, "both"},
      {"/added_tokens/0/id", nullptr, "id is missing"},
      {"/added_tokens/0/content", 7, "a string expected"},
      {"/normalizer", {{"type", "Bert"}}, "'Bert' is not supported"},
      {"/normalizer",
       {{"type", "Precompiled"}, {"precompiled_charsmap", "QQ"}},
       "precompiled_charsmap is not base64"},
      {"/normalizer",
       {{"type", "Precompiled"}, {"precompiled_charsmap", "QUJD"}},
       "normalizer: precompiled_charsmap: 3 bytes"},
      {"/normalizer",
       {{"type", "BertNormalizer"}, {"strip_accents", 1}},
       "strip_accents is number, a boolean expected"},
      {"/normalizer", nested, "nested"},
      {"/normalizer",
       {{"type", "Sequence"}, {"normalizers", Json(65, Json{{"type", "NFC"}})}},
       "normalizer.normalizers[64]: the normalizer has more than 64 steps"},
      {"/normalizer",
       {{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", ""}},
       "paren"},
      {"/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}}, "content is missing"},
      {"/normalizer",
       {{"type", "Replace"}, {"pattern", "a"}, {"content", ""}},
       "String is missing"},
      {"/pre_tokenizer", {{"type", "UnicodeScripts"}}, "'UnicodeScripts' is not supported"},
      {"/pre_tokenizer", split({{"Regex", "["}}, "Isolated"), "regular expression"},
      {"/pre_tokenizer", split({{"String", "a"}}, "Shaken"), "'Shaken' is not supported"},
      {"/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", ""}}, "replacement"},
      {"/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "__"}}, "'__' is not supported"},
      {"/pre_tokenizer",
       {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}},
       "'last' is not supported"},
      {"/pre_tokenizer", Json::parse(R"({"type": "Sequence",
                       "pretokenizers": [{"type": "ByteLevel"}, {"type": "ByteLevel"}]})"),
       "a second ByteLevel"},
      {"/decoder", {{"type", "WordPiece"}}, "'WordPiece' is not supported"},
      {"/decoder", {{"type", "Strip"}, {"content", " "}, {"start", 2}, {"stop", 0}}, "stripping"},
      {"/decoder", {{"type", "Replace"}, {"pattern", {{"String", "_"}}}, {"content", " "}}, "'_'"},
      {"/post_processor", {{"type", "Magic"}}, "'Magic' is not supported"},
      {"/post_processor", {{"type", "TemplateProcessing"}}, "single is missing"},
      {"/post_processor", Json::parse(R"({"type": "TemplateProcessing",
                                           "single": [{"SpecialToken": {"id": "<s>"}}],
                                           "special_tokens": {"<s>": {"ids": [77]}}})"),
       "is 77, a token below 10"},
      {"/post_processor",
       Json::parse(R"({"type": "RobertaProcessing", "cls": ["<cls>", 0], "sep": ["</s>", 1]})"),
       "'<cls>' is not in the vocabulary"},
  };
  for (const Lie& lie : lies) {
    Json json = SmallTokenizer();
    json[Json::json_pointer(lie.pointer)] = lie.value;
    const auto tokenizer = Load(json);
    ASSERT_FALSE(tokenizer) << lie.pointer << " " << lie.value;
    const std::string& error = tokenizer.error().message;
    EXPECT_NE(error.find(lie.message), std::string::npos) << lie.pointer << ": " << error;
    EXPECT_NE(error.find("t.json"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(TokenizerJsonTest, IdsFarAboveTheNumberOfTokensAllocateNothing) {
  Json json = SmallTokenizer();
  json["model"]["vocab"]["c"] = 2000000000;
  const auto tokenizer = Load(json, {}, 2147483647);
  ASSERT_FALSE(tokenizer);
  EXPECT_NE(tokenizer.error().message.find("far above"), std::string::npos);
}

Json Replace(const Json& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", content}};
}

// What a text becomes: the number of its tokens, or the error.
std::string Encoded(const Json& normalizer, const std::string& text) {
  Json json = SmallTokenizer();
  json["normalizer"] = normalizer;
  const auto tokenizer = Load(json);
  if (!tokenizer) return tokenizer.error().message;
  const auto tokens = (*tokenizer)->Encode(text, {.add_special_tokens = false});
  return tokens ? std::to_string(tokens->size()) : tokens.error().message;
}

TEST(TokenizerJsonTest, WhatANormalizerMakesOfATextIsBounded) {
  for (const Json& pattern : {Json{{"Regex", "."}}, Json{{"String", "c"}}}) {
    const Json bomb = {{"type", "Sequence"},
                       {"normalizers", Json(12, Replace(pattern, "cccccccc"))}};
    EXPECT_EQ(Encoded(bomb, "cc"),
              "the model's normalizer makes more than 1048584 bytes of the 2 bytes of this text");
  }
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "\uFDFA";  // 33 bytes each
  EXPECT_EQ(
      Encoded({{"type", "NFKD"}}, text),
      "the model's normalizer makes more than 1648576 bytes of the 150000 bytes of this text");
}

TEST(TokenizerJsonTest, TheBoundOfANormalizerIsTheWholeTexts) {
  const auto grow = [](size_t count) {
    return Replace({{"String", "c"}}, std::string(count, 'a'));
  };
  EXPECT_EQ(Encoded(grow(1'048'580), "c"), "1048580");
  EXPECT_EQ(Encoded(grow(1'048'581), "c"),
            "the model's normalizer makes more than 1048580 bytes of the 1 bytes of this text");
  // Two segments, cut at a byte that is not UTF-8.
  EXPECT_EQ(Encoded(grow(524'294),
                    "c\xFF"
                    "c"),
            "1048588");
  EXPECT_EQ(Encoded(grow(524'295),
                    "c\xFF"
                    "c"),
            "the model's normalizer makes more than 1048588 bytes of the 3 bytes of this text");
  // A long text may become four times as long.
  EXPECT_EQ(Encoded(grow(4), std::string(400'000, 'c')), "1600000");
}

TEST(TokenizerJsonTest, WhatANormalizerMakesOfTheAddedTokensIsBounded) {
  Json json = SmallTokenizer();
  json["normalizer"] = Replace({{"Regex", "."}}, std::string(9 << 20, 'c'));
  json["added_tokens"][0]["normalized"] = true;
  json["added_tokens"][0]["content"] = "xx";
  const auto tokenizer = Load(json);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().message,
            "t.json: added_tokens[0]: with token 'xx' the normalizer has made more than 16777216 "
            "bytes of the added tokens");
}

TEST(TokenizerJsonTest, TextThatIsNoJsonIsRefused) {
  for (const std::string text : {"", "{", "[1,", "\xFF", "{'a':1}x"}) {
    const auto tokenizer = LoadTokenizerJson(text, "t.json", {}, 10);
    ASSERT_FALSE(tokenizer) << text;
    EXPECT_NE(tokenizer.error().message.find("t.json"), std::string::npos);
  }
}

TEST(TokenizerJsonTest, HintsNameSpecialTokens) {
  SpecialTokenHints hints;
  hints.bos_text = "<s>";
  hints.eos_text = "</s>";
  hints.eos_ids = {2, 5};
  hints.adds_bos = true;
  hints.adds_eos = true;
  auto tokenizer = Load(SmallTokenizer(), hints);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->bos(), 4);
  EXPECT_EQ((*tokenizer)->end_tokens(), (std::vector<TokenId>{2, 5}));
  EXPECT_TRUE((*tokenizer)->adds_bos());
  EXPECT_TRUE((*tokenizer)->adds_eos());
  EXPECT_EQ((*tokenizer)->Encode("a", {}).value(), (std::vector<TokenId>{4, 0, 5}));
  // A template has the last word.
  Json json = SmallTokenizer();
  json["post_processor"] = Json::parse(R"({
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}],
    "special_tokens": {"</s>": {"ids": [5]}}
  })");
  tokenizer = Load(json, hints);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("a", {}).value(), (std::vector<TokenId>{0, 5}));
  EXPECT_FALSE((*tokenizer)->adds_bos());
  hints.eos_ids = {10};
  EXPECT_FALSE(Load(SmallTokenizer(), hints));
  hints = {};
  hints.bos_text = "<nothing>";
  EXPECT_FALSE(Load(SmallTokenizer(), hints));
}

TEST(TokenizerDirectoryTest, ReadsTheFilesBesideTheTokenizer) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(Tokenizer::FromDirectory(directory.path(), 10));
  directory.Write("tokenizer.json", SmallTokenizer().dump());
  directory.Write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
                                               "add_bos_token": true})");
  directory.Write("generation_config.json", R"({"eos_token_id": [5, 2]})");
  directory.Write("config.json", R"({"eos_token_id": 3, "bos_token_id": null})");
  auto tokenizer = Tokenizer::FromDirectory(directory.path(), 10);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->bos(), 4);
  EXPECT_EQ((*tokenizer)->end_tokens(), (std::vector<TokenId>{2, 3, 5}));
  EXPECT_EQ((*tokenizer)->vocab_size(), 10);
  directory.Write("generation_config.json", R"({"eos_token_id": "five"})");
  tokenizer = Tokenizer::FromDirectory(directory.path(), 10);
  ASSERT_FALSE(tokenizer);
  EXPECT_NE(tokenizer.error().message.find("generation_config.json: eos_token_id"),
            std::string::npos)
      << tokenizer.error().message;
}

TEST(TokenizerDirectoryTest, FilesOfRanksAreReadToTheLetter) {
  const TemporaryDirectory directory;
  const auto error = [&] {
    const auto tokenizer = Tokenizer::FromDirectory(directory.path(), 300);
    return tokenizer ? std::string() : tokenizer.error().message;
  };
  const auto expect = [&](std::string_view message) {
    EXPECT_NE(error().find(message), std::string::npos) << message << ", not " << error();
  };
  expect("no tokenizer is there");
  directory.Write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "</s>": 3})");
  expect("no tokenizer is there");
  directory.Write("merges.txt", "#version: 0.2\na b\n");
  expect("GPT2Tokenizer alone");  // nobody says whose files these are
  directory.Write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer",
      "bos_token": "</s>", "add_bos_token": true})");
  const auto gpt2 = Tokenizer::FromDirectory(directory.path(), 300);
  ASSERT_TRUE(gpt2) << gpt2.error().message;
  EXPECT_EQ((*gpt2)->Encode("ab</s>", {}).value(), (std::vector<TokenId>{3, 2, 3}));

  directory.Write("tiktoken.model", "YQ== 0\nYg== 1\nYWI= 2\n");
  expect("the class 'GPT2Tokenizer' alone, which is not known here");
  directory.Write("tokenizer_config.json", R"({"tokenizer_class": "TikTokenTokenizer",
      "added_tokens_decoder": {"3": {"content": "[BOS]", "special": true},
                               "4": {"content": "[EOS]", "special": true}}})");
  const auto kimi = Tokenizer::FromDirectory(directory.path(), 300);
  ASSERT_TRUE(kimi) << kimi.error().message;
  EXPECT_EQ((*kimi)->Encode("ab[EOS]ba", {}).value(), (std::vector<TokenId>{2, 4, 1, 0}));
  EXPECT_EQ((*kimi)->end_tokens(), std::vector<TokenId>{4});
  EXPECT_EQ((*kimi)->TokenOf("<|reserved_token_258|>"), 258);
  EXPECT_EQ((*kimi)->TokenOf("<|reserved_token_259|>"), std::nullopt);
  for (const auto& [ranks, message] :
       {std::pair{"YQ==", "token 0"}, std::pair{"YQ== 1", "the rank 0"},
        std::pair{"YQ== 0\nYQ== 1", "is there already"}, std::pair{"!Q== 0", "base64"},
        std::pair{"YQ=== 0", "base64"}, std::pair{" 0", "token 0"}, std::pair{"YQ== x", "rank"}}) {
    directory.Write("tiktoken.model", ranks);
    expect(message);
  }
  directory.Write("tiktoken.model", "YQ== 0\n");

  const auto tekken = [](int size, int special_count, const std::string& specials) {
    return fmt::format(R"({{"config": {{"pattern": "a|b+", "default_vocab_size": {},
        "default_num_special_tokens": {}}}, "vocab": [{{"rank": 0, "token_bytes": "YQ=="}},
        {{"rank": 1, "token_bytes": "Yg=="}}], "special_tokens": [{}]}})",
                       size, special_count, specials);
  };
  const std::string s = R"({"rank": 0, "token_str": "<s>"}, {"rank": 1, "token_str": "</s>"})";
  directory.Write("tokenizer_config.json", "{}");
  directory.Write("tekken.json", tekken(5, 3, s));
  const auto mistral = Tokenizer::FromDirectory(directory.path(), 300);
  ASSERT_TRUE(mistral) << mistral.error().message;
  EXPECT_EQ((*mistral)->Encode("ab</s>", {}).value(), (std::vector<TokenId>{0, 3, 4, 1}));
  EXPECT_EQ((*mistral)->TokenOf("<SPECIAL_2>"), 2);
  directory.Write("tekken.json", tekken(6, 3, s));
  expect("contradict a vocabulary of 2 and 2 special tokens");
  directory.Write("tekken.json", tekken(3, 1, s));
  expect("contradict");
  directory.Write("tekken.json", tekken(4, 2, R"({"rank": 1, "token_str": "<s>"})"));
  expect("rank is 1, 0 expected");
  directory.Write("tekken.json", "{}");
  expect("config.pattern is missing");
}

std::string ModelBytes() { return ReadFile(kFixtures + "sentencepiece_bytes/tokenizer.model"); }

TEST(TokenizerModelTest, ControlTokensPartTextsAndAddedTokensAreFound) {
  SpecialTokenHints hints;
  hints.added_tokens = {{800, "<|im_end|>", true}, {801, "[x]", false}};
  const auto tokenizer = LoadTokenizerModel(ModelBytes(), "t.model", hints, 1000);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const std::vector<TokenId> a = (*tokenizer)->Encode("a", {.add_special_tokens = false}).value();
  std::vector<TokenId> expected = {1};
  expected.insert(expected.end(), a.begin(), a.end());
  expected.push_back(2);
  expected.insert(expected.end(), a.begin(), a.end());
  expected.push_back(800);
  EXPECT_EQ((*tokenizer)->Encode("a</s>a<|im_end|>", {}).value(), expected);
  EXPECT_EQ((*tokenizer)->end_tokens(), (std::vector<TokenId>{2, 800}));
  EXPECT_EQ((*tokenizer)->TokenBytes(801), "[x]");
  hints.added_tokens = {{5, "<|im_end|>", true}};
  EXPECT_FALSE(LoadTokenizerModel(ModelBytes(), "t.model", hints, 1000));
  hints.added_tokens = {{1000, "<|im_end|>", true}};
  EXPECT_FALSE(LoadTokenizerModel(ModelBytes(), "t.model", hints, 1000));
}

TEST(TokenizerModelTest, EveryTruncationIsRefusedOrSmaller) {
  const std::string bytes = ModelBytes();
  ASSERT_GT(bytes.size(), 5000u);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    const auto tokenizer = LoadTokenizerModel(bytes.substr(0, size), "t.model", {}, 1000);
    if (tokenizer) continue;  // cut between two fields
    EXPECT_NE(tokenizer.error().message.find("t.model"), std::string::npos);
  }
}

TEST(TokenizerModelTest, RandomlySpoiltBytesAreSurvived) {
  const std::string bytes = ModelBytes();
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string spoilt = bytes;
    for (int i = 0; i < 8; ++i) spoilt[random() % spoilt.size()] = static_cast<char>(random());
    const auto tokenizer = LoadTokenizerModel(spoilt, "t.model", {}, 1000);
    if (tokenizer) static_cast<void>((*tokenizer)->Encode("Hello World \xFF é", {}));
  }
}

std::string Field(int number, int wire_type, const std::string& payload) {
  return std::string(1, static_cast<char>(number << 3 | wire_type)) + payload;
}
std::string Message(int number, const std::string& bytes) {
  return Field(number, 2, static_cast<char>(bytes.size()) + bytes);
}

TEST(TokenizerModelTest, WhatIsWrongOrUnknownIsRefusedByName) {
  const std::string bpe = Message(2, Field(3, 0, "\x02"));
  const std::string piece = Message(1, Message(1, "a"));
  const std::string ten_bytes(10, '\xFF');
  const std::string infinity("\x00\x00\x80\x7F", 4);
  struct Lie {
    std::string bytes;
    std::string message;
  };
  for (const Lie& lie : {
           Lie{"", "no pieces"},
           Lie{piece + Message(2, Field(3, 0, "\x03")), "model type WORD"},
           Lie{piece + Message(2, Field(3, 0, "\x04")), "model type CHAR"},
           Lie{piece + Message(2, Field(3, 0, "\x09")), "model type 9"},
           Lie{piece + bpe + Message(2, Field(24, 0, "\x01")).insert(2, "\x80"), "t.model"},
           Lie{piece + bpe + Message(3, Field(5, 0, std::string(1, '\0'))), "escape_whitespaces"},
           Lie{piece + bpe + Message(3, Message(2, "abc")), "precompiled_charsmap: 3 bytes"},
           Lie{piece + bpe + Message(3, Message(2, std::string("\x08\0\0\0abcd", 8))),
               "a trie of 8"},
           Lie{piece + bpe + Message(3, Message(2, std::string("\x04\0\0\0abcdx", 9))),
               "zero byte"},
           Lie{piece + bpe + Message(3, Message(2, std::string("\x04\0\0\0abcd\xC3\0", 10))),
               "not UTF-8"},
           Lie{Message(1, Message(1, "")) + bpe, "piece 0 has 0 bytes"},
           Lie{Message(1, Message(1, "a") + Field(2, 5, infinity)) + bpe, "not finite"},
           Lie{Message(1, Message(1, "a") + Field(3, 0, "\x07")) + bpe, "type 7"},
           Lie{Message(1, Message(1, "a") + Field(3, 0, "\x05")) + bpe, "UNUSED"},
           Lie{Message(1, Field(1, 0, "\x01")) + bpe, "piece has wire type 0, 2 expected"},
           Lie{Field(1, 0, "\x01"), "pieces has wire type 0"},
           Lie{Field(1, 3, ""), "wire type 3"},
           Lie{Field(0, 0, "\x01"), "field number 0"},
           Lie{Field(9, 0, ten_bytes), "more than 10 bytes"},
           Lie{Field(9, 0, "\xFF"), "ends inside a field"},
           Lie{Field(9, 1, "1234567"), "ends inside a field"},
           Lie{Field(9, 5, "123"), "ends inside a field"},
           Lie{Field(1, 2, std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F") + "a"),
               "ends inside a field"},
           Lie{fmt::format("{0}{0}{0}{1}", piece, bpe),
               "more pieces than the model's vocabulary of 2"},
           Lie{piece + bpe + Message(2, std::string("\xC0\x02\x05", 3)), "unk_id is 5"},
       }) {
    const auto tokenizer = LoadTokenizerModel(lie.bytes, "t.model", {}, 2);
    ASSERT_FALSE(tokenizer) << lie.message;
    EXPECT_NE(tokenizer.error().message.find(lie.message), std::string::npos)
        << tokenizer.error().message;
  }
}

// Whatever the bytes, they come back: byte-level vocabularies and byte fallback lose nothing.
TEST(RoundTripTest, RandomBytesDecodeToThemselves) {
  std::mt19937 random(9);
  for (const std::string name : {"gpt2", "llama3", "deepseek_coder", "falcon", "starcoder", "gpt4o",
                                 "llama2", "sentencepiece_bytes"}) {
    const auto tokenizer = Tokenizer::FromDirectory(kFixtures + name, 2000);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    for (int round = 0; round < 500; ++round) {
      std::string bytes;
      for (uint32_t left = random() % 60; left > 0; --left) {
        bytes += random() % 2 == 0 ? static_cast<char>(random()) : "ab 中\n"[random() % 7];
      }
      const EncodeOptions plain = {.add_special_tokens = false, .parse_special_tokens = false};
      const std::vector<TokenId> ids = (*tokenizer)->Encode(bytes, plain).value();
      // A text that begins with invalid bytes gets no dummy space, so that none of its own may go.
      const std::string decoded = (*tokenizer)->Decode(ids);
      ASSERT_EQ(decoded, bytes) << name << " " << testing::PrintToString(bytes);
      for (const TokenId id : ids) ASSERT_FALSE((*tokenizer)->IsControl(id)) << name;
    }
  }
}

TEST(ConcurrencyTest, ManyThreadsEncodeWithOneTokenizer) {
  const auto tokenizer = Tokenizer::FromDirectory(kFixtures + "llama3", 2000);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const std::string text = "Once upon a time, 1234 \u00E9l\u00E9phants <|im_start|> sang!\n  ";
  const std::vector<TokenId> expected = (*tokenizer)->Encode(text, {}).value();
  std::vector<std::thread> threads;
  std::atomic<int> difference_count = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        if ((*tokenizer)->Encode(text, {}).value() != expected) ++difference_count;
        if ((*tokenizer)->Decode(expected).empty()) ++difference_count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(difference_count, 0);
}

}  // namespace
}  // namespace weft
