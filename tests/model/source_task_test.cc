// What an encoder-decoder's files and a task's name come to.
#include "model/source_task.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/config_json.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Words of one letter, and the languages of the families that have some.
class WordTokenizer : public Tokenizer {
 public:
  explicit WordTokenizer(std::vector<std::string> words, std::vector<TokenId> before = {},
                         std::vector<TokenId> behind = {})
      : words_(std::move(words)), before_(std::move(before)), behind_(std::move(behind)) {}

  Result<std::vector<TokenId>> Encode(std::string_view text, const EncodeOptions&) const override {
    std::vector<TokenId> ids = before_;
    for (size_t at = 0; at < text.size();) {
      size_t end = text.find(' ', at);
      if (end == std::string_view::npos) end = text.size();
      ids.push_back(TokenOf(text.substr(at, end - at)).value_or(0));
      at = end + 1;
    }
    ids.insert(ids.end(), behind_.begin(), behind_.end());
    return ids;
  }
  Result<EncodedText> EncodeTruncated(std::string_view, const EncodeOptions&,
                                      const Truncation&) const override {
    return EncodedText();
  }
  Result<EncodedText> EncodePair(std::string_view, std::string_view, const EncodeOptions&,
                                 const Truncation&) const override {
    return EncodedText();
  }
  std::string_view TokenBytes(TokenId id) const override { return TokenText(id); }
  std::string Decode(const std::vector<TokenId>&, bool) const override { return {}; }
  int64_t vocab_size() const override { return std::ssize(words_); }
  std::string_view TokenText(TokenId id) const override {
    return words_.at(static_cast<size_t>(id));
  }
  bool IsControl(TokenId) const override { return false; }
  std::optional<TokenId> TokenOf(std::string_view text) const override {
    const auto found = std::ranges::find(words_, text);
    if (found == words_.end()) return std::nullopt;
    return static_cast<TokenId>(found - words_.begin());
  }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return 1; }
  const std::vector<TokenId>& end_tokens() const override { return before_; }
  bool adds_bos() const override { return false; }
  bool adds_eos() const override { return true; }
  std::string_view description() const override { return "words"; }

 private:
  std::vector<std::string> words_;
  std::vector<TokenId> before_;
  std::vector<TokenId> behind_;
};

std::vector<TokenId> Encoded(const Tokenizer& tokenizer, const SourceTask& task,
                             std::string_view text) {
  return EncodeSource(tokenizer, task, text).value();
}

TEST(SourceTask, WithoutANameIsWhatTheFilesSay) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a"}, {}, {1});
  const SourceTask task = FindSourceTask({.prefix = {0, 2}}, tokenizer, "").value();
  EXPECT_THAT(task.target_prefix, ElementsAre(0, 2));
  EXPECT_THAT(Encoded(tokenizer, task, "a a"), ElementsAre(2, 2, 1));
}

TEST(SourceTask, HasThePrefixOfItsName) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a", "summarize:"}, {}, {1});
  const TargetSpec target{.prefix = {0}, .task_prefixes = {{"summarization", "summarize: "}}};
  const SourceTask task = FindSourceTask(target, tokenizer, "summarization").value();
  EXPECT_THAT(Encoded(tokenizer, task, "a"), ElementsAre(3, 2, 1));
  EXPECT_THAT(task.target_prefix, ElementsAre(0));
}

// NLLB and mBART-50: the source's language comes first, the target's behind what always begins.
TEST(SourceTask, TranslatesFromOneLanguageToAnother) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a", "eng_Latn", "deu_Latn"}, {3}, {1});
  const TargetSpec target{.prefix = {1, 3}};
  const SourceTask task =
      FindSourceTask(target, tokenizer, "translation_deu_Latn_to_eng_Latn").value();
  EXPECT_THAT(Encoded(tokenizer, task, "a"), ElementsAre(4, 2, 1));
  EXPECT_THAT(task.target_prefix, ElementsAre(1, 3));
}

// M2M100: its vocabulary has the codes between underscores.
TEST(SourceTask, FindsCodesBetweenUnderscores) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a", "__en__", "__de__"}, {}, {1});
  const SourceTask task =
      FindSourceTask({.prefix = {1}}, tokenizer, "translation_en_to_de").value();
  EXPECT_THAT(Encoded(tokenizer, task, "a"), ElementsAre(3, 2, 1));
  EXPECT_THAT(task.target_prefix, ElementsAre(1, 4));
}

// The first mBART: a text's language stands at its end, and the target begins with its own.
TEST(SourceTask, PutsTheLanguageWhereTheTokenizerDoes) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a", "en_XX", "ro_RO"}, {}, {1, 3});
  const SourceTask task =
      FindSourceTask({.prefix = {4}}, tokenizer, "translation_ro_RO_to_en_XX").value();
  EXPECT_THAT(Encoded(tokenizer, task, "a"), ElementsAre(2, 1, 4));
  EXPECT_THAT(task.target_prefix, ElementsAre(3));
}

