// GGUF files that lie: each gives one line that names file, field, value and expectation, and
// nothing is allocated for it.
#include <limits>
#include <random>
#include <string>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "model/formats/dequantize.h"
#include "model/formats/gguf.h"
#include "tests/model/formats/gguf_builder.h"

namespace weft {
namespace {

constexpr uint64_t k2To63 = 1ULL << 63;
constexpr auto kMaxUint64 = std::numeric_limits<uint64_t>::max();

Error ErrorOf(const std::vector<std::byte>& bytes) {
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  if (file) return {ErrorCode::kInternal, "no error"};
  return file.error();
}
std::string MessageOf(const GgufBuilder& builder) { return ErrorOf(builder.Build()).message; }

// A file with metadata and tensors of several types, 0.5 KB.
GgufBuilder SmallFile() {
  GgufBuilder builder;
  builder.SetString("general.architecture", "llama").Set<uint32_t>("general.alignment", 32);
  builder.Set<bool>("flag", true).SetStrings("tokens", {"a", "bc"});
  builder.SetArray<float>("scores", {0.5f, 1.5f}).Set<uint64_t>("n", 3);
  builder.FloatTensor("norm", {4}, {1, 2, 3, 4});
  builder.Tensor("matrix", kGgmlQ8_0, {32, 2}, std::vector<std::byte>(68, std::byte{3}));
  return builder;
}

TEST(GgufHostile, NotGguf) {
  EXPECT_EQ(MessageOf(GgufBuilder().Magic("GGML")),
            "f: not a GGUF file: starts with 'GGML', expected 'GGUF'");
  EXPECT_EQ(ErrorOf({}).message, "f: not a GGUF file: starts with '', expected 'GGUF'");
}

TEST(GgufHostile, Versions) {
  EXPECT_EQ(MessageOf(GgufBuilder().Version(1)), "f: GGUF version is 1, expected 2 or 3");
  EXPECT_EQ(MessageOf(GgufBuilder().Version(4)), "f: GGUF version is 4, expected 2 or 3");
  EXPECT_EQ(MessageOf(GgufBuilder().Version(0x03000000)),
            "f: version is 3 with its bytes in big-endian order, expected a little-endian file");
}

TEST(GgufHostile, CountsBeyondTheFile) {
  for (const uint64_t count : {uint64_t{2}, k2To63 - 1, k2To63, kMaxUint64}) {
    EXPECT_EQ(
        MessageOf(GgufBuilder().TensorCount(count)),
        fmt::format("f: byte 16: tensor count is {}, expected at most 0: 8 bytes are left", count));
    EXPECT_EQ(MessageOf(GgufBuilder().EntryCount(count)),
              fmt::format("f: byte 24: metadata entry count is {}, expected at most 0: 0 bytes "
                          "are left",
                          count));
  }
}

TEST(GgufHostile, CountsThatTheBytesLeftCouldHoldButDoNot) {
  const std::string_view kPadding = "0123456789012345678901234567890123456789";
  EXPECT_EQ(MessageOf(GgufBuilder().SetString("k", kPadding).EntryCount(2)),
            "f: byte 85: a metadata key takes 8 bytes, but the file ends after 0");
  EXPECT_EQ(MessageOf(GgufBuilder().SetString("k", kPadding).TensorCount(1)),
            "f: byte 85: name of a tensor takes 8 bytes, but the file ends after 0");
}

TEST(GgufHostile, StringLengths) {
  for (const uint64_t length : {uint64_t{4}, k2To63 - 1, k2To63, kMaxUint64}) {
    const auto lying = ByteWriter().Number(length).Text("abc").bytes();
    EXPECT_EQ(MessageOf(GgufBuilder().Entry("k", GgufType::kString, lying)),
              fmt::format("f: byte 45: value of metadata key 'k' has length {}, expected at most "
                          "the 3 bytes left",
                          length));
  }
  for (const uint64_t length : {uint64_t{6}, k2To63 - 1, k2To63, kMaxUint64}) {
    ByteWriter file = ByteWriter().Text("GGUF").Number<uint32_t>(3);
    file.Number<uint64_t>(0).Number<uint64_t>(1).Number(length).Text("abcde");
    EXPECT_EQ(ErrorOf(file.bytes()).message,
              fmt::format("f: byte 32: a metadata key has length {}, expected at most the 5 bytes "
                          "left",
                          length));
  }
}

TEST(GgufHostile, ArrayLengths) {
  const struct {
    GgufType type;
    uint64_t fits;
  } kCases[] = {{GgufType::kUint8, 16}, {GgufType::kInt16, 8},  {GgufType::kFloat32, 4},
                {GgufType::kBool, 16},  {GgufType::kUint64, 2}, {GgufType::kFloat64, 2},
                {GgufType::kString, 2}};
  for (const auto& [type, fits] : kCases) {
    for (const uint64_t length : {fits + 1, k2To63 / 8, k2To63 - 1, k2To63, kMaxUint64}) {
      ByteWriter array;
      array.Number(static_cast<uint32_t>(type)).Number(length);
      array.Number<uint64_t>(0).Number<uint64_t>(0);
      EXPECT_EQ(MessageOf(GgufBuilder().Entry("k", GgufType::kArray, array.bytes())),
                fmt::format("f: byte 49: array length of metadata key 'k' is {}, expected at most "
                            "{}: 16 bytes are left",
                            length, fits));
    }
  }
}

TEST(GgufHostile, StringInAnArrayBeyondTheFile) {
  ByteWriter array;
  array.Number(static_cast<uint32_t>(GgufType::kString)).Number<uint64_t>(2);
  array.String("a").Number<uint64_t>(k2To63);
  EXPECT_EQ(MessageOf(GgufBuilder().Entry("k", GgufType::kArray, array.bytes())),
            "f: byte 66: string in the array of metadata key 'k' has length 9223372036854775808, "
            "expected at most the 0 bytes left");
}

TEST(GgufHostile, NestedArraysAreRefused) {
  ByteWriter array;
  array.Number(static_cast<uint32_t>(GgufType::kArray)).Number<uint64_t>(1);
  for (int i = 0; i < 1000; ++i) {
    array.Number(static_cast<uint32_t>(GgufType::kArray)).Number<uint64_t>(1);
  }
  const GgufBuilder builder = GgufBuilder().Entry("k", GgufType::kArray, array.bytes());
  EXPECT_EQ(MessageOf(builder),
            "f: byte 41: array type of metadata key 'k' is 9 (an array of arrays), expected an "
            "array of numbers, bools or strings");
  EXPECT_EQ(ErrorOf(builder.Build()).code, ErrorCode::kUnsupported);
}

TEST(GgufHostile, UnknownMetadataTypes) {
  EXPECT_EQ(MessageOf(GgufBuilder().Entry("k", GgufType{13}, {})),
            "f: byte 37: type of metadata key 'k' is 13, expected 0 to 12");
  const auto array = ByteWriter().Number<uint32_t>(0xFFFFFFFF).Number<uint64_t>(0).bytes();
  EXPECT_EQ(MessageOf(GgufBuilder().Entry("k", GgufType::kArray, array)),
            "f: byte 41: array type of metadata key 'k' is 4294967295, expected 0 to 12");
}

TEST(GgufHostile, BoolsThatAreNeither) {
  EXPECT_EQ(
      MessageOf(GgufBuilder().Entry("k", GgufType::kBool, ByteWriter().Number<uint8_t>(2).bytes())),
      "f: byte 38: bool of metadata key 'k' is 2, expected 0 or 1");
  ByteWriter array;
  array.Number(static_cast<uint32_t>(GgufType::kBool)).Number<uint64_t>(2).Number<uint16_t>(0xFF01);
  EXPECT_EQ(MessageOf(GgufBuilder().Entry("k", GgufType::kArray, array.bytes())),
            "f: byte 50: bool of metadata key 'k' is 255, expected 0 or 1");
}

TEST(GgufHostile, DuplicateKeys) {
  EXPECT_EQ(MessageOf(GgufBuilder().Set<bool>("k", true).SetString("k", "")),
            "f: byte 59: metadata key 'k' is there twice, expected once");
}

TEST(GgufHostile, Alignment) {
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 33u, 0x80000001u}) {
    const GgufBuilder builder =
        GgufBuilder().Set("general.alignment", alignment).FloatTensor("t", {1}, {1});
    EXPECT_EQ(MessageOf(builder),
              fmt::format("f: metadata key 'general.alignment' is {}, expected a power of two of "
                          "at least 8",
                          alignment));
  }
  EXPECT_EQ(MessageOf(GgufBuilder().Set<int32_t>("general.alignment", -32)),
            "f: metadata key 'general.alignment' is -32, expected a power of two of at least 8");
  EXPECT_EQ(MessageOf(GgufBuilder().SetString("general.alignment", "32")),
            "f: metadata key 'general.alignment' is the string '32', expected an integer below "
            "2^63");
  EXPECT_EQ(
      MessageOf(
          GgufBuilder().Set<uint64_t>("general.alignment", 1ULL << 62).FloatTensor("t", {1}, {1})),
      "f: tensor 't': offset 0 + size 4 exceeds the 0 bytes of data in the file");
}

