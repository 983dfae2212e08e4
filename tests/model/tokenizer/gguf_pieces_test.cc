// GGUF files with Unigram ("t5") and WordPiece ("bert") models.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/protobuf_reader.h"
#include "tests/model/tokenizer/hand_made_gguf.h"
#include "tests/model/tokenizer/random_text.h"
#include "tests/read_file.h"

namespace weft {
namespace {

constexpr EncodeOptions kPlain = {.add_special_tokens = false, .parse_special_tokens = false};

// What a converter makes of a SentencePiece file.
struct ConvertedModel {
  explicit ConvertedModel(const std::string& path) {
    const std::string bytes = ReadFile(path);
    ProtobufReader reader(bytes, path);
    while (!reader.done()) {
      const ProtobufField field = reader.Next().value();
      if (field.number == 1) AddPiece(field.bytes, path);
      if (field.number == 3) ReadNormalizer(field.bytes, path);
    }
  }

  void AddPiece(std::string_view message, const std::string& path) {
    std::string text;
    double score = 0.0;
    int64_t kind = 1;
    ProtobufReader reader(message, path);
    while (!reader.done()) {
      const ProtobufField field = reader.Next().value();
      if (field.number == 1) text = field.bytes;
      if (field.number == 2) score = reader.Float(field, "score").value();
      if (field.number == 3) kind = static_cast<int64_t>(field.integer);
    }
    texts.push_back(text);
    scores.push_back(score);
    kinds.push_back(kind);
  }

  void ReadNormalizer(std::string_view message, const std::string& path) {
    ProtobufReader reader(message, path);
    while (!reader.done()) {
      const ProtobufField field = reader.Next().value();
      if (field.number != 2) continue;
      for (const char byte : field.bytes) map.push_back(byte);
    }
  }

  std::vector<std::string> texts;
  std::vector<double> scores;
  std::vector<int64_t> kinds;
  std::vector<int64_t> map;
};

TEST(GgufUnigramTest, AConvertedFileEncodesAsItsOriginal) {
  const std::string directory = FixturePath("sentencepiece_unigram");
  const auto original = Tokenizer::FromDirectory(directory, 1000);
  ASSERT_TRUE(original) << original.error().message;
  const ConvertedModel model(directory + "/tokenizer.model");
  HandMadeGguf gguf(model.texts, model.kinds);
  gguf.values["tokenizer.ggml.model"] = std::string_view("t5");
  gguf.values["tokenizer.ggml.scores"] = model.scores;
  gguf.values["tokenizer.ggml.precompiled_charsmap"] = model.map;
  gguf.values["tokenizer.ggml.add_space_prefix"] = true;
  gguf.values["tokenizer.ggml.remove_extra_whitespaces"] = true;
  const auto converted = gguf.Load(1000);
  ASSERT_TRUE(converted) << converted.error().message;
  EXPECT_EQ((*converted)->description(), "SentencePiece Unigram, 800 tokens");
  const RandomText random_text;
  int tie_count = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = random_text(seed);
    std::vector<TokenId> ids = (*original)->Encode(text, kPlain).value();
    EXPECT_EQ((*converted)->Decode(ids), (*original)->Decode(ids)) << text;
    std::vector<TokenId> converted_ids = (*converted)->Encode(text, kPlain).value();
    if (converted_ids == ids) continue;
    // Sums of float64 here, of float32 there: where they tie, "rr" "r" may be "r" "rr".
    ++tie_count;
    std::ranges::sort(ids);
    std::ranges::sort(converted_ids);
    EXPECT_EQ(converted_ids, ids) << text;
  }
  EXPECT_LT(tie_count, 20);
}

struct UnigramGguf : HandMadeGguf {
  UnigramGguf()
      : HandMadeGguf({"<pad>", "</s>", "<unk>", "▁", "a", "▁a", "aa", "b", "[PAD8]", "<x>"},
                     {3, 3, 2, 1, 1, 1, 1, 1, 5, 4}) {
    values["tokenizer.ggml.model"] = std::string_view("t5");
    values["tokenizer.ggml.scores"] =
        std::vector<double>{0, 0, 0, -2, -3, -4, -3.5, -6, -10000, -1000};
    values["tokenizer.ggml.eos_token_id"] = int64_t{1};
    values["tokenizer.ggml.unknown_token_id"] = int64_t{2};
    values["tokenizer.ggml.add_space_prefix"] = true;
    values["tokenizer.ggml.remove_extra_whitespaces"] = true;
  }
};

TEST(GgufUnigramTest, MetadataIsUnderstood) {
  UnigramGguf gguf;
  auto loaded = gguf.Load(10);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(tokenizer.Encode(" a  ba ", {}).value(), (std::vector<TokenId>{5, 3, 7, 4, 1}));
  EXPECT_EQ(tokenizer.Encode("zza", {}).value(), (std::vector<TokenId>{3, 2, 4, 1}));
  EXPECT_EQ(tokenizer.Encode("a<x>b</s>", {}).value(), (std::vector<TokenId>{5, 9, 3, 7, 1, 1}));
  EXPECT_EQ(tokenizer.Decode({5, 3, 7, 4, 1}), "a ba");
  EXPECT_EQ(tokenizer.end_tokens(), std::vector<TokenId>{1});
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  gguf.values["tokenizer.ggml.add_eos_token"] = false;
  gguf.values["tokenizer.ggml.add_space_prefix"] = false;
  gguf.values["tokenizer.ggml.remove_extra_whitespaces"] = false;
  loaded = gguf.Load(10);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->Encode("b a ", {}).value(), (std::vector<TokenId>{7, 5, 3}));
}

