// safetensors files and directories, honest and hostile.
#include "model/formats/safetensors.h"

#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/dequantize.h"
#include "model/formats/safetensors_json.h"
#include "tests/model/formats/gguf_builder.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::byte> File(std::string_view header, size_t data_bytes) {
  ByteWriter file;
  file.Number<uint64_t>(header.size()).Text(header);
  for (size_t i = 0; i < data_bytes; ++i) file.Number(static_cast<uint8_t>(i % 0x40));
  return file.bytes();
}

std::string ErrorOf(const std::vector<std::byte>& bytes) {
  const Result<TensorMap> tensors = ParseSafetensors(bytes, "f");
  return tensors ? "no error" : tensors.error().message;
}
std::string ErrorOf(std::string_view header, size_t data_bytes = 0) {
  return ErrorOf(File(header, data_bytes));
}

std::string Tensor(std::string_view name, std::string_view dtype, std::string_view shape,
                   uint64_t begin, uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype,
                     shape, begin, end);
}

constexpr std::string_view kGoodHeader =
    R"({"__metadata__":{"format":"pt","deep":[{"a":[1,-2,3.5,null,true]}]},)"
    R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("h":{"shape":[2],"data_offsets":[24,28],"dtype":"F16"},)"
    R"("b":{"dtype":"BF16","shape":[],"data_offsets":[28,30]}}   )";

TEST(Safetensors, ReadsTensors) {
  ByteWriter file;
  file.Number<uint64_t>(kGoodHeader.size()).Text(kGoodHeader);
  for (int i = 0; i < 6; ++i) file.Number(static_cast<float>(i));
  file.Number<uint16_t>(0x3C00).Number<uint16_t>(0xC000).Number<uint16_t>(0x4040);
  const Result<TensorMap> tensors = ParseSafetensors(file.bytes(), "f");
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 3u);

  const TensorView& w = tensors->at("w");
  EXPECT_EQ(w.type, DataType::kF32);
  EXPECT_EQ(w.rank, 2);
  EXPECT_THAT(w.dims, ElementsAre(2, 3, 0, 0));
  std::vector<float> row(3);
  DequantizeRow(w.type, w[1].data, 3, row.data());
  EXPECT_THAT(row, ElementsAre(3, 4, 5));
  row.resize(2);
  DequantizeRow(DataType::kF16, tensors->at("h").data, 2, row.data());
  EXPECT_THAT(row, ElementsAre(1, -2));
  const TensorView& scalar = tensors->at("b");
  EXPECT_EQ(scalar.rank, 1);
  EXPECT_EQ(scalar.dims[0], 1);
  DequantizeRow(scalar.type, scalar.data, 1, row.data());
  EXPECT_EQ(row[0], 3);
}

TEST(Safetensors, ReadsBytes) {
  const std::string header = "{" + Tensor("t", "U8", "[2,3]", 0, 6) + "}";
  const std::vector<std::byte> file = File(header, 6);
  const Result<TensorMap> tensors = ParseSafetensors(file, "f");
  ASSERT_TRUE(tensors) << tensors.error().message;
  const TensorView& bytes = tensors->at("t");
  EXPECT_EQ(bytes.type, DataType::kU8);
  EXPECT_THAT(bytes.dims, ElementsAre(2, 3, 0, 0));
  std::vector<float> row(3);
  DequantizeRow(bytes.type, bytes[1].data, 3, row.data());
  EXPECT_THAT(row, ElementsAre(3, 4, 5));
}

// The filter of a convolution over images in time, which no text reads.
TEST(Safetensors, InnerDimensionsBeyondFourAreOne) {
  const std::string header = "{" + Tensor("t", "U8", "[2,3,1,2,2]", 0, 24) + "}";
  const std::vector<std::byte> file = File(header, 24);
  const Result<TensorMap> tensors = ParseSafetensors(file, "f");
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_EQ(tensors->at("t").rank, 4);
  EXPECT_THAT(tensors->at("t").dims, ElementsAre(2, 3, 1, 4));
}