TEST(GgufHostile, TensorRanks) {
  EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("t", {}, {1})),
            "f: byte 37: number of dimensions of tensor 't' is 0, expected 1 to 4");
  EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("t", {1, 1, 1, 1, 1}, {1})),
            "f: byte 37: number of dimensions of tensor 't' is 5, expected 1 to 4");
}

TEST(GgufHostile, Dimensions) {
  EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("t", {4, 0}, {1})),
            "f: tensor 't': shape [0, 4] has a dimension of 0, expected at least 1");
  constexpr uint64_t k2To32 = 1ULL << 32;
  const std::vector<std::vector<uint64_t>> kOverflowing = {
      {k2To32, k2To32}, {k2To63}, {kMaxUint64, 2}, {k2To32, k2To32, k2To32, k2To32}};
  for (const std::vector<uint64_t>& dims : kOverflowing) {
    const std::vector<uint64_t> shape(dims.rbegin(), dims.rend());
    EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("t", dims, {1})),
              fmt::format("f: tensor 't': shape [{}] has 2^63 elements or more, expected fewer",
                          fmt::join(shape, ", ")));
  }
  EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("t", {k2To63 - 1}, {1})),
            "f: tensor 't': shape [9223372036854775807] of type F32 has 2^63 bytes or more, "
            "expected fewer");
}

