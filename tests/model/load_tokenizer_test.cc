// A tokenizer alone: files that hold a vocabulary and no model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "tests/data_paths.h"
#include "tests/model/formats/gguf_builder.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::ElementsAre;

TEST(LoadTokenizerTest, AVocabularyWithoutTensorsIsEnough) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/vocabulary.gguf";
  GgufBuilder()
      .SetString("general.architecture", "falcon")  // which Weft does not compute
      .SetString("tokenizer.ggml.model", "gpt2")
      .SetStrings("tokenizer.ggml.tokens", {"a", "b", "ab"})
      .SetStrings("tokenizer.ggml.merges", {"a b"})
      .Write(path);
  const auto tokenizer = LoadTokenizer(path);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("abba", {}).value(), ElementsAre(2, 1, 0));
  EXPECT_FALSE(LoadCheckpoint(path));
}

TEST(LoadTokenizerTest, ADirectoryNeedsNoMoreThanItsTokenizer) {
  const std::string directory = SourcePath("tests/model/tokenizer/fixtures/gpt2");
  const auto tokenizer = LoadTokenizer(directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto same = Tokenizer::FromDirectory(directory, 2000);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ((*tokenizer)->Encode("Once upon a time", {}).value(),
            (*same)->Encode("Once upon a time", {}).value());
  EXPECT_FALSE(LoadCheckpoint(directory));
}

TEST(LoadTokenizerTest, AFileWithoutAVocabularyIsNamed) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/empty.gguf";
  GgufBuilder().SetString("general.architecture", "llama").Write(path);
  const auto tokenizer = LoadTokenizer(path);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().message,
            path + ": tokenizer.ggml.model is missing: the file brings no tokenizer");
}

}  // namespace
}  // namespace weft