TEST(Safetensors, AFileWithoutTensorsIsOne) { EXPECT_TRUE(ParseSafetensors(File("{}", 0), "f")); }

TEST(SafetensorsHostile, HeaderLengths) {
  EXPECT_EQ(ErrorOf(std::vector<std::byte>(7)),
            "f: has 7 bytes, expected a header length of 8 bytes first");
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    EXPECT_EQ(ErrorOf(ByteWriter().Number(length).Text("{}").bytes()),
              fmt::format("f: header length is {}, expected at most 2", length));
  }
}

TEST(SafetensorsHostile, HeadersAboveTheLimitAreNotRead) {
  TemporaryDirectory directory;
  const std::string path = directory.Write(
      "big.safetensors", AsText(ByteWriter().Number<uint64_t>(100'000'001).bytes()));
  std::filesystem::resize_file(path, 200'000'000);  // a hole, no disk
  EXPECT_THAT(SafetensorsFiles::OpenFile(path).error().message,
              EndsWith(": header length is 100000001, expected at most 100000000"));
}

TEST(SafetensorsHostile, BrokenJson) {
  EXPECT_EQ(ErrorOf(""), "f: not valid JSON at its byte 1");
  EXPECT_EQ(ErrorOf("{"), "f: not valid JSON at its byte 2");
  EXPECT_EQ(ErrorOf("{}{}"), "f: not valid JSON at its byte 3");
  EXPECT_THAT(ErrorOf("{\"a\xFF\":1}"), HasSubstr("not valid JSON"));
  EXPECT_EQ(ErrorOf("[]"), "f: header: expected an object, found an array");
  EXPECT_EQ(ErrorOf("7"), "f: header: expected an object, found 7");
}

TEST(SafetensorsHostile, FieldsOfTheWrongKind) {
  const struct {
    std::string_view header;
    std::string_view expected;
  } kCases[] = {
      {R"({"t":1})", "f: tensor 't': expected an object, found 1"},
      {R"({"t":{"dtype":4}})", "f: tensor 't': expected a string for 'dtype', found 4"},
      {R"({"t":{"dtype":null}})", "f: tensor 't': expected a string for 'dtype', found null"},
      {R"({"t":{"shape":"x"}})", "f: tensor 't': expected an array for 'shape', found 'x'"},
      {R"({"t":{"shape":[[1]]}})",
       "f: tensor 't': expected at most eight dimensions in 'shape', each from 0 to 2^64-1, found "
       "an array"},
      {R"({"t":{"shape":[-1]}})",
       "f: tensor 't': expected at most eight dimensions in 'shape', each from 0 to 2^64-1, found "
       "-1"},
      {R"({"t":{"shape":[1.5]}})",
       "f: tensor 't': expected at most eight dimensions in 'shape', each from 0 to 2^64-1, found "
       "1.5"},
      {R"({"t":{"shape":[18446744073709551616]}})",
       "f: tensor 't': expected at most eight dimensions in 'shape', each from 0 to 2^64-1, found "
       "18446744073709551616"},
      {R"({"t":{"shape":[1,1,1,1,1,1,1,1,6]}})",
       "f: tensor 't': expected at most eight dimensions in 'shape', each from 0 to 2^64-1, found "
       "6"},
      {R"({"t":{"data_offsets":{}}})",
       "f: tensor 't': expected an array for 'data_offsets', found an object"},
      {R"({"t":{"data_offsets":[0,1,2]}})",
       "f: tensor 't': expected two numbers from 0 to 2^64-1 in 'data_offsets', found 2"},
      {R"({"t":{"data_offsets":[0]}})",
       "f: tensor 't': expected two numbers from 0 to 2^64-1 in 'data_offsets', found fewer"},
      {R"({"t":{"color":1}})",
       "f: tensor 't': expected the fields 'dtype', 'shape' and 'data_offsets', found 'color'"},
      {R"({"t":{"dtype":"F32","shape":[]}})",
       "f: tensor 't': expected the fields 'dtype', 'shape' and 'data_offsets', found not all of "
       "them"},
      {R"({"t":{"dtype":"F32","dtype":"F32"}})",
       "f: tensor 't': field 'dtype' is there twice, expected once"},
  };
  for (const auto& [header, expected] : kCases) EXPECT_EQ(ErrorOf(header), expected) << header;
}

