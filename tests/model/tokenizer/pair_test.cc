// Two texts in one sequence, and texts for which there is not always room, as Hugging Face's
// tokenizers have them. tests/tools/make_pair_fixtures.py made the fixture and says what is in it.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/tokenizer_json.h"
#include "tests/model/tokenizer/hand_made_gguf.h"
#include "tests/model/tokenizer/random_text.h"
#include "tests/read_file.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;
using Json = nlohmann::json;

constexpr Truncation kWhole;

std::shared_ptr<const Tokenizer> LoadWith(const std::string& name, const Json& post_processor) {
  Json json = ReadJson(FixturePath(name) + "/tokenizer.json");
  if (!post_processor.is_null()) json["post_processor"] = post_processor;
  const auto tokenizer = LoadTokenizerValue(json, name, {}, 2000);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer.value_or(nullptr);
}

// room_of() of the script.
Truncation TruncationOf(uint64_t i, int64_t special_count) {
  Random random(50'000 + i);
  Truncation truncation;
  truncation.max_tokens = special_count + static_cast<int64_t>(random.Below(60));
  truncation.side = std::array{Truncation::Side::kRight, Truncation::Side::kLeft}[random.Below(2)];
  truncation.of = std::array{Truncation::Of::kLongestFirst, Truncation::Of::kOnlyFirst,
                             Truncation::Of::kOnlySecond}[random.Below(3)];
  return truncation;
}

// case_bytes() of the script.
std::string CaseBytes(const Result<EncodedText>& encoded) {
  if (!encoded) return encoded.error().code == ErrorCode::kInvalidArgument ? "-" : "another error";
  Ids numbers = encoded->ids;
  for (size_t i = 0; i < encoded->ids.size(); ++i) {
    numbers.push_back(static_cast<int32_t>(i) >= encoded->second_text ? 1 : 0);
  }
  numbers.push_back(static_cast<TokenId>(encoded->dropped_count));
  return IdBytes(numbers);
}

std::vector<std::string> HashesOfCases(const Tokenizer& tokenizer, bool is_pair) {
  const RandomText random_text;
  const auto encode = [&](const std::string& a, const std::string& b,
                          const Truncation& truncation) {
    return is_pair ? tokenizer.EncodePair(a, b, {}, truncation)
                   : tokenizer.EncodeTruncated(a, {}, truncation);
  };
  const auto special_count = static_cast<int64_t>(encode("", "", kWhole).value().ids.size());
  std::vector<std::string> hashes;
  for (uint64_t begin = 0; begin < 1000; begin += kBlock) {
    Fnv1a hash;
    for (uint64_t i = begin; i < begin + kBlock; ++i) {
      const uint64_t seed = 40'000 + 2 * i;
      hash.Add(CaseBytes(encode(random_text(seed), random_text(seed + 1),
                                TruncationOf(i, special_count))) +
               "\xFF\xFF\xFF\xFF");
    }
    hashes.push_back(hash.Hex());
  }
  return hashes;
}

TEST(PairTest, TextsAreCutAndPutTogetherAsInTheReference) {
  const Json rows = ReadJson(FixturePath("pairs.json"));
  ASSERT_EQ(rows.size(), 14);
  for (const Json& row : rows) {
    SCOPED_TRACE(row["name"].get<std::string>() + " " + row["post_processor"].dump());
    const auto tokenizer = LoadWith(row["name"], row["post_processor"]);
    ASSERT_NE(tokenizer, nullptr);
    EXPECT_EQ(HashesOfCases(*tokenizer, true), row["pairs"].get<std::vector<std::string>>());
    EXPECT_EQ(HashesOfCases(*tokenizer, false), row["singles"].get<std::vector<std::string>>());
  }
}

TEST(PairTest, SpecialTokensStandWhereTheFilesSay) {
  const auto bert = LoadWith("wordpiece", nullptr);
  const TokenId cls = bert->TokenOf("[CLS]").value();
  const TokenId sep = bert->TokenOf("[SEP]").value();
  const EncodeOptions plain = {.add_special_tokens = false};
  const Ids a = bert->Encode("the king", plain).value();
  const Ids b = bert->Encode("a frog", plain).value();
  Ids expected = {cls};
  expected.insert(expected.end(), a.begin(), a.end());
  expected.push_back(sep);
  const auto second_text = static_cast<int32_t>(expected.size());
  expected.insert(expected.end(), b.begin(), b.end());
  expected.push_back(sep);
  const EncodedText pair = bert->EncodePair("the king", "a frog", {}, kWhole).value();
  EXPECT_EQ(pair.ids, expected);
  EXPECT_EQ(pair.second_text, second_text);
  EXPECT_EQ(pair.dropped_count, 0);
  const EncodedText bare = bert->EncodePair("the king", "a frog", plain, kWhole).value();
  EXPECT_EQ(bare.ids.size(), a.size() + b.size());
  EXPECT_EQ(bare.second_text, static_cast<int32_t>(a.size()));
  const EncodedText single = bert->EncodeTruncated("the king", {}, kWhole).value();
  EXPECT_EQ(single.ids, bert->Encode("the king", {}).value());
  EXPECT_EQ(single.second_text, kNoSecondText);
}

TEST(PairTest, TextsMayNotBecomeSpecialTokens) {
  const auto bert = LoadWith("wordpiece", nullptr);
  const EncodeOptions untrusted = {.add_special_tokens = true, .parse_special_tokens = false};
  const TokenId sep = bert->TokenOf("[SEP]").value();
  const auto count = [&](const EncodeOptions& options) {
    const Ids ids = bert->EncodePair("a[SEP]", "[SEP]", options, kWhole).value().ids;
    return std::ranges::count(ids, sep);
  };
  EXPECT_EQ(count({}), 4);
  EXPECT_EQ(count(untrusted), 2);
}

TEST(PairTest, WhatLeavesNoRoomIsRefused) {
  const auto bert = LoadWith("wordpiece", nullptr);
  const auto error = [&](const Truncation& truncation) {
    const auto encoded = bert->EncodePair("the the the", "the", {}, truncation);
    return encoded ? std::to_string(encoded->ids.size()) : encoded.error().message;
  };
  EXPECT_EQ(error({.max_tokens = 2}),
            "at most 2 tokens are asked for, the special tokens alone are 3");
  EXPECT_EQ(error({.max_tokens = -1}),
            "at most -1 tokens are asked for, the special tokens alone are 3");
  EXPECT_EQ(error({.max_tokens = 3}), "3");
  EXPECT_EQ(error({.max_tokens = 6, .of = Truncation::Of::kOnlySecond}),
            "the first text has 3 tokens, which leave nothing of the 3 that both may have");
  EXPECT_EQ(error({.max_tokens = 4, .of = Truncation::Of::kOnlyFirst}),
            "the second text has 1 tokens, which leave nothing of the 1 that both may have");
  EXPECT_EQ(error({.max_tokens = 5, .of = Truncation::Of::kOnlyFirst}), "5");
}

TEST(PairTest, ATemplateThatNoPairCanHaveIsRefusedWhenOneComes) {
  const auto error = [](const std::string& pair) {
    const Json processor = {
        {"type", "TemplateProcessing"},
        {"single", Json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})},
        {"pair", Json::parse(pair)},
        {"special_tokens", {{"[SEP]", {{"id", "[SEP]"}, {"ids", {3}}, {"tokens", {"[SEP]"}}}}}}};
    const auto encoded = LoadWith("wordpiece", processor)->EncodePair("a", "b", {}, kWhole);
    EXPECT_TRUE(encoded || encoded.error().code == ErrorCode::kUnsupported);
    return encoded ? std::string() : encoded.error().message;
  };
  const std::string a = R"({"Sequence": {"id": "A", "type_id": 0}})";
  const std::string b = R"({"Sequence": {"id": "B", "type_id": 1}})";
  const std::string cls = R"({"SpecialToken": {"id": "[SEP]", "type_id": 2}})";
  const std::string sep = R"({"SpecialToken": {"id": "[SEP]", "type_id": 1}})";
  const std::string back = R"({"SpecialToken": {"id": "[SEP]", "type_id": 0}})";
  const auto list = [](const auto&... elements) {
    std::string text;
    ((text += (text.empty() ? "[" : ", ") + elements), ...);
    return text + "]";
  };
  EXPECT_EQ(error(list(a, sep, b)), "");
  EXPECT_EQ(error("null"), "wordpiece: post_processor.pair: no template for two texts");
  EXPECT_EQ(error(list(a, b, cls)),
            "wordpiece: post_processor.pair[2].SpecialToken: token types other than 0 and then 1 "
            "are not supported");
  EXPECT_NE(error(list(a, b, back)).find("token types other"), std::string::npos);
  EXPECT_NE(error(list(sep, a, b)).find("changes elsewhere"), std::string::npos);
  EXPECT_NE(error(list(b, a)).find("changes elsewhere"), std::string::npos);
  EXPECT_NE(error(list(a, a)).find("other texts than A and then B"), std::string::npos);
  EXPECT_NE(error(list(a, b, b)).find("other texts than A and then B"), std::string::npos);
  EXPECT_NE(error(list(a)).find("without two texts"), std::string::npos);
  Json json = ReadJson(FixturePath("wordpiece/tokenizer.json"));
  json["post_processor"]["pair"][0]["SpecialToken"]["id"] = "[NONE]";
  const auto lost = LoadTokenizerValue(json, "t.json", {}, 2000);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message,
            "t.json: post_processor.special_tokens.'[NONE]'.ids is missing, an array expected");
  json = ReadJson(FixturePath("wordpiece/tokenizer.json"));
  json["post_processor"] = {{"type", "Sequence"}, {"processors", Json(2, json["post_processor"])}};
  const auto twice = LoadTokenizerValue(json, "t.json", {}, 2000);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message,
            "t.json: post_processor.processors[1]: a second one that adds tokens is not supported");
}

