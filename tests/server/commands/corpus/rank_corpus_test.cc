// Documents ranked through an engine: their order, == alone and in a crowd, and what goes wrong.
#include "server/commands/corpus/rank_corpus.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/read_file.h"
#include "tests/server/test_model.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<InputText> TextsAt(const std::string& file, const std::vector<std::string>& texts) {
  std::vector<InputText> inputs;
  for (const std::string& text : texts) {
    inputs.push_back({.text = text, .place = file + ":" + std::to_string(inputs.size() + 1)});
  }
  return inputs;
}

class RankCorpusTest : public testing::Test {
 protected:
  Result<void> Rank(const RankOptions& options, const std::vector<std::string>& queries,
                    const std::vector<std::string>& documents) {
    const Ranking ranking = {.output = PooledOutput::kTokenLogits, .tokens = {'y', 'n'}};
    const ByteTokenizer tokenizer;
    auto output = OutputFile::Open(path_);
    CorpusProgress progress(/*is_quiet=*/true, std::nullopt);
    return RankCorpus(options,
                      {.ranking = ranking,
                       .params = {.output = ranking.output, .tokens = ranking.tokens},
                       .tokenizer = tokenizer,
                       .engine = model_.engine()},
                      TextsAt("queries", queries), TextsAt("documents", documents), *output,
                      progress);
  }

  std::vector<json> Ranked(const RankOptions& options, const std::vector<std::string>& queries,
                           const std::vector<std::string>& documents) {
    const Result<void> ranked = Rank(options, queries, documents);
    EXPECT_TRUE(ranked) << ranked.error().message;
    std::vector<json> rows;
    std::istringstream lines(ReadFile(path_));
    for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
    return rows;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/out";
  TestModel model_;
};

std::vector<std::string> ManyDocuments() {
  std::vector<std::string> documents;
  for (int i = 0; i < 700; ++i) {  // more than are under way at a time
    documents.push_back(std::string(static_cast<size_t>(i % 40), 'd') + std::to_string(i % 100));
  }
  return documents;
}

TEST_F(RankCorpusTest, TheHighestScoreIsFirst) {
  const std::vector<std::string> documents = ManyDocuments();
  const std::vector<json> rows = Ranked({}, {"query"}, documents);
  ASSERT_EQ(rows.size(), documents.size());
  for (size_t i = 1; i < rows.size(); ++i) {
    const double before = rows[i - 1]["score"];
    const double score = rows[i]["score"];
    EXPECT_TRUE(before > score || (before == score && rows[i - 1]["index"] < rows[i]["index"]));
  }
  for (size_t i = 0; i < rows.size(); i += 97) {
    json alone = Ranked({}, {"query"}, {documents[rows[i]["index"].get<size_t>()]}).at(0);
    EXPECT_EQ(alone["score"], rows[i]["score"]);
  }
  const std::vector<json> top = Ranked({.top_count = 3}, {"query"}, documents);
  EXPECT_EQ(top, std::vector<json>(rows.begin(), rows.begin() + 3));
}

TEST_F(RankCorpusTest, WhatALineHas) {
  const std::vector<json> rows =
      Ranked({.shows_documents = true, .shows_queries = true}, {"a", "b"}, {"x\"", "y\xff"});
  ASSERT_EQ(rows.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].size(), 4U);
    EXPECT_EQ(rows[i]["query"], i / 2);
    EXPECT_EQ(rows[i]["document"], rows[i]["index"] == 0 ? "x\"" : "y\xEF\xBF\xBD");
  }
  const json plain = Ranked({}, {"a"}, {"x"}).at(0);
  EXPECT_EQ(plain.size(), 2U);
  const json raw = Ranked({.raw_scores = true}, {"a"}, {"x"}).at(0);
  EXPECT_EQ(Logistic(raw["score"]), plain["score"]);
  EXPECT_TRUE(Ranked({}, {"a"}, {}).empty());
  EXPECT_TRUE(Ranked({}, {}, {"a"}).empty());
}

TEST_F(RankCorpusTest, TextsThatAreTooLong) {
  const std::string longest(505, 'a');  // and <s> query </s> ... </s>
  const Result<void> refused = Rank({}, {"abcd"}, {longest, longest + "bc"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "documents:2: query and document have 514 tokens, but there are 512 positions; "
            "--truncate cuts them");
  testing::internal::CaptureStderr();
  const std::vector<json> rows = Ranked({.truncates = true}, {"abcd"}, {longest, longest + "bc"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1 of the texts were too long: 2 of their tokens were dropped\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["score"], rows[1]["score"]);
}

TEST_F(RankCorpusTest, AStepThatFailsNamesTheDocument) {
  model_.FailNextStep();
  const Result<void> failed = Rank({}, {"a"}, {"x", "y"});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("documents:1: "));
  EXPECT_THAT(failed.error().message, HasSubstr("the step went wrong"));
}

}  // namespace
}  // namespace weft
