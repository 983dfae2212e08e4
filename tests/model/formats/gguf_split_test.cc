// Split sets: NAME-00001-of-0000N.gguf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/dequantize.h"
#include "model/formats/gguf.h"
#include "tests/model/formats/gguf_builder.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

GgufBuilder Part(uint16_t index, uint16_t part_count, int32_t tensor_count) {
  GgufBuilder builder;
  builder.Set("split.no", index).Set("split.count", part_count);
  builder.Set("split.tensors.count", tensor_count);
  return builder;
}

class GgufSplit : public ::testing::Test {
 protected:
  void Write(const GgufBuilder& builder, std::string_view name) { builder.Write(PathOf(name)); }
  // An honest set: metadata alone in the first part, as some writers do, then a tensor each.
  void WriteSet() {
    Write(Part(0, 3, 2).SetString("general.architecture", "llama"), "m-00001-of-00003.gguf");
    Write(Part(1, 3, 2).FloatTensor("a", {1}, {5}), "m-00002-of-00003.gguf");
    Write(Part(2, 3, 2).FloatTensor("b", {1}, {6}), "m-00003-of-00003.gguf");
  }
  std::string ErrorOf(std::string_view name = "m-00001-of-00003.gguf") {
    const Result<GgufFile> file = GgufFile::Open(PathOf(name));
    return file ? "no error" : file.error().message;
  }

  std::string PathOf(std::string_view name) const {
    return fmt::format("{}/{}", directory_.path(), name);
  }

  TemporaryDirectory directory_;
};

TEST_F(GgufSplit, OpensAllParts) {
  WriteSet();
  const Result<GgufFile> file = GgufFile::Open(PathOf("m-00001-of-00003.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->files.size(), 3u);
  EXPECT_EQ(file->metadata.GetString("general.architecture"), "llama");
  float value = 0;
  DequantizeRow(DataType::kF32, file->tensors.at("a").data, 1, &value);
  EXPECT_EQ(value, 5);
  DequantizeRow(DataType::kF32, file->tensors.at("b").data, 1, &value);
  EXPECT_EQ(value, 6);
}

TEST_F(GgufSplit, AFileOfItsOwnMayHaveSplitKeysOrASplitName) {
  Write(Part(0, 1, 1).FloatTensor("a", {1}, {5}), "one.gguf");
  EXPECT_TRUE(GgufFile::Open(PathOf("one.gguf")));
  Write(Part(0, 0, 1).FloatTensor("a", {1}, {5}), "merged.gguf");
  EXPECT_TRUE(GgufFile::Open(PathOf("merged.gguf")));
  Write(GgufBuilder().FloatTensor("a", {1}, {5}), "m-00001-of-00001.gguf");
  EXPECT_TRUE(GgufFile::Open(PathOf("m-00001-of-00001.gguf")));
}

TEST_F(GgufSplit, MissingPart) {
  WriteSet();
  std::filesystem::remove(PathOf("m-00003-of-00003.gguf"));
  EXPECT_THAT(ErrorOf(), HasSubstr("m-00003-of-00003.gguf: cannot open"));
}

TEST_F(GgufSplit, WantsTheFirstPartUnderItsName) {
  WriteSet();
  EXPECT_THAT(
      ErrorOf("m-00002-of-00003.gguf"),
      HasSubstr("part 2 of a split set, expected the first, " + PathOf("m-00001-of-00003.gguf")));
  std::filesystem::rename(PathOf("m-00001-of-00003.gguf"), PathOf("m.gguf"));
  EXPECT_THAT(ErrorOf("m.gguf"),
              EndsWith("m.gguf: one part of 3 (metadata key 'split.count'), expected a name that "
                       "ends in -00001-of-00003.gguf"));
}

TEST_F(GgufSplit, PartsMustSayWhatTheirNamesSay) {
  WriteSet();
  Write(Part(2, 3, 2).FloatTensor("a", {1}, {5}), "m-00002-of-00003.gguf");
  EXPECT_THAT(ErrorOf(), EndsWith("00002-of-00003.gguf: metadata key 'split.no' is 2, expected 1"));
  Write(Part(1, 4, 2).FloatTensor("a", {1}, {5}), "m-00002-of-00003.gguf");
  EXPECT_THAT(ErrorOf(),
              EndsWith("00002-of-00003.gguf: metadata key 'split.count' is 4, expected 3"));
  Write(GgufBuilder().FloatTensor("a", {1}, {5}), "m-00002-of-00003.gguf");
  EXPECT_THAT(ErrorOf(), EndsWith("metadata key 'split.no' is absent, expected 1"));
  WriteSet();
  Write(Part(1, 3, 2), "m-00001-of-00003.gguf");
  EXPECT_THAT(ErrorOf(), EndsWith("00001-of-00003.gguf: metadata key 'split.no' is 1, expected 0"));
  Write(Part(0, 2, 2), "m-00001-of-00003.gguf");
  EXPECT_THAT(ErrorOf(),
              EndsWith("00001-of-00003.gguf: metadata key 'split.count' is 2, expected 3"));
  Write(GgufBuilder(), "m-00001-of-00003.gguf");
  EXPECT_THAT(ErrorOf(), EndsWith("metadata key 'split.no' is absent, expected 0"));
}

TEST_F(GgufSplit, TensorsOfAllPartsAreCountedAndUnique) {
  WriteSet();
  Write(Part(0, 3, 7), "m-00001-of-00003.gguf");
  EXPECT_THAT(ErrorOf(), EndsWith("metadata key 'split.tensors.count' is 7, expected 2"));
  WriteSet();
  Write(Part(2, 3, 2).FloatTensor("a", {1}, {6}), "m-00003-of-00003.gguf");
  EXPECT_THAT(ErrorOf(), EndsWith("m-00003-of-00003.gguf: tensor 'a' is in an earlier part of the "
                                  "split set too, expected once"));
}

TEST_F(GgufSplit, ADamagedPartIsNamed) {
  WriteSet();
  directory_.Write("m-00002-of-00003.gguf", "GGUF");
  EXPECT_THAT(ErrorOf(), EndsWith("m-00002-of-00003.gguf: byte 4: version takes 4 bytes, but the "
                                  "file ends after 0"));
}

}  // namespace
}  // namespace weft
