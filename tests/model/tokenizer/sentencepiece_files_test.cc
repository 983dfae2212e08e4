// SentencePiece files with a Unigram model: spiece.model and its like, under transformers' classes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/tokenizer/tokenizer_model.h"
#include "tests/model/tokenizer/random_text.h"
#include "tests/read_file.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

constexpr EncodeOptions kPlain = {.add_special_tokens = false, .parse_special_tokens = false};

std::string ReadModel() { return ReadFile(FixturePath("sentencepiece_unigram/tokenizer.model")); }

// A message, or a field of other type, of protobuf's wire format; up to 127 bytes.
std::string Field(int number, int wire_type, const std::string& payload) {
  return std::string(1, static_cast<char>(number << 3 | wire_type)) + payload;
}
std::string Message(int number, const std::string& bytes) {
  return Field(number, 2, static_cast<char>(bytes.size()) + bytes);
}
std::string Piece(const std::string& text, float score, char type) {
  const std::string bytes(reinterpret_cast<const char*>(&score), sizeof(score));
  return Message(1, Message(1, text) + Field(2, 5, bytes) + Field(3, 0, std::string(1, type)));
}

class SentencePieceClassTest : public testing::Test {
 protected:
  Result<std::shared_ptr<const Tokenizer>> Load(const std::string& file_name,
                                                const std::string& config,
                                                int64_t vocab_size = 1000) const {
    const TemporaryDirectory directory;
    directory.Write(file_name, model_);
    directory.Write("tokenizer_config.json", config);
    return Tokenizer::FromDirectory(directory.path(), vocab_size);
  }

  const std::string model_ = ReadModel();
  const std::shared_ptr<const Tokenizer> library_ =
      LoadTokenizerModel(model_, "m", {}, 1000).value();
  const RandomText random_text_;
};

TEST_F(SentencePieceClassTest, T5EndsTextsAndHasSentinels) {
  const auto tokenizer =
      Load("spiece.model", R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 3})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = random_text_(seed);
    std::vector<TokenId> ids = library_->Encode(text, kPlain).value();
    EXPECT_EQ((*tokenizer)->Encode(text, kPlain).value(), ids);
    ids.push_back(2);
    EXPECT_EQ((*tokenizer)->Encode(text, {true, false}).value(), ids);
  }
  EXPECT_EQ((*tokenizer)->TokenOf("<extra_id_2>"), 800);
  EXPECT_EQ((*tokenizer)->TokenOf("<extra_id_0>"), 802);
  EXPECT_TRUE((*tokenizer)->IsControl(802));
  EXPECT_TRUE((*tokenizer)->adds_eos());
  EXPECT_FALSE((*tokenizer)->adds_bos());
  EXPECT_EQ((*tokenizer)->description(), "SentencePiece Unigram (tokenizer.model), 803 tokens");
}

TEST_F(SentencePieceClassTest, T5sSentinelsMayBeListed) {
  const auto tokenizer =
      Load("spiece.model", R"({"tokenizer_class": "T5TokenizerFast", "added_tokens_decoder":
                               {"805": {"content": "<extra_id_0>", "special": true}}})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->TokenOf("<extra_id_0>"), 805);
  EXPECT_EQ((*tokenizer)->TokenOf("<extra_id_1>"), std::nullopt);
}

// <s>, <pad>, </s>, <unk>, and the file's pieces one further.
TEST_F(SentencePieceClassTest, FairseqsIdsAreMoved) {
  const auto shifted = [&](const std::string& text) {
    std::vector<TokenId> ids = library_->Encode(text, kPlain).value();
    for (TokenId& id : ids) id = id == 0 ? 3 : id + 1;
    return ids;
  };
  const auto roberta =
      Load("sentencepiece.bpe.model", R"({"tokenizer_class": "XLMRobertaTokenizer"})");
  ASSERT_TRUE(roberta) << roberta.error().message;
  const auto xglm = Load("sentencepiece.bpe.model", R"({"tokenizer_class": "XGLMTokenizer"})");
  ASSERT_TRUE(xglm) << xglm.error().message;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = random_text_(seed);
    std::vector<TokenId> ids = shifted(text);
    EXPECT_EQ((*roberta)->Encode(text, kPlain).value(), ids);
    ids.insert(ids.begin(), 2);
    EXPECT_EQ((*xglm)->Encode(text, {true, false}).value(), ids);
    ids.front() = 0;
    ids.push_back(2);
    EXPECT_EQ((*roberta)->Encode(text, {true, false}).value(), ids);
  }
  EXPECT_EQ((*roberta)->TokenOf("<mask>"), 801);
  EXPECT_EQ((*roberta)->bos(), 0);
  EXPECT_EQ((*roberta)->eos(), 2);
  EXPECT_EQ((*xglm)->TokenOf("<madeupword0>"), 801);
  EXPECT_EQ((*xglm)->TokenOf("<madeupword6>"), 807);
  EXPECT_EQ((*xglm)->end_tokens(), std::vector<TokenId>{2});
  EXPECT_FALSE(Load("sentencepiece.bpe.model", R"({"tokenizer_class": "XGLMTokenizer"})", 807));
}

