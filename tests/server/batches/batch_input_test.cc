#include "server/batches/batch_input.h"

#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

std::string LineOf(const std::string& id, const std::string& prompt,
                   const std::string& url = "/v1/completions") {
  return fmt::format(R"({{"custom_id":"{}","method":"POST","url":"{}","body":{{"prompt":"{}"}}}})",
                     id, url, prompt);
}

BatchInput Read(const std::string& text, const BatchInputLimits& limits = {},
                std::string_view url = "/v1/completions") {
  const TemporaryDirectory directory;
  const auto file = RegularFile::Open(directory.Write("in.jsonl", text));
  Result<BatchInput> input = ReadBatchInput(*file, url, limits);
  EXPECT_TRUE(input);
  return *std::move(input);
}

// "code@line", in order.
std::vector<std::string> Faults(const BatchInput& input) {
  std::vector<std::string> faults;
  for (const BatchError& error : input.errors) {
    faults.push_back(fmt::format("{}@{}", error.code, error.line.value_or(0)));
  }
  return faults;
}

TEST(BatchInputTest, FaultsHaveTheirLines) {
  using Faulty = std::vector<std::string>;
  EXPECT_EQ(Faults(Read("")), Faulty{"empty_file@0"});
  EXPECT_EQ(Faults(Read(" \r\n\n")), Faulty{"empty_file@0"});
  EXPECT_EQ(Faults(Read(LineOf("a", "x") + "\r\n\n" + LineOf("b", "y"))), Faulty{});
  EXPECT_EQ(Faults(Read(LineOf("a", "x") + "\n\n" + LineOf("a", "y") + "\n{\n")),
            (Faulty{"duplicate_custom_id@3", "invalid_json_line@4"}));
  EXPECT_EQ(Faults(Read(LineOf("a", "x", "/v1/embeddings"))), Faulty{"mismatched_url@1"});
  EXPECT_EQ(Faults(Read(LineOf("a", "x", "/v1/embeddings"), {}, "")), Faulty{});
  const std::string three = LineOf("a", "x") + "\n" + LineOf("b", "x") + "\n" + LineOf("c", "x");
  EXPECT_EQ(Faults(Read(three, {.max_lines = 2})), Faulty{"too_many_lines@3"});
  EXPECT_EQ(Faults(Read(three, {.max_lines = 3})), Faulty{});
  EXPECT_EQ(Faults(Read(LineOf("a", std::string(5'000'000, 'x')) + "\n" + LineOf("b", "y"),
                        {.max_line_bytes = 1000})),
            Faulty{"line_too_long@1"});
  std::string many;
  for (int i = 0; i < 200; ++i) many += "{\n";
  EXPECT_EQ(Read(many).errors.size(), 100U);
}

TEST(BatchInputTest, LinesAreFoundAgain) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += LineOf(fmt::format("id{}", i), std::string(static_cast<size_t>(i), 'p')) + "\n";
  }
  const auto file = RegularFile::Open(directory.Write("in.jsonl", text));
  const Result<BatchInput> input = ReadBatchInput(*file, "", {});
  ASSERT_EQ(input->lines.size(), 3000U);
  for (const InputLine& line : input->lines) {
    const Result<BatchLine> read = ReadLineAt(*file, line);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->custom_id, fmt::format("id{}", line.number - 1));
  }
}

TEST(BatchInputTest, PromptsThatBeginAlikeAreNeighbours) {
  const std::string system(2000, 's');
  const std::string other(2000, 't');
  std::string text;
  for (int i = 0; i < 8; ++i) {
    text += LineOf(std::to_string(i), (i % 2 == 0 ? system : other) + std::to_string(i)) + "\n";
  }
  const BatchInput input = Read(text);
  ASSERT_EQ(input.lines.size(), 8U);
  int change_count = 0;
  for (size_t i = 1; i < input.lines.size(); ++i) {
    change_count += input.lines[i].number % 2 == input.lines[i - 1].number % 2 ? 0 : 1;
  }
  EXPECT_EQ(change_count, 1);
}

}  // namespace
}  // namespace weft