TEST(SafetensorsHostile, NestingWithoutEnd) {
  EXPECT_EQ(ErrorOf(R"({"__metadata__":)" + std::string(1'000'000, '[')),
            "f: nested more than 32 deep");
  EXPECT_EQ(ErrorOf(R"({"t":)" + std::string(1'000'000, '[')),
            "f: tensor 't': expected an object, found an array");
}

// Ten bytes a tensor would become some hundred each.
TEST(SafetensorsHostile, TensorsWithoutEnd) {
  std::string index = R"({"weight_map":{)";
  std::string header = "{";
  for (int i = 0; i <= 1 << 20; ++i) {
    index += fmt::format(R"({}"{}":"")", i == 0 ? "" : ",", i);
    header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                          i == 0 ? "" : ",", i);
  }
  const auto shards = ParseSafetensorsIndex(index + "}}", "f");
  ASSERT_FALSE(shards);
  EXPECT_EQ(shards.error().message, "f: 'weight_map': more than 1048576 tensors");
  const auto tensors = ParseSafetensorsHeader(header + "}", "f");
  ASSERT_FALSE(tensors);
  EXPECT_EQ(tensors.error().message, "f: header: more than 1048576 tensors");
}

TEST(SafetensorsHostile, TypesThatAreNotSupportedAreNamed) {
  for (const std::string_view dtype :
       {"F64", "U64", "I16", "BOOL", "F8_E5M2", "F4", "C64", "Q9", "Q4_0", "INT4_F16", ""}) {
    EXPECT_EQ(ErrorOf("{" + Tensor("t", dtype, "[1]", 0, 4) + "}", 4),
              fmt::format(
                  "f: tensor 't': dtype '{}' is not supported, expected one of F32, F16, BF16, U8, "
                  "I8, I32, U32, I64, F8_E4M3, F8_E8M0",
                  dtype));
  }
}

TEST(SafetensorsHostile, ShapesAndOffsets) {
  const struct {
    std::string tensor;
    std::string_view expected;
  } kCases[] = {
      {Tensor("t", "F32", "[2,0]", 0, 0), "shape [2, 0] has a dimension of 0, expected at least 1"},
      {Tensor("t", "F32", "[4294967296,4294967296]", 0, 8),
       "shape [4294967296, 4294967296] has 2^63 elements or more, expected fewer"},
      {Tensor("t", "F32", "[9223372036854775807]", 0, 8),
       "shape [9223372036854775807] of type F32 has 2^63 bytes or more, expected fewer"},
      {Tensor("t", "U8", "[4294967296,2147483648,1,16]", 0, 8),
       "shape [4294967296, 2147483648, 1, 16] has 2^63 elements or more, expected fewer"},
      {Tensor("t", "U8", "[1152921504606846975,1,8]", 0, 8),
       "data_offsets [0, 8] hold 8 bytes, expected 9223372036854775800 for its shape"},
      {Tensor("t", "F32", "[2]", 8, 0), "data_offsets [8, 0] do not lie in the 8 bytes of data"},
      {Tensor("t", "F32", "[2]", 4, 12), "data_offsets [4, 12] do not lie in the 8 bytes of data"},
      {Tensor("t", "F32", "[2]", 18446744073709551612ULL, 4),
       "data_offsets [18446744073709551612, 4] do not lie in the 8 bytes of data"},
      {Tensor("t", "F32", "[1]", 0, 8),
       "data_offsets [0, 8] hold 8 bytes, expected 4 for its shape"},
      {Tensor("t", "F16", "[5]", 0, 8),
       "data_offsets [0, 8] hold 8 bytes, expected 10 for its shape"},
  };
  for (const auto& [tensor, expected] : kCases) {
    EXPECT_EQ(ErrorOf("{" + tensor + "}", 8), fmt::format("f: tensor 't': {}", expected));
  }
}

