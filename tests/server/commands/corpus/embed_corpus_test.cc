// A corpus through an engine: order, == alone and in a crowd, files, and what goes wrong.
#include "server/commands/corpus/embed_corpus.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/api/embeddings/embedding_answer.h"
#include "server/commands/corpus/pooling_pipeline.h"
#include "tests/read_file.h"
#include "tests/server/test_model.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kSize = 5;  // of the fake's embeddings

struct Corpus {
  explicit Corpus(std::string_view text, const TestModelOptions& options = {})
      : input_path(directory.Write("texts", text)), model(options) {}

  Result<void> Embed(const EmbedOptions& options,
                     EmbeddingFileFormat format = EmbeddingFileFormat::kJsonLines) {
    auto input = TextInput::Open({.paths = {input_path}});
    auto output = OutputFile::Open(output_path);
    if (!output) return tl::unexpected(output.error());
    EmbeddingWriter writer(*output, format, options.dimensions);
    CorpusProgress progress(/*is_quiet=*/true, input->total_bytes());
    return EmbedCorpus(options, model.engine(), ByteTokenizer(), *input, writer, progress);
  }

  // What was written, checked for its indices.
  std::vector<std::vector<float>> Vectors() const {
    std::vector<std::vector<float>> vectors;
    std::istringstream lines(ReadFile(output_path));
    for (std::string line; std::getline(lines, line);) {
      const json object = json::parse(line);
      EXPECT_EQ(object.size(), 2U);
      EXPECT_EQ(object["index"], vectors.size());
      vectors.push_back(object["embedding"].get<std::vector<float>>());
    }
    return vectors;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TemporaryDirectory directory;
  std::string input_path;
  std::string output_path = directory.path() + "/out";
  TestModel model;
};

const EmbedOptions kPlain = {.pooling = Pooling::kMean, .dimensions = kSize};

TEST(EmbedCorpusTest, EachIsWhatItIsAlone) {
  std::string text;
  std::vector<std::string> lines;
  for (int i = 0; i < 2000; ++i) {  // more than are under way at a time
    lines.push_back(std::string(static_cast<size_t>(i * 7 % 90), static_cast<char>('a' + i % 26)) +
                    std::to_string(i % 100));
    text += lines.back() + "\n";
  }
  Corpus all(text);
  ASSERT_TRUE(all.Embed(kPlain));
  const auto vectors = all.Vectors();
  ASSERT_EQ(vectors.size(), lines.size());
  PoolingPipeline alone(all.model.engine(), {.pooling = Pooling::kMean});
  for (size_t i = 0; i < lines.size(); i += 37) {
    ASSERT_TRUE(alone.Submit({.ids = *ByteTokenizer().Encode(lines[i], {})}));
    const Result<PooledPrompt> pooled = alone.Next();
    ASSERT_TRUE(pooled);
    EXPECT_EQ(vectors[i], NormalizedEmbedding(pooled->result.values, kSize)) << i;
    EXPECT_EQ(pooled->token_count, static_cast<int32_t>(lines[i].size()) + 1);
  }
}

TEST(EmbedCorpusTest, AQueueThatIsShort) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i) + "\n";
  TestModelOptions options;
  options.max_sequences = 4;
  options.max_waiting = 12;
  Corpus corpus(text, options);
  const Result<void> embedded = corpus.Embed(kPlain);
  ASSERT_TRUE(embedded) << embedded.error().message;
  EXPECT_EQ(corpus.Vectors().size(), 3000U);
}

TEST(EmbedCorpusTest, AnEmptyLineIsAnEmptyText) {
  Corpus corpus("a\n\nb\n");
  ASSERT_TRUE(corpus.Embed(kPlain));
  EXPECT_EQ(corpus.Vectors().size(), 3U);
  Corpus nothing("");
  ASSERT_TRUE(nothing.Embed(kPlain));
  EXPECT_EQ(ReadFile(nothing.output_path), "");
}

TEST(EmbedCorpusTest, OptionsChangeTheVectors) {
  const auto embed = [](std::string_view text, const EmbedOptions& options) {
    Corpus corpus(text);
    EXPECT_TRUE(corpus.Embed(options));
    return corpus.Vectors();
  };
  const auto plain = embed("abc\n", kPlain);
  EmbedOptions options = kPlain;
  options.pooling = Pooling::kLast;
  EXPECT_NE(embed("abc\n", options), plain);
  options = kPlain;
  options.normalizes = false;
  const auto raw = embed("abc\n", options);
  EXPECT_NE(raw, plain);
  EXPECT_EQ(NormalizedEmbedding(raw[0], kSize), plain[0]);
  options.dimensions = 2;
  EXPECT_THAT(embed("abc\n", options), ElementsAre(ElementsAre(raw[0][0], raw[0][1])));
  options.normalizes = true;
  EXPECT_THAT(embed("abc\n", options), ElementsAre(NormalizedEmbedding(raw[0], 2)));
  options = kPlain;
  options.prompt = "a";
  EXPECT_EQ(embed("bc\n", options), plain);
}