// fairseq's ids, the languages behind the pieces, and the source's around a text.
TEST_F(SentencePieceClassTest, TranslatorsHaveTheirLanguagesBehindThePieces) {
  const auto encode = [&](const std::string& class_and_more) {
    const auto tokenizer =
        Load("sentencepiece.bpe.model", R"({"tokenizer_class": ")" + class_and_more + "}", 2000);
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return std::pair((*tokenizer)->Encode("the", {}).value(), (*tokenizer)->TokenOf("<mask>"));
  };
  const TokenId word = library_->Encode("the", kPlain).value().front() + 1;
  using Expected = std::pair<std::vector<TokenId>, std::optional<TokenId>>;
  EXPECT_EQ(encode("MBartTokenizer\""), Expected({word, 2, 804}, 826));
  EXPECT_EQ(encode(R"(MBartTokenizer", "src_lang": "ar_AR")"), Expected({word, 2, 801}, 826));
  EXPECT_EQ(encode(R"(MBart50TokenizerFast", "src_lang": "sl_SI")"), Expected({852, word, 2}, 853));
  EXPECT_EQ(encode("NllbTokenizer\""), Expected({847, word, 2}, 1003));
  EXPECT_EQ(encode(R"(NllbTokenizer", "legacy_behaviour": true, "src_lang": "ace_Arab")"),
            Expected({word, 2, 801}, 1003));
  const auto none = Load("sentencepiece.bpe.model",
                         R"({"tokenizer_class": "MBartTokenizer", "src_lang": "eng_Latn"})");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("src_lang is 'eng_Latn', none of MBartTokenizer's 25"),
            std::string::npos);
}

// NLLB's file has a BPE model.
TEST(BpeFileTest, NllbsIdsAreFairseqs) {
  const std::string model = ReadFile(FixturePath("sentencepiece_nfkc/tokenizer.model"));
  SpecialTokenHints hints;
  const auto library = LoadTokenizerModel(model, "m", hints, 2000).value();
  hints.tokenizer_class = "NllbTokenizer";
  const auto nllb = LoadTokenizerModel(model, "m", hints, 2000);
  ASSERT_TRUE(nllb) << nllb.error().message;
  const RandomText random_text;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<TokenId> ids = library->Encode(random_text(seed), kPlain).value();
    for (TokenId& id : ids) id = id == 0 ? 3 : id + 1;
    EXPECT_EQ((*nllb)->Encode(random_text(seed), kPlain).value(), ids);
  }
  EXPECT_EQ((*nllb)->TokenOf("ace_Arab"), 801);
}

TEST_F(SentencePieceClassTest, AlbertLowersAndStripsUnlessToldOtherwise) {
  const std::string special = R"("cls_token": "<s>", "sep_token": "</s>")";
  const auto albert =
      Load("spiece.model", R"({"tokenizer_class": "AlbertTokenizer", )" + special + "}");
  ASSERT_TRUE(albert) << albert.error().message;
  const auto ids = [&](const std::string& text) { return library_->Encode(text, kPlain).value(); };
  EXPECT_EQ((*albert)->Encode("``Na\u00EFve'' \u0391", kPlain).value(), ids("\"naive\" \u03B1"));
  std::vector<TokenId> expected = ids("the");
  expected.insert(expected.begin(), 1);
  expected.push_back(2);
  EXPECT_EQ((*albert)->Encode("THE", {true, false}).value(), expected);
  const auto keeping = Load("spiece.model", R"({"tokenizer_class": "AlbertTokenizer",
      "do_lower_case": false, "keep_accents": true, )" +
                                                special + "}");
  ASSERT_TRUE(keeping) << keeping.error().message;
  const std::string text = "Na\u00EFve \u0391";
  EXPECT_EQ((*keeping)->Encode(text, kPlain).value(), ids(text));
  EXPECT_FALSE(Load("spiece.model", R"({"tokenizer_class": "AlbertTokenizer"})"));  // no [CLS]
}