TEST(PairTest, FlagsBesideTheFileStandAroundEachText) {
  SpecialTokenHints hints;
  hints.bos_text = "<|im_start|>";
  hints.eos_text = "<|endoftext|>";
  hints.adds_bos = true;
  hints.adds_eos = true;
  const auto loaded =
      LoadTokenizerValue(ReadJson(FixturePath("qwen2/tokenizer.json")), "t.json", hints, 2000);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  const TokenId bos = tokenizer.bos().value();
  const TokenId eos = tokenizer.eos().value();
  const TokenId a = tokenizer.TokenOf("a").value();
  const TokenId b = tokenizer.TokenOf("b").value();
  const EncodedText pair = tokenizer.EncodePair("a", "b", {}, kWhole).value();
  EXPECT_EQ(pair.ids, (Ids{bos, a, eos, bos, b, eos}));
  EXPECT_EQ(pair.second_text, 3);
}

struct ClassCase {
  std::string name;
  std::string config;
  std::vector<std::string> before, between, after;
  bool has_types = false;
};

// As transformers' classes of these names put two texts together.
TEST(PairTest, SentencePieceFilesFollowTheirClass) {
  const std::vector<ClassCase> cases = {
      {"spiece.model", R"({"tokenizer_class": "T5Tokenizer"})", {}, {"</s>"}, {"</s>"}},
      {"sentencepiece.bpe.model",
       R"({"tokenizer_class": "XLMRobertaTokenizer"})",
       {"<s>"},
       {"</s>", "</s>"},
       {"</s>"}},
      {"sentencepiece.bpe.model",
       R"({"tokenizer_class": "XGLMTokenizer"})",
       {"</s>"},
       {"</s>", "</s>"},
       {}},
      {"spiece.model",
       R"({"tokenizer_class": "AlbertTokenizer", "cls_token": "<s>", "sep_token": "</s>"})",
       {"<s>"},
       {"</s>"},
       {"</s>"},
       true},
  };
  for (const ClassCase& one : cases) {
    SCOPED_TRACE(one.config);
    const TemporaryDirectory directory;
    directory.Write(one.name, ReadFile(FixturePath("sentencepiece_unigram/tokenizer.model")));
    directory.Write("tokenizer_config.json", one.config);
    const auto loaded = Tokenizer::FromDirectory(directory.path(), 1000);
    ASSERT_TRUE(loaded) << loaded.error().message;
    Ids expected;
    const auto add = [&](const std::vector<std::string>& specials) {
      for (const std::string& special : specials) {
        expected.push_back((*loaded)->TokenOf(special).value());
      }
    };
    const auto add_text = [&](std::string_view text) {
      const Ids ids = (*loaded)->Encode(text, {.add_special_tokens = false}).value();
      expected.insert(expected.end(), ids.begin(), ids.end());
    };
    add(one.before);
    add_text("the king");
    add(one.between);
    const auto second_text = static_cast<int32_t>(expected.size());
    add_text("a frog");
    add(one.after);
    const EncodedText pair = (*loaded)->EncodePair("the king", "a frog", {}, kWhole).value();
    EXPECT_EQ(pair.ids, expected);
    EXPECT_EQ(pair.second_text, one.has_types ? second_text : kNoSecondText);
  }
}