TEST(SafetensorsHostile, TensorsFillTheDataExactly) {
  const auto two = [](const std::string& a, const std::string& b) {
    return "{" + a + "," + b + "}";
  };
  EXPECT_EQ(ErrorOf(two(Tensor("a", "F32", "[2]", 0, 8), Tensor("b", "F32", "[1]", 4, 8)), 8),
            "f: tensor 'b': offset 4 lies inside tensor 'a', expected 8 or more");
  EXPECT_EQ(ErrorOf(two(Tensor("a", "F32", "[1]", 0, 4), Tensor("b", "F32", "[1]", 8, 12)), 12),
            "f: has 12 bytes of data, expected the 8 of its tensors");
  EXPECT_EQ(ErrorOf("{}", 1), "f: has 1 bytes of data, expected the 0 of its tensors");
  EXPECT_EQ(ErrorOf(two(Tensor("a", "F32", "[1]", 0, 4), Tensor("a", "F32", "[1]", 4, 8)), 8),
            "f: tensor 'a' is there twice, expected once");
}

TEST(SafetensorsHostile, TruncatedAtEveryByte) {
  const std::vector<std::byte> whole = File(kGoodHeader, 30);
  ASSERT_TRUE(ParseSafetensors(whole, "f"));
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THAT(ErrorOf(cut), StartsWith("f: ")) << size;
  }
}

TEST(SafetensorsHostile, FlippedBits) {
  const std::vector<std::byte> whole = File(kGoodHeader, 30);
  const auto check = [](const std::vector<std::byte>& bytes) {
    const Result<TensorMap> tensors = ParseSafetensors(bytes, "f");
    if (!tensors) {
      EXPECT_EQ(tensors.error().message.find('\n'), std::string::npos) << tensors.error().message;
      return;
    }
    for (const auto& [name, view] : *tensors) {
      std::vector<float> values(static_cast<size_t>(view.element_count()));
      DequantizeRow(view.type, view.data, view.element_count(), values.data());
    }
  };
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::byte> flipped = whole;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    check(flipped);
  }
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> damaged = whole;
    const unsigned change_count = 1 + random() % 4;
    for (unsigned i = 0; i < change_count; ++i) {
      damaged[8 + random() % (damaged.size() - 8)] = static_cast<std::byte>(random());
    }
    check(damaged);
  }
}

class SafetensorsDirectory : public ::testing::Test {
 protected:
  void WriteIndex(std::string_view weight_map) {
    directory_.Write(
        "model.safetensors.index.json",
        fmt::format(R"({{"metadata":{{"total_size":8}},"weight_map":{}}})", weight_map));
  }
  void WriteShards() {
    directory_.Write("model-00001-of-00002.safetensors",
                     AsText(File("{" + Tensor("a", "F32", "[1]", 0, 4) + "}", 4)));
    directory_.Write("model-00002-of-00002.safetensors",
                     AsText(File("{" + Tensor("b", "F32", "[1]", 0, 4) + "}", 4)));
  }
  std::string Error() {
    const Result<SafetensorsFiles> files = SafetensorsFiles::OpenDirectory(directory_.path());
    return files ? "no error" : files.error().message;
  }

  std::string PathOf(std::string_view name) const {
    return fmt::format("{}/{}", directory_.path(), name);
  }

  TemporaryDirectory directory_;
};

constexpr std::string_view kGoodMap =
    R"({"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"})";