TEST(GgufUnigramTest, AnUnknownCharacterIsWorseThanAnyNormalPiece) {
  HandMadeGguf gguf({"<unk>", "zq", "q", "x", "y"}, {2, 1, 1, 5, 4});
  gguf.values["tokenizer.ggml.model"] = std::string_view("t5");
  gguf.values["tokenizer.ggml.scores"] = std::vector<double>{0, -20, 9.5, -10000, -1000};
  EXPECT_EQ(gguf.Load(5).value()->Encode("zq", kPlain).value(), std::vector<TokenId>{1});
  gguf.values["tokenizer.ggml.scores"] = std::vector<double>{0, -20, 10.5, -10000, -1000};
  EXPECT_EQ(gguf.Load(5).value()->Encode("zq", kPlain).value(), (std::vector<TokenId>{0, 2}));
}

struct WordPieceGguf : HandMadeGguf {
  WordPieceGguf()
      : HandMadeGguf({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁un", "able", "▁!", "▁Un", "▁\u00E2",
                      "\u00E2ble"},
                     {3, 3, 3, 3, 1, 1, 1, 1, 1, 1}) {
    values["tokenizer.ggml.model"] = std::string_view("bert");
  }
};

TEST(GgufWordPieceTest, MetadataIsUnderstood) {
  WordPieceGguf gguf;
  auto loaded = gguf.Load(10);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(tokenizer.Encode("Un\u00E2ble! able", {}).value(),
            (std::vector<TokenId>{2, 4, 5, 6, 1, 3}));
  EXPECT_EQ(tokenizer.Decode({2, 4, 5, 6, 3}), "unable !");
  EXPECT_EQ(tokenizer.bos(), 2);
  EXPECT_EQ(tokenizer.description(), "WordPiece, 10 tokens");
  EXPECT_EQ(tokenizer.Encode("[SEP]", {false, true}).value(), std::vector<TokenId>{3});
  EXPECT_EQ(tokenizer.Encode("un[SEP]", kPlain).value(), (std::vector<TokenId>{4, 1, 1, 1}));

  gguf.values["tokenizer.ggml.normalizer.lowercase"] = false;
  gguf.values["tokenizer.ggml.cls_token_id"] = int64_t{0};
  gguf.values["tokenizer.ggml.seperator_token_id"] = int64_t{2};
  loaded = gguf.Load(10);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->Encode("Un\u00E2ble", {}).value(), (std::vector<TokenId>{0, 7, 9, 2}));
  gguf.values["tokenizer.ggml.normalizer.strip_accents"] = true;
  loaded = gguf.Load(10);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->Encode("Un\u00E2ble", {}).value(), (std::vector<TokenId>{0, 7, 5, 2}));
}