TEST(PairTest, VocabTxtIsBerts) {
  const auto loaded = Tokenizer::FromDirectory(FixturePath("wordpiece_files"), 2000);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const TokenId cls = (*loaded)->TokenOf("[CLS]").value();
  const TokenId sep = (*loaded)->TokenOf("[SEP]").value();
  const EncodedText pair = (*loaded)->EncodePair("", "", {}, kWhole).value();
  EXPECT_EQ(pair.ids, (Ids{cls, sep, sep}));
  EXPECT_EQ(pair.second_text, 2);
}

struct UnigramPairGguf : HandMadeGguf {
  explicit UnigramPairGguf(const std::string& separator = "</s>")
      : HandMadeGguf({"<s>", separator, "<unk>", "a", "b", "<sep>"}, {3, 3, 2, 1, 1, 3}) {
    values["tokenizer.ggml.model"] = std::string_view("t5");
    values["tokenizer.ggml.scores"] = std::vector<double>{0, 0, 0, -2, -3, 0};
    values["tokenizer.ggml.bos_token_id"] = int64_t{0};
    values["tokenizer.ggml.eos_token_id"] = int64_t{1};
  }
  Ids Pair() const {
    const EncodedText pair = Load(10).value()->EncodePair("a", "b", {}, kWhole).value();
    EXPECT_EQ(pair.second_text, kNoSecondText);
    return pair.ids;
  }
};