TEST(GgufHostile, RowsThatAreNotWholeBlocks) {
  const std::vector<std::byte> data(1024);
  EXPECT_EQ(MessageOf(GgufBuilder().Tensor("t", kGgmlQ4_0, {48, 2}, data)),
            "f: tensor 't': shape [2, 48] has rows of 48 elements, expected a multiple of 32 for "
            "type Q4_0");
  EXPECT_EQ(MessageOf(GgufBuilder().Tensor("t", kGgmlQ6_K, {32, 8}, data)),
            "f: tensor 't': shape [8, 32] has rows of 32 elements, expected a multiple of 256 for "
            "type Q6_K");
}

TEST(GgufHostile, TypesThatAreNotSupportedAreNamed) {
  const std::string kExpected =
      ", expected one of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4, "
      "IQ4_NL, IQ4_XS, Q3_K, Q2_K, TQ2_0, TQ1_0, IQ3_S, IQ3_XXS, IQ2_S, IQ2_XS, IQ2_XXS, IQ1_M, "
      "IQ1_S, NVFP4";
  const struct {
    uint32_t number;
    const char* name;
  } kCases[] = {{4, "Q4_2"}, {9, "Q8_1"}, {15, "Q8_K"}, {24, "I8"},       {25, "I16"},
                {26, "I32"}, {27, "I64"}, {28, "F64"},  {33, "Q4_0_8_8"}, {41, "Q1_0"}};
  for (const auto& [number, name] : kCases) {
    EXPECT_EQ(MessageOf(GgufBuilder().Tensor("blk.0.x", number, {256}, {})),
              fmt::format("f: tensor 'blk.0.x': type {} is not supported", name) + kExpected);
  }
  for (const uint32_t number : {42u, 0xFFFFFFFFu}) {
    EXPECT_EQ(MessageOf(GgufBuilder().Tensor("blk.0.x", number, {256}, {})),
              fmt::format("f: tensor 'blk.0.x': type number {} is not known", number) + kExpected);
  }
  EXPECT_EQ(ErrorOf(GgufBuilder().Tensor("t", kGgmlQ8_1, {256}, {}).Build()).code,
            ErrorCode::kUnsupported);
}