TEST(EmbedCorpusTest, TextsThatAreTooLong) {
  const std::string longest(511, 'a');  // and <s>
  Corpus corpus(longest + "\nb\n" + longest + "cd\n");
  const Result<void> refused = corpus.Embed(kPlain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            corpus.input_path +
                ":3: the text has 514 tokens, but there are 512 positions; --truncate cuts it");
  EXPECT_THAT(corpus.Files(), ElementsAre("texts"));
  EmbedOptions options = kPlain;
  options.truncates = true;
  testing::internal::CaptureStderr();
  ASSERT_TRUE(corpus.Embed(options));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1 of the texts were too long: 2 of their tokens were dropped\n");
  const auto vectors = corpus.Vectors();
  ASSERT_EQ(vectors.size(), 3U);
  EXPECT_EQ(vectors[2], vectors[0]);
}

TEST(EmbedCorpusTest, AnArrayOfNumpy) {
  Corpus corpus("abc\nd\n");
  ASSERT_TRUE(corpus.Embed(kPlain));
  const auto vectors = corpus.Vectors();
  ASSERT_TRUE(corpus.Embed(kPlain, EmbeddingFileFormat::kNpy));
  const std::string bytes = ReadFile(corpus.output_path);
  ASSERT_EQ(bytes.size(), 128 + 2 * kSize * sizeof(float));
  std::vector<float> numbers(2 * kSize);
  std::memcpy(numbers.data(), bytes.data() + 128, numbers.size() * sizeof(float));
  std::vector<float> expected = vectors[0];
  expected.insert(expected.end(), vectors[1].begin(), vectors[1].end());
  EXPECT_EQ(numbers, expected);
  using std::string_literals::operator""s;
  const std::string header =
      "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 5), }"s;
  EXPECT_EQ(bytes.substr(0, 128), header + std::string(127 - header.size(), ' ') + "\n");
  EXPECT_EQ(NpyHeader(INT64_MAX, INT64_MAX).size(), 128U);

  Corpus nothing("");
  ASSERT_TRUE(nothing.Embed(kPlain, EmbeddingFileFormat::kNpy));
  EXPECT_EQ(ReadFile(nothing.output_path), NpyHeader(0, kSize));
}

TEST(EmbedCorpusTest, AStepThatFailsNamesTheText) {
  Corpus corpus("a\nb\n");
  corpus.model.FailNextStep();
  const Result<void> failed = corpus.Embed(kPlain);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("the step went wrong"));
  EXPECT_THAT(failed.error().message, HasSubstr(corpus.input_path + ":"));
  EXPECT_THAT(corpus.Files(), ElementsAre("texts"));
}

TEST(EmbedCorpusTest, WhatCannotBeWrittenIsNamed) {
  Corpus corpus("a\nb\n");
  corpus.output_path = "/dev/full";
  const Result<void> full = corpus.Embed(kPlain);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "/dev/full: cannot write it: No space left on device");
  corpus.output_path = corpus.directory.path() + "/none/out";
  const Result<void> absent = corpus.Embed(kPlain);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message,
            corpus.output_path + ": cannot write it: No such file or directory");
}

TEST(CorpusProgressTest, WhatIsSaid) {
  using std::chrono::seconds;
  CorpusCounts counts = {.texts = 12000, .tokens = 2345678, .done = 250};
  EXPECT_EQ(ProgressText(counts, 1000, seconds(8)), "12,000 texts, 1,500 texts/s, 25%, 24 s to go");
  EXPECT_EQ(ProgressText(counts, std::nullopt, seconds(8)), "12,000 texts, 1,500 texts/s");
  EXPECT_EQ(ProgressText(counts, 200, seconds(8)), "12,000 texts, 1,500 texts/s, 100%, 0 s to go");
  EXPECT_EQ(ProgressText(counts, 1000000, seconds(8)),
            "12,000 texts, 1,500 texts/s, 0%, 8.9 h to go");
  EXPECT_EQ(ProgressText({}, 1000, seconds(0)), "0 texts, 0.00 texts/s");
  counts.texts = 100;
  EXPECT_EQ(ProgressText(counts, std::nullopt, seconds(8)), "100 texts, 12.5 texts/s");
  EXPECT_EQ(SummaryText(counts, seconds(8)),
            "100 texts of 2,345,678 tokens in 8.0 s: 12.5 texts/s");
  EXPECT_EQ(CutText(counts), "");
  counts.cut_texts = 1234;
  counts.dropped_tokens = 56789;
  EXPECT_EQ(CutText(counts),
            "1,234 of the texts were too long: 56,789 of their tokens were dropped");
}

}  // namespace
}  // namespace weft