TEST(SourceTask, MarksTheTargetInMariansText) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a", ">>de<<"}, {}, {1});
  const SourceTask task =
      FindSourceTask({.prefix = {0}}, tokenizer, "translation_en_to_de").value();
  EXPECT_THAT(Encoded(tokenizer, task, "a"), ElementsAre(3, 2, 1));
  EXPECT_THAT(task.target_prefix, ElementsAre(0));
}

TEST(SourceTask, UnknownOnesAreErrorsThatSayWhatThereIs) {
  const WordTokenizer tokenizer({"<unk>", "</s>", "a", "eng_Latn"}, {3}, {1});
  const TargetSpec target{.prefix = {1}, .task_prefixes = {{"summarization", "summarize: "}}};
  const auto error = [&](std::string_view name) {
    return FindSourceTask(target, tokenizer, name).error().message;
  };
  EXPECT_EQ(error("poetry"),
            "the task 'poetry' is none of this model's; expected summarization, or "
            "translation_SOURCE_to_TARGET with languages of its vocabulary");
  EXPECT_THAT(error("translation_eng_Latn_to_xyz_Latn"), HasSubstr("has no language 'xyz_Latn'"));
  EXPECT_THAT(error("translation_xyz_Latn_to_eng_Latn"), HasSubstr("has no language 'xyz_Latn'"));
  EXPECT_THAT(error("translation_a_to_a"), HasSubstr("has no language 'a'"));  // a word is none
  EXPECT_THAT(error("translation_"), HasSubstr("is none of this model's"));
}

TEST(SourceTask, OfMarianTheTargetIsNamedAndThoseThatThereAre) {
  const WordTokenizer marian({">>fra<<", "</s>", "en", ">>zh_Hans<<", ">>de<<", ">><<"}, {}, {1});
  EXPECT_EQ(FindSourceTask({.prefix = {0}}, marian, "translation_en_to_xx").error().message,
            "the task 'translation_en_to_xx' is none of this model's: its vocabulary has no "
            "language 'xx'; expected translation_SOURCE_to_TARGET with a TARGET among de, fra, "
            "zh_Hans");
  // One of a single language has no names for any.
  const WordTokenizer single({"<unk>", "</s>", "en"}, {}, {1});
  EXPECT_THAT(FindSourceTask({.prefix = {0}}, single, "translation_en_to_xx").error().message,
              HasSubstr("has no language 'xx'; expected translation_SOURCE_to_TARGET with "
                        "languages of its vocabulary"));
}

TEST(SourceTask, AGreatManyTargetsAreCut) {
  std::vector<std::string> words = {"<unk>", "</s>"};
  for (int i = 1000; i < 1201; ++i) words.push_back(">>" + std::to_string(i) + "<<");
  const WordTokenizer marian(words, {}, {1});
  const std::string error =
      FindSourceTask({.prefix = {0}}, marian, "translation_en_to_xx").error().message;
  EXPECT_TRUE(error.ends_with(", 1198, 1199, ...")) << error;
}

TEST(HfTarget, ComesFromGenerationConfig) {
  TargetSpec target{.prefix = {7, 8}};
  ASSERT_TRUE(ReadHfTarget(R"({"decoder_start_token_id": 3, "forced_bos_token_id": 4,
                               "bad_words_ids": [[5], [6]]})",
                           "g.json", 10, target));
  EXPECT_THAT(target.prefix, ElementsAre(3, 4));
  EXPECT_THAT(target.banned, ElementsAre(5, 6));
  ASSERT_TRUE(ReadHfTarget(R"({"forced_bos_token_id": null})", "g.json", 10, target));
  EXPECT_THAT(target.prefix, ElementsAre(3, 4));
}

TEST(HfTarget, TokensOutsideTheVocabularyAreErrors) {
  TargetSpec target{.prefix = {0}};
  const auto error = [&](std::string_view text) {
    return ReadHfTarget(text, "g.json", 10, target).error().message;
  };
  EXPECT_EQ(error(R"({"decoder_start_token_id": 10})"),
            "g.json: decoder_start_token_id is 10, expected a token from 0 to 9");
  EXPECT_EQ(error(R"({"forced_bos_token_id": -1})"),
            "g.json: forced_bos_token_id is -1, expected a token from 0 to 9");
  EXPECT_EQ(error(R"({"forced_bos_token_id": "a"})"),
            "g.json: forced_bos_token_id is string, expected a token from 0 to 9");
  EXPECT_EQ(error(R"({"bad_words_ids": [[1, 2]]})"),
            "g.json: bad_words_ids has an entry that is no array of one token");
  EXPECT_EQ(error(R"({"bad_words_ids": 3})"),
            "g.json: bad_words_ids has an entry that is no array of one token");
}

TEST(HfTarget, TasksAreThoseWithAPrefix) {
  TargetSpec target;
  ASSERT_TRUE(ReadHfTasks(R"({"task_specific_params": {"summarization": {"prefix": "summarize: "},
                              "other": {"num_beams": 4}, "odd": 3}})",
                          "c.json", target));
  EXPECT_THAT(target.task_prefixes, ElementsAre(testing::Pair("summarization", "summarize: ")));
  ASSERT_TRUE(ReadHfTasks(R"({"task_specific_params": null})", "c.json", target));
}

}  // namespace
}  // namespace weft