TEST_F(SafetensorsDirectory, OpensShards) {
  WriteShards();
  WriteIndex(kGoodMap);
  const Result<SafetensorsFiles> files = SafetensorsFiles::OpenDirectory(directory_.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->files.size(), 2u);
  EXPECT_EQ(files->tensors.size(), 2u);
}

TEST_F(SafetensorsDirectory, PrefersTheSingleFile) {
  WriteShards();
  WriteIndex(kGoodMap);
  directory_.Write("model.safetensors",
                   AsText(File("{" + Tensor("c", "F32", "[1]", 0, 4) + "}", 4)));
  const Result<SafetensorsFiles> files = SafetensorsFiles::OpenDirectory(directory_.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->tensors.count("c"), 1u);
}

TEST_F(SafetensorsDirectory, WithoutWeights) {
  EXPECT_EQ(Error(), directory_.path() +
                         ": holds neither model.safetensors nor model.safetensors.index.json, "
                         "expected one of them");
}

TEST_F(SafetensorsDirectory, ShardsThatAreMissingOrLackATensor) {
  WriteShards();
  WriteIndex(R"({"a":"model-00001-of-00002.safetensors","z":"model-00001-of-00002.safetensors"})");
  EXPECT_EQ(Error(), PathOf("model-00001-of-00002.safetensors") +
                         ": tensor 'z' is absent, but model.safetensors.index.json says it is "
                         "there");
  WriteIndex(R"({"a":"model-00002-of-00002.safetensors","b":"model-00001-of-00002.safetensors"})");
  EXPECT_THAT(Error(), HasSubstr("tensor 'b' is absent"));
  WriteIndex(R"({"a":"other.safetensors"})");
  EXPECT_THAT(Error(), HasSubstr("/other.safetensors: cannot open"));
}

TEST_F(SafetensorsDirectory, TensorsInTwoShards) {
  WriteShards();
  directory_.Write("model-00002-of-00002.safetensors",
                   AsText(File("{" + Tensor("a", "F32", "[1]", 0, 4) + "}", 4)));
  WriteIndex(kGoodMap);
  EXPECT_EQ(Error(), PathOf("model-00002-of-00002.safetensors") +
                         ": tensor 'a' is in another shard too, expected once");
}

TEST_F(SafetensorsDirectory, ShardNamesCannotLeadElsewhere) {
  WriteShards();
  for (const std::string_view name :
       {"../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "..", ".", "", ".safetensors",
        "a\\\\b.safetensors", "a\\u0000.safetensors", "passwd", "..safetensors"}) {
    WriteIndex(fmt::format(R"({{"a":"{}"}})", name));
    EXPECT_THAT(Error(), HasSubstr("'weight_map': file name is '")) << name;
    EXPECT_THAT(Error(), EndsWith("expected NAME.safetensors in the same directory")) << name;
  }
}

TEST_F(SafetensorsDirectory, BrokenIndexes) {
  const std::string path = PathOf("model.safetensors.index.json");
  const struct {
    std::string_view json;
    std::string_view expected;
  } kCases[] = {
      {"", "not valid JSON at its byte 1"},
      {"[]", "expected an object, found an array"},
      {"{}", "'weight_map' is absent, expected an object"},
      {R"({"weight_map":[]})", "'weight_map': expected an object, found an array"},
      {R"({"weight_map":{"a":1}})", "'weight_map': tensor 'a': expected a file's name, found 1"},
      {R"({"weight_map":{"a":"x","a":"x"}})",
       "'weight_map': tensor 'a' is there twice, expected once"},
      {R"({"weight_map":{},"weight_map":{}})", "'weight_map' is there twice, expected once"},
  };
  for (const auto& [json, expected] : kCases) {
    directory_.Write("model.safetensors.index.json", json);
    EXPECT_EQ(Error(), fmt::format("{}: {}", path, expected));
  }
}

}  // namespace
}  // namespace weft