TEST(GgufHostile, TensorsOutsideTheFile) {
  EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("t", {1024}, {1})),
            "f: tensor 't': offset 0 + size 4096 exceeds the 32 bytes of data in the file");
  const std::vector<std::byte> data(32);
  for (const uint64_t offset : {uint64_t{32}, k2To63, kMaxUint64 - 31}) {
    EXPECT_EQ(MessageOf(GgufBuilder().Tensor("t", kGgmlF32, {8}, data, offset)),
              fmt::format("f: tensor 't': offset {} + size 32 exceeds the 32 bytes of data in the "
                          "file",
                          offset));
  }
  EXPECT_EQ(MessageOf(GgufBuilder().Tensor("t", kGgmlF32, {2}, data, 8)),
            "f: tensor 't': offset 8 is not a multiple of alignment 32");
}

TEST(GgufHostile, TensorsThatShareBytesOrNames) {
  const std::vector<std::byte> data(64);
  EXPECT_EQ(
      MessageOf(
          GgufBuilder().Tensor("a", kGgmlF32, {16}, data).Tensor("b", kGgmlF32, {8}, data, 32)),
      "f: tensor 'b': offset 32 lies inside tensor 'a', expected 64 or more");
  EXPECT_EQ(MessageOf(GgufBuilder().FloatTensor("a", {1}, {1}).FloatTensor("a", {1}, {1})),
            "f: tensor 'a' is there twice, expected once");
}

TEST(GgufHostile, NamesCannotBreakTheLine) {
  const std::string name = "x\n\x1b[31m'" + std::string(500, 'y');
  const std::string message = MessageOf(GgufBuilder().FloatTensor(name, {0}, {}));
  EXPECT_EQ(message, "f: tensor 'x\\x0a\\x1b[31m\\x27" + std::string(72, 'y') +
                         "'...: shape [0] has a dimension of 0, expected at least 1");
}

// What a file says is used in full: a crash or a read outside shows here or under the sanitizers.
void UseAll(const GgufContents& file) {
  for (const auto& [name, view] : file.tensors) {
    std::vector<float> row(static_cast<size_t>(view.columns()));
    const int64_t row_count = view.element_count() / view.columns();
    const int64_t row_bytes = RowBytes(view.type, view.columns());
    for (int64_t i = 0; i < row_count; ++i) {
      DequantizeRow(view.type, view.data + i * row_bytes, view.columns(), row.data());
    }
  }
  size_t sum = 0;
  for (const auto& [key, value] : file.metadata.values()) {
    if (const auto* strings = std::get_if<std::vector<std::string_view>>(&value)) {
      for (const std::string_view text : *strings) sum += text.empty() ? 0 : text.back() != 'x';
    }
  }
  EXPECT_LT(sum, 1u << 20);
}

void ExpectErrorOfOneLineOrUsable(const std::vector<std::byte>& bytes) {
  const Result<GgufContents> file = ParseGguf(bytes, "f");
  if (file) return UseAll(*file);
  EXPECT_EQ(file.error().message.substr(0, 3), "f: ");
  EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
}

TEST(GgufHostile, TruncatedAtEveryByte) {
  const std::vector<std::byte> whole = SmallFile().Build();
  ASSERT_TRUE(ParseGguf(whole, "f"));
  // Only the padding after the last tensor may go.
  const size_t needed = whole.size() - (32 - 68 % 32);
  for (size_t size = 0; size < whole.size(); ++size) {
    // A copy of exactly this size, so that the address sanitizer sees a read past it.
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    ExpectErrorOfOneLineOrUsable(cut);
    EXPECT_EQ(ParseGguf(cut, "f").has_value(), size >= needed) << size;
  }
}

TEST(GgufHostile, FlippedBits) {
  const std::vector<std::byte> whole = SmallFile().Build();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::byte> flipped = whole;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    ExpectErrorOfOneLineOrUsable(flipped);
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> damaged = whole;
    const unsigned change_count = 1 + random() % 8;
    for (unsigned i = 0; i < change_count; ++i) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    ExpectErrorOfOneLineOrUsable(damaged);
  }
}

}  // namespace
}  // namespace weft