TEST_F(SentencePieceClassTest, OtherClassesAreRefusedByName) {
  const auto camembert = Load("spiece.model", R"({"tokenizer_class": "CamembertTokenizer"})");
  ASSERT_FALSE(camembert);
  EXPECT_NE(camembert.error().message.find("spiece.model: a Unigram model of the class "
                                           "'CamembertTokenizer', which is not supported"),
            std::string::npos)
      << camembert.error().message;
  for (const std::string ids : {"-1", "1001"}) {
    const auto t5 =
        Load("spiece.model", R"({"tokenizer_class": "T5Tokenizer", "extra_ids": )" + ids + "}");
    ASSERT_FALSE(t5);
    EXPECT_NE(t5.error().message.find("extra_ids is " + ids), std::string::npos);
  }
}

TEST(UnigramFileTest, FairseqsIdsAskForSpecialPieces) {
  SpecialTokenHints hints;
  hints.tokenizer_class = "XGLMTokenizer";
  const std::string file = Piece("<unk>", 0, 2) + Piece("<s>", 0, 3) + Piece("a", -1, 1);
  const auto tokenizer = LoadTokenizerModel(file, "t.model", hints, 100);
  ASSERT_FALSE(tokenizer);
  EXPECT_NE(tokenizer.error().message.find("t.model: piece 2 is no special one"),
            std::string::npos);
  EXPECT_FALSE(LoadTokenizerModel(Piece("<unk>", 0, 2), "t.model", hints, 100));
}

TEST(UnigramFileTest, UnusedPiecesStayUnused) {
  const std::string file = Piece("<unk>", 0, 2) + Piece("<s>", 0, 3) + Piece("</s>", 0, 3) +
                           Piece("a", -3, 1) + Piece("aa", -1, 5) + Piece("\xE2\x96\x81", -2, 1);
  const auto tokenizer = LoadTokenizerModel(file, "t.model", {}, 6);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("aa", kPlain).value(), (std::vector<TokenId>{5, 3, 3}));
}

TEST(UnigramFileTest, AnUnknownCharacterIsWorseThanAnyNormalPiece) {
  const auto encode = [](float score) {
    const std::string file = Piece("<unk>", 0, 2) + Piece("<s>", 0, 3) + Piece("</s>", 0, 3) +
                             Piece("zq", -20, 1) + Piece("q", score, 1) + Piece("y", -99, 4) +
                             Piece("x", -999, 5) + Piece("\xE2\x96\x81", -2, 1);
    return LoadTokenizerModel(file, "t.model", {}, 8).value()->Encode("zq", kPlain).value();
  };
  EXPECT_EQ(encode(9.5f), (std::vector<TokenId>{7, 3}));
  EXPECT_EQ(encode(10.5f), (std::vector<TokenId>{7, 0, 4}));
}

// Files cut off anywhere, and with single bytes changed, come to no harm.
TEST(UnigramFileTest, DamagedFilesComeToNoHarm) {
  const std::string model = ReadModel();
  for (size_t size = 0; size < model.size(); size += 97) {
    static_cast<void>(LoadTokenizerModel(std::string_view(model).substr(0, size), "m", {}, 1000));
  }
  for (size_t i = 0; i < model.size(); i += 101) {
    std::string spoilt = model;
    spoilt[i] = static_cast<char>(spoilt[i] ^ (1 << i % 8));
    const auto tokenizer = LoadTokenizerModel(spoilt, "m", {}, 1000);
    if (tokenizer) static_cast<void>((*tokenizer)->Encode("Hello World \xFF \u00C9\uFF21", {}));
  }
}

}  // namespace
}  // namespace weft
