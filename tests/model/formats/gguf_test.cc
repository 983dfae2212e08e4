// What honest GGUF files hold; gguf_hostile_test.cc has the others.
#include "model/formats/gguf.h"

#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/dequantize.h"
#include "tests/data_paths.h"
#include "tests/model/formats/gguf_builder.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointee;

std::vector<float> ToFloats(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.element_count()));
  DequantizeRow(view.type, view.data, view.element_count(), values.data());
  return values;
}

TEST(Gguf, ReadsEveryMetadataType) {
  constexpr auto kBig = std::numeric_limits<uint64_t>::max();
  GgufBuilder builder;
  builder.Set<uint8_t>("u8", 255).Set<int8_t>("i8", -128).Set<uint16_t>("u16", 65535);
  builder.Set<int16_t>("i16", -32768).Set<uint32_t>("u32", 0xFFFFFFFF);
  builder.Set<int32_t>("i32", std::numeric_limits<int32_t>::min()).Set<float>("f32", 0.5f);
  builder.Set<bool>("yes", true).Set<bool>("no", false).SetString("text", "caf\xC3\xA9");
  builder.Set<uint64_t>("u64", 7).Set<uint64_t>("u64 big", kBig);
  builder.Set<int64_t>("i64", std::numeric_limits<int64_t>::min()).Set<double>("f64", 0.1);
  const std::vector<std::byte> bytes = builder.Build();
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;
  const GgufMetadata& metadata = file->metadata;

  EXPECT_EQ(metadata.GetInt("u8"), 255);
  EXPECT_EQ(metadata.GetInt("i8"), -128);
  EXPECT_EQ(metadata.GetInt("u16"), 65535);
  EXPECT_EQ(metadata.GetInt("i16"), -32768);
  EXPECT_EQ(metadata.GetInt("u32"), 0xFFFFFFFF);
  EXPECT_EQ(metadata.GetInt("i32"), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(metadata.GetDouble("f32"), 0.5);
  EXPECT_EQ(metadata.GetBool("yes"), true);
  EXPECT_EQ(metadata.GetBool("no"), false);
  EXPECT_EQ(metadata.GetString("text"), "caf\xC3\xA9");
  EXPECT_EQ(metadata.GetInt("u64"), 7);
  EXPECT_EQ(std::get<uint64_t>(metadata.values().at("u64 big")), kBig);
  EXPECT_EQ(metadata.GetInt("i64"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(metadata.GetDouble("f64"), 0.1);
  EXPECT_TRUE(metadata.Contains("u8"));
  EXPECT_FALSE(metadata.Contains("u9"));
}

TEST(Gguf, ReadsArraysOfEveryType) {
  constexpr auto kBig = std::numeric_limits<uint64_t>::max();
  GgufBuilder builder;
  builder.SetArray<uint8_t>("u8", {0, 255}).SetArray<int8_t>("i8", {-128, 127});
  builder.SetArray<uint16_t>("u16", {65535}).SetArray<int16_t>("i16", {-32768});
  builder.SetArray<uint32_t>("u32", {0xFFFFFFFF}).SetArray<int32_t>("i32", {-1, 0, 1});
  builder.SetArray<float>("f32", {0.5f, -2.0f}).SetArray<bool>("bool", {true, false, true});
  builder.SetStrings("strings", {"a", "", "bc"}).SetStrings("none", {});
  builder.SetArray<uint64_t>("u64", {1, 2}).SetArray<uint64_t>("u64 big", {1, kBig});
  builder.SetArray<int64_t>("i64", {-5}).SetArray<double>("f64", {0.1});
  const std::vector<std::byte> bytes = builder.Build();
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;
  const GgufMetadata& metadata = file->metadata;

  EXPECT_THAT(*metadata.GetInts("u8"), Pointee(ElementsAre(0, 255)));
  EXPECT_THAT(*metadata.GetInts("i8"), Pointee(ElementsAre(-128, 127)));
  EXPECT_THAT(*metadata.GetInts("u16"), Pointee(ElementsAre(65535)));
  EXPECT_THAT(*metadata.GetInts("i16"), Pointee(ElementsAre(-32768)));
  EXPECT_THAT(*metadata.GetInts("u32"), Pointee(ElementsAre(0xFFFFFFFF)));
  EXPECT_THAT(*metadata.GetInts("i32"), Pointee(ElementsAre(-1, 0, 1)));
  EXPECT_THAT(*metadata.GetDoubles("f32"), Pointee(ElementsAre(0.5, -2.0)));
  EXPECT_THAT(std::get<std::vector<bool>>(metadata.values().at("bool")),
              ElementsAre(true, false, true));
  EXPECT_THAT(*metadata.GetStrings("strings"), Pointee(ElementsAre("a", "", "bc")));
  EXPECT_THAT(*metadata.GetStrings("none"), Pointee(IsEmpty()));
  EXPECT_THAT(*metadata.GetInts("u64"), Pointee(ElementsAre(1, 2)));
  EXPECT_THAT(std::get<std::vector<uint64_t>>(metadata.values().at("u64 big")),
              ElementsAre(1, kBig));
  EXPECT_THAT(*metadata.GetInts("i64"), Pointee(ElementsAre(-5)));
  EXPECT_THAT(*metadata.GetDoubles("f64"), Pointee(ElementsAre(0.1)));
}

TEST(Gguf, GettersTellAbsentFromWrongType) {
  GgufBuilder builder;
  builder.Set<bool>("flag", true).Set<uint32_t>("count", 3).SetString("text", "a\nb");
  builder.Set<uint64_t>("huge", 1ULL << 63).SetArray<int32_t>("ints", {1, 2});
  const std::vector<std::byte> bytes = builder.Build();
  const Result<GgufContents> file = ParseGguf(bytes, "dir/f.gguf");
  ASSERT_TRUE(file) << file.error().message;
  const GgufMetadata& metadata = file->metadata;

  EXPECT_EQ(metadata.GetInt("absent"), std::nullopt);
  EXPECT_EQ(metadata.GetDouble("absent"), std::nullopt);
  EXPECT_EQ(metadata.GetStrings("absent"), nullptr);
  EXPECT_EQ(metadata.GetDouble("count"), 3.0);
  EXPECT_EQ(metadata.GetDouble("huge"), 9223372036854775808.0);

  EXPECT_EQ(metadata.GetInt("flag").error().message,
            "dir/f.gguf: metadata key 'flag' is the bool true, expected an integer below 2^63");
  EXPECT_EQ(metadata.GetInt("huge").error().message,
            "dir/f.gguf: metadata key 'huge' is the integer 9223372036854775808, expected an "
            "integer below 2^63");
  EXPECT_EQ(metadata.GetInt("text").error().message,
            "dir/f.gguf: metadata key 'text' is the string 'a\\x0ab', expected an integer below "
            "2^63");
  EXPECT_THAT(metadata.GetDouble("flag").error().message, HasSubstr("expected a number"));
  EXPECT_THAT(metadata.GetBool("count").error().message,
              HasSubstr("'count' is the integer 3, expected a bool"));
  EXPECT_THAT(metadata.GetString("ints").error().message,
              HasSubstr("'ints' is an array of 2 integers, expected a string"));
  EXPECT_THAT(metadata.GetStrings("ints").error().message,
              HasSubstr("expected an array of strings"));
  EXPECT_THAT(metadata.GetDoubles("ints").error().message,
              HasSubstr("expected an array of floats"));
}

TEST(Gguf, ReversesDimensionsAndPlacesTensors) {
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::vector<std::byte> quantized(2 * 34, std::byte{1});
  GgufBuilder builder;
  builder.FloatTensor("small", {3}, {1, 2, 3});
  builder.FloatTensor("stack", {4, 3, 2}, values);
  builder.Tensor("quantised", kGgmlQ8_0, {32, 2}, quantized);
  const std::vector<std::byte> bytes = builder.Build();
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;

  EXPECT_EQ(file->version, 3u);
  EXPECT_EQ(file->tensors.size(), 3u);
  EXPECT_THAT(ToFloats(file->tensors.at("small")), ElementsAre(1, 2, 3));
  const TensorView& stack = file->tensors.at("stack");
  EXPECT_EQ(stack.rank, 3);
  EXPECT_THAT(stack.dims, ElementsAre(2, 3, 4, 0));
  EXPECT_THAT(ToFloats(stack[1][2]), ElementsAre(20, 21, 22, 23));
  const TensorView& matrix = file->tensors.at("quantised");
  EXPECT_EQ(matrix.type, DataType::kQ8_0);
  EXPECT_EQ(matrix.rows(), 2);
  EXPECT_EQ(matrix.columns(), 32);
  EXPECT_EQ(matrix.strides_bytes[0], 34);
}

TEST(Gguf, ReadsVersion2) {
  const std::vector<std::byte> bytes = GgufBuilder().Version(2).Set<uint32_t>("n", 1).Build();
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->version, 2u);
}

TEST(Gguf, HonoursAlignment) {
  for (const uint32_t alignment : {8u, 64u, 4096u}) {
    GgufBuilder builder;
    builder.LayoutAlignment(alignment).Set<uint32_t>("general.alignment", alignment);
    builder.FloatTensor("a", {1}, {5}).FloatTensor("b", {1}, {6});
    const std::vector<std::byte> bytes = builder.Build();
    const Result<GgufContents> file = ParseGguf(bytes, "f");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(ToFloats(file->tensors.at("a")), ElementsAre(5));
    EXPECT_THAT(ToFloats(file->tensors.at("b")), ElementsAre(6));
    EXPECT_EQ(file->tensors.at("b").data - file->tensors.at("a").data, alignment);
  }
}

TEST(Gguf, TheLastTensorNeedsNoPadding) {
  std::vector<std::byte> bytes = GgufBuilder().FloatTensor("a", {1}, {5}).Build();
  bytes.resize(bytes.size() - 28);
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(ToFloats(file->tensors.at("a")), ElementsAre(5));
}

TEST(Gguf, OpensRealModel) {
  const std::string path = SharedDataPath("models/stories260K.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const Result<GgufFile> file = GgufFile::Open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata.GetString("general.architecture"), "llama");
  EXPECT_EQ(file->metadata.GetInt("llama.block_count"), 5);
  EXPECT_EQ((*file->metadata.GetStrings("tokenizer.ggml.tokens"))->size(), 512u);
  EXPECT_EQ((*file->metadata.GetDoubles("tokenizer.ggml.scores"))->size(), 512u);
  const TensorView& embedding = file->tensors.at("token_embd.weight");
  EXPECT_EQ(embedding.type, DataType::kF32);
  EXPECT_EQ(embedding.rows(), 512);
  EXPECT_EQ(embedding.columns(), 64);
}

TEST(Gguf, OpensRealVocabularies) {
  const struct {
    const char* name;
    size_t token_count;
  } kCases[] = {{"gpt-2", 50257},
                {"llama-spm", 32000},
                {"phi-3", 32064},
                {"deepseek-coder", 32256},
                {"falcon", 65024}};
  for (const auto& [name, token_count] : kCases) {
    const std::string path = SharedDataPath("tokenizers/ggml-vocab-") + name + ".gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    const Result<GgufFile> file = GgufFile::Open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(file->tensors, IsEmpty());
    EXPECT_EQ((*file->metadata.GetStrings("tokenizer.ggml.tokens"))->size(), token_count) << name;
    EXPECT_EQ((*file->metadata.GetInts("tokenizer.ggml.token_type"))->size(), token_count) << name;
  }
}

}  // namespace
}  // namespace weft