TEST(GgufPairTest, SeparatorsStandWhereLlamaCppPutsThem) {
  UnigramPairGguf gguf;
  EXPECT_EQ(gguf.Pair(), (Ids{3, 1, 4, 1}));  // T5 adds EOS alone
  gguf.values["tokenizer.ggml.add_bos_token"] = true;
  EXPECT_EQ(gguf.Pair(), (Ids{0, 3, 1, 1, 4, 1}));  // XLM-RoBERTa
  gguf.values["tokenizer.ggml.add_sep_token"] = false;
  EXPECT_EQ(gguf.Pair(), (Ids{0, 3, 1, 4, 1}));
  gguf.values["tokenizer.ggml.add_sep_token"] = true;
  gguf.values["tokenizer.ggml.seperator_token_id"] = int64_t{5};
  EXPECT_EQ(gguf.Pair(), (Ids{0, 3, 1, 5, 4, 1}));
  gguf.values["tokenizer.ggml.add_eos_token"] = false;
  EXPECT_EQ(gguf.Pair(), (Ids{0, 3, 5, 4}));
  gguf.values["tokenizer.ggml.seperator_token_id"] = int64_t{99};
  EXPECT_NE(gguf.Error(10).find("seperator_token_id is 99"), std::string::npos);
}

TEST(GgufPairTest, ModernBertsSeparatorStandsOnce) {
  UnigramPairGguf gguf("[SEP]");
  gguf.values["tokenizer.ggml.add_bos_token"] = true;
  gguf.values["tokenizer.ggml.add_sep_token"] = true;
  EXPECT_EQ(gguf.Pair(), (Ids{0, 3, 1, 4, 1}));
}

TEST(GgufPairTest, WordPieceHasBertsPairsAndTypes) {
  HandMadeGguf gguf({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "▁b"}, {3, 3, 3, 3, 1, 1});
  gguf.values["tokenizer.ggml.model"] = std::string_view("bert");
  const EncodedText pair = gguf.Load(10).value()->EncodePair("a", "b", {}, kWhole).value();
  EXPECT_EQ(pair.ids, (Ids{2, 4, 3, 5, 3}));
  EXPECT_EQ(pair.second_text, 3);
}

}  // namespace
}  // namespace weft