TEST(GgufWordPieceTest, ControlTokensSpellNoWords) {
  HandMadeGguf gguf({"[UNK]", "[CLS]", "[SEP]", "▁un", "pad"}, {3, 3, 3, 1, 3});
  gguf.values["tokenizer.ggml.model"] = std::string_view("bert");
  EXPECT_EQ(gguf.Load(5).value()->Encode("unpad", kPlain).value(), std::vector<TokenId>{0});
  EXPECT_EQ(gguf.Load(5).value()->Encode("unpad", {false, true}).value(),
            (std::vector<TokenId>{3, 4}));
}

TEST(GgufWordPieceTest, AConvertedFileEncodesAsItsOriginal) {
  const std::string path = FixturePath("wordpiece");
  const auto original = Tokenizer::FromDirectory(path, 1000);
  ASSERT_TRUE(original) << original.error().message;
  std::vector<std::string> texts(900);
  std::vector<int64_t> kinds(900, 1);
  const nlohmann::json file = ReadJson(path + "/tokenizer.json");
  for (const auto& [text, id] : file["model"]["vocab"].items()) {
    const auto index = id.get<size_t>();
    if (index < 5) kinds[index] = 3;
    texts[index] = index < 5 ? text : text.starts_with("##") ? text.substr(2) : "▁" + text;
  }
  HandMadeGguf gguf(texts, kinds);
  gguf.values["tokenizer.ggml.model"] = std::string_view("bert");
  const auto converted = gguf.Load(1000);
  ASSERT_TRUE(converted) << converted.error().message;
  const RandomText random_text;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = random_text(seed);
    // In the file, "##▁a" and "a" have one spelling. No real vocabulary has such tokens.
    if (text.find("▁") != std::string::npos) continue;
    EXPECT_EQ((*converted)->Encode(text, {}).value(), (*original)->Encode(text, {}).value())
        << text;
  }
}

TEST(GgufPiecesTest, FilesThatLieAreRefused) {
  const auto expect = [](HandMadeGguf&& gguf, const std::string& key, const GgufValue& value,
                         std::string_view message) {
    gguf.values[key] = value;
    const std::string error = gguf.Error(10);
    EXPECT_NE(error.find(message), std::string::npos) << key << ": " << error;
    EXPECT_NE(error.find("made.gguf"), std::string::npos) << error;
  };
  const std::string charsmap = "tokenizer.ggml.precompiled_charsmap";
  expect(UnigramGguf(), "tokenizer.ggml.scores", std::vector<double>(9), "has 9 entries");
  expect(UnigramGguf(), charsmap, std::vector<int64_t>{1, 2, 3}, "precompiled_charsmap: 3 bytes");
  expect(UnigramGguf(), charsmap, std::vector<int64_t>{0, 0, 256}, "element 2 is 256, a byte");
  expect(UnigramGguf(), charsmap, std::vector<int64_t>{-129}, "element 0 is -129");
  expect(UnigramGguf(), charsmap, std::string_view("x"), "precompiled_charsmap");
  expect(UnigramGguf(), "tokenizer.ggml.unknown_token_id", int64_t{10}, "is 10, a token below 10");
  expect(WordPieceGguf(), "tokenizer.ggml.cls_token_id", int64_t{10}, "is 10, a token below 10");
  expect(WordPieceGguf(), "tokenizer.ggml.seperator_token_id", int64_t{-2}, "is -2");
  expect(WordPieceGguf(), "tokenizer.ggml.normalizer.lowercase", int64_t{1},
         "normalizer.lowercase");
}

}  // namespace
}  // namespace weft
