// Texts of files: lines, their ends, JSON, and what is said of those that are wrong.
#include "server/commands/corpus/text_input.h"

#include <array>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// All that is left of them; "error: ..." for what ends them.
std::vector<std::string> TextsOf(TextInput& input) {
  std::vector<std::string> texts;
  while (true) {
    const Result<std::optional<InputText>> text = input.Next();
    if (!text) texts.push_back("error: " + text.error().message);
    if (!text || !*text) return texts;
    texts.push_back((*text)->text);
  }
}

std::vector<std::string> Read(TextSource source) {
  Result<TextInput> input = TextInput::Open(std::move(source));
  if (!input) return {"error: " + input.error().message};
  return TextsOf(*input);
}

TEST(TextInputTest, ALineIsATextWithoutItsEnd) {
  const TemporaryDirectory directory;
  const auto lines = [&](std::string_view text) {
    return Read({.paths = {directory.Write("texts", text)}});
  };
  EXPECT_THAT(lines("a b\nc\n"), ElementsAre("a b", "c"));
  EXPECT_THAT(lines("a b\nc"), ElementsAre("a b", "c"));
  EXPECT_THAT(lines("\n\na\n\n"), ElementsAre("", "", "a", ""));
  EXPECT_THAT(lines("a\r\nb\rc\r\n\r\n"), ElementsAre("a", "b\rc", ""));
  EXPECT_THAT(lines(" a \n"), ElementsAre(" a "));
  EXPECT_THAT(lines(""), ElementsAre());
  EXPECT_THAT(lines("\n"), ElementsAre(""));
  using std::string_literals::operator""s;
  EXPECT_THAT(lines("a\0b\n\xff\n"s), ElementsAre("a\0b"s, "\xff"));
}

TEST(TextInputTest, LinesMayCrossWhatIsReadAtATime) {
  const TemporaryDirectory directory;
  std::vector<std::string> expected;
  std::string text;
  for (size_t size : {0, 65534, 1, 65535, 65536, 70000, 3, 200000, 65537, 0, 2}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(Read({.paths = {directory.Write("texts", text)}}), expected);
  expected.emplace_back("z");
  EXPECT_EQ(Read({.paths = {directory.Write("texts", text + "z")}}), expected);
}

TEST(TextInputTest, FilesOneAfterTheOther) {
  const TemporaryDirectory directory;
  const std::string one = directory.Write("one", "a\nb");
  const std::string two = directory.Write("two", "");
  const std::string three = directory.Write("three", "\nc\n");
  Result<TextInput> input = TextInput::Open({.paths = {one, two, three}});
  ASSERT_TRUE(input);
  EXPECT_EQ(input->total_bytes(), 6U);
  std::vector<std::string> places;
  std::vector<uint64_t> read_bytes;
  while (const std::optional<InputText> text = *input->Next()) {
    places.push_back(text->place);
    read_bytes.push_back(input->read_bytes());
  }
  EXPECT_THAT(places, ElementsAre(one + ":1", one + ":2", three + ":1", three + ":2"));
  EXPECT_THAT(read_bytes, ElementsAre(2, 3, 4, 6));
  EXPECT_FALSE(input->WouldWait());
  EXPECT_EQ(*input->Next(), std::nullopt);
}

TEST(TextInputTest, AMemberOfJsonLines) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("texts", "");
  const auto texts = [&](std::string_view text) {
    directory.Write("texts", text);
    return Read({.paths = {path}, .json_field = "body"});
  };
  EXPECT_THAT(texts("{\"body\": \"a\\nb\", \"id\": 3}\r\n {\"body\": \"\"}"),
              ElementsAre("a\nb", ""));
  const auto refused = [&](std::string_view line, std::string_view found) {
    EXPECT_THAT(
        texts("{\"body\": \"a\"}\n" + std::string(line) + "\n"),
        ElementsAre("a", testing::AllOf(HasSubstr("error: " + path + ":2: expected a JSON object"),
                                        HasSubstr("'body'"), HasSubstr(std::string(found)))));
  };
  refused("", "what is no JSON");
  refused("{\"body\": ", "what is no JSON");
  refused("[1]", "found an array");
  refused("{\"text\": \"a\"}", "found none of that name");
  refused("{\"body\": 3}", "found the number 3");
  refused("{\"body\": \"\xff\"}", "what is no JSON");
}

TEST(TextInputTest, WhatCannotBeReadIsNamed) {
  const TemporaryDirectory directory;
  const std::string good = directory.Write("good", "a\n");
  EXPECT_THAT(Read({.paths = {good, directory.path() + "/none"}}),
              ElementsAre("error: " + directory.path() + "/none: cannot read it: No such file or " +
                          "directory"));
  EXPECT_THAT(Read({.paths = {directory.path()}}),
              ElementsAre("error: " + directory.path() + ": cannot read it: Is a directory"));
}

TEST(TextInputTest, ALineHasABound) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("texts", "a\n" + std::string(kMaxInputLineBytes, 'b'));
  EXPECT_EQ(Read({.paths = {path}}).size(), 2U);
  directory.Write("texts", "a\n" + std::string(kMaxInputLineBytes + 1, 'b') + "\nc\n");
  EXPECT_THAT(Read({.paths = {path}}),
              ElementsAre("a", HasSubstr(path + ":2: the line has more than the 64.0 MiB")));
}

TEST(TextInputTest, APipeThatHasNothingYet) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  Result<TextInput> input =
      TextInput::Open({.paths = {"/proc/self/fd/" + std::to_string(ends[0])}});
  ASSERT_TRUE(input);
  EXPECT_EQ(input->total_bytes(), std::nullopt);
  EXPECT_TRUE(input->WouldWait());
  ASSERT_EQ(write(ends[1], "a\nb\nc", 5), 5);
  EXPECT_FALSE(input->WouldWait());
  EXPECT_EQ((*input->Next())->text, "a");
  EXPECT_FALSE(input->WouldWait());
  EXPECT_EQ((*input->Next())->text, "b");
  EXPECT_TRUE(input->WouldWait());
  close(ends[1]);
  EXPECT_FALSE(input->WouldWait());
  EXPECT_THAT(TextsOf(*input), ElementsAre("c"));
  close(ends[0]);
}

}  // namespace
}  // namespace weft
