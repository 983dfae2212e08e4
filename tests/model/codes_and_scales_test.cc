// MXFP4 in two tensors of bytes, as safetensors have it: the weights of the same blocks in a GGUF
// file; and what is wrong with the two is refused by name.
#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/gguf.h"
#include "model/formats/safetensors.h"
#include "model/formats/schemes/scheme.h"
#include "model/tensor_binding.h"
#include "model/weights.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Rows of a stack that has another's in between.
constexpr RowOrder kEvenRows = {.first = 0, .run = 1, .stride = 2};
constexpr RowOrder kOddRows = {.first = 1, .run = 1, .stride = 2};

Parameter Stack(TensorSource source, int64_t rows, int64_t columns, int64_t count) {
  return {.sources = {std::move(source)}, .rows = rows, .columns = columns, .count = count};
}

ModelDescription Describe(std::vector<Parameter> stacks) {
  ModelDescription description;
  description.spec.architecture = "test";
  description.parameters.stacks = std::move(stacks);
  return description;
}

const ConfigValues kConfig = {{"quantization_config", OtherValue{std::string(kObjectValue)}},
                              {"quantization_config.quant_method", std::string("mxfp4")}};

Result<ModelTensors> BindParts(TensorMap tensors, const ModelDescription& description) {
  WEFT_ASSIGN_OR_RETURN(const AssembledTensors assembled,
                        AssembleQuantized(kConfig, tensors, "file"));
  return BindTensors(tensors, description, "file", assembled);
}

std::string ErrorOf(const TensorMap& tensors, const ModelDescription& description) {
  const Result<ModelTensors> bound = BindParts(tensors, description);
  return bound ? "no error" : bound.error().message;
}

void ExpectSameWeights(const ModelTensors& a, const ModelTensors& b) {
  ThreadPool threads(2);
  for (const Arithmetic arithmetic : {Arithmetic::kInt8, Arithmetic::kF32}) {
    const KernelTable& kernels = KernelsFor(arithmetic, Isa::kScalar);
    EXPECT_EQ(Weights::PackedBytes(a, kernels), Weights::PackedBytes(b, kernels));
    int64_t total_a = 0;
    int64_t total_b = 0;
    const auto note_in = [](int64_t& noted) {
      return [&noted](int64_t, int64_t total) {
        noted = total;
        return true;
      };
    };
    const Weights packed_a = Weights::Pack(a, {}, kernels, threads, note_in(total_a));
    const Weights packed_b = Weights::Pack(b, {}, kernels, threads, note_in(total_b));
    EXPECT_EQ(total_a, total_b);
    ASSERT_EQ(a.stacks.size(), b.stacks.size());
    for (size_t stack = 0; stack < a.stacks.size(); ++stack) {
      const auto id = static_cast<StackId>(stack);
      ASSERT_EQ(packed_a.stack(id).size(), packed_b.stack(id).size());
      for (size_t i = 0; i < packed_a.stack(id).size(); ++i) {
        const PackedMatrix& matrix_a = packed_a.stack(id)[i];
        const PackedMatrix& matrix_b = packed_b.stack(id)[i];
        ASSERT_EQ(matrix_a.layout, matrix_b.layout);
        // Behind the last row of float32 stands what was there before.
        const auto rows_of = [&](const PackedMatrix& matrix) {
          const auto bytes = matrix.storage.bytes();
          if (arithmetic != Arithmetic::kF32) return bytes;
          return bytes.first(static_cast<size_t>(matrix.rows * matrix.columns) * sizeof(float));
        };
        EXPECT_TRUE(std::ranges::equal(rows_of(matrix_a), rows_of(matrix_b)))
            << NameOf(arithmetic) << " stack " << stack << " matrix " << i;
      }
    }
  }
}

TensorMap Select(TensorMap tensors, DataType type, const std::string& prefix) {
  std::erase_if(tensors, [&](const auto& entry) {
    return entry.second.type != type || !entry.first.starts_with(prefix);
  });
  return tensors;
}

// The same weights, written by transformers and converted by llama.cpp's rules.
TEST(CodesAndScalesTest, AreTheWeightsOfTheGgufFile) {
  const SafetensorsFiles hf = SafetensorsFiles::OpenDirectory(ParityPath("gpt_oss", "hf")).value();
  const GgufFile gguf = GgufFile::Open(ParityPath("gpt_oss", "model.gguf")).value();
  for (const int layer : {0, 1}) {
    const std::string experts = fmt::format("model.layers.{}.mlp.experts.", layer);
    const std::string fused = experts + "gate_up_proj_";
    const std::string down = experts + "down_proj_";
    const auto half = [&](RowOrder rows) {
      return TensorSource{.name = fused + "blocks", .rows = rows, .tensor_rows = 64};
    };
    const ModelDescription of_hf =
        Describe({Stack(half(kEvenRows), 32, 32, 4), Stack(half(kOddRows), 32, 32, 4),
                  Stack({down + "blocks"}, 32, 32, 4)});
    const auto in_gguf = [&](const char* name) {
      return Stack({fmt::format("blk.{}.ffn_{}_exps.weight", layer, name)}, 32, 32, 4);
    };
    const ModelDescription of_gguf = Describe({in_gguf("gate"), in_gguf("up"), in_gguf("down")});
    const TensorMap map = Select(hf.tensors, DataType::kU8, experts);
    const TensorMap gguf_map =
        Select(gguf.tensors, DataType::kMXFP4, fmt::format("blk.{}.", layer));
    const Result<ModelTensors> a = BindParts(map, of_hf);
    const Result<ModelTensors> b = BindTensors(gguf_map, of_gguf, "gguf");
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    ExpectSameWeights(*a, *b);
  }
}

// Two stacks whose rows take turns in the tensors, and their tensors' bytes.
class InterleavedTest : public testing::Test {
 protected:
  static constexpr int64_t kCount = 3;
  static constexpr int64_t kRows = 150;  // of each
  static constexpr int64_t kColumns = 96;
  static constexpr int64_t kBlocks = kColumns / 32;

  InterleavedTest() {
    std::mt19937 random(1);
    for (std::byte& byte : codes_) byte = static_cast<std::byte>(random());
    for (std::byte& byte : scales_) byte = static_cast<std::byte>(random());
    map_["x_blocks"] =
        TensorView::Contiguous(codes_.data(), DataType::kU8, {kCount, 2 * kRows, kBlocks, 16});
    map_["x_scales"] =
        TensorView::Contiguous(scales_.data(), DataType::kU8, {kCount, 2 * kRows, kBlocks});
  }

  static TensorSource Source(RowOrder rows) {
    return {.name = "x_blocks", .rows = rows, .tensor_rows = 2 * kRows};
  }

  // Rows of one matrix as blocks of a GGUF file, element by element.
  std::vector<std::byte> Blocks(int64_t matrix, int64_t first, int64_t stride,
                                int64_t count) const {
    std::vector<std::byte> blocks;
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t block = 0; block < kBlocks; ++block) {
        const int64_t at = (matrix * 2 * kRows + first + row * stride) * kBlocks + block;
        const auto code = [&](int64_t element) {
          const std::byte both = codes_[static_cast<size_t>(at * 16 + element / 2)];
          return element % 2 == 0 ? both & std::byte{15} : both >> 4;
        };
        blocks.push_back(scales_[static_cast<size_t>(at)]);
        for (int64_t i = 0; i < 16; ++i) blocks.push_back(code(i) | code(i + 16) << 4);
      }
    }
    return blocks;
  }

  void ExpectRows(RowOrder rows, int64_t stride) {
    const ModelDescription description = Describe({Stack(Source(rows), kRows, kColumns, kCount)});
    const Result<ModelTensors> found = BindParts(map_, description);
    ASSERT_TRUE(found) << found.error().message;
    std::vector<std::vector<std::byte>> blocks;
    ModelTensors expected;
    std::vector<BoundMatrix>& stack = expected.stacks.emplace_back();
    for (int64_t matrix = 0; matrix < kCount; ++matrix) {
      blocks.push_back(Blocks(matrix, rows.first, stride, kRows));
      stack.push_back(
          {TensorView::Contiguous(blocks.back().data(), DataType::kMXFP4, {kRows, kColumns})});
    }
    ExpectSameWeights(*found, expected);
  }

  std::string Error() const {
    return ErrorOf(map_, Describe({Stack(Source(kEvenRows), kRows, kColumns, kCount)}));
  }

  std::vector<std::byte> codes_ = std::vector<std::byte>(kCount * 2 * kRows * kBlocks * 16);
  std::vector<std::byte> scales_ = std::vector<std::byte>(kCount * 2 * kRows * kBlocks);
  TensorMap map_;
};

TEST_F(InterleavedTest, RowsAreThoseOfTheirOrder) {
  ExpectRows(kEvenRows, 2);
  ExpectRows(kOddRows, 2);
  ExpectRows({.first = 0}, 1);
  ExpectRows({.first = kRows}, 1);
}

TEST_F(InterleavedTest, NamesFoundAndExpectedShape) {
  EXPECT_EQ(Error(), "no error");
  const TensorMap good = map_;
  map_["x_blocks"].dims[3] = 8;
  EXPECT_EQ(Error(),
            "file: tensor x_blocks has shape (3, 300, 3, 8), expected (any, any, any, 16)");
  map_ = good;
  map_["x_blocks"].dims[1] = 299;
  map_["x_scales"].dims[1] = 299;
  EXPECT_EQ(Error(), "file: tensor x_blocks has shape (3, 299, 96), expected (3, 300, 96)");
  map_ = good;
  map_["x_scales"].dims[2] = 2;
  EXPECT_EQ(Error(), "file: tensor x_scales has shape (3, 300, 2), expected (3, 300, 3)");
  map_ = good;
  map_["x_scales"] = map_["x_blocks"];
  EXPECT_EQ(Error(), "file: tensor x_scales has shape (3, 300, 3, 16), expected (3, 300, 3)");
  map_ = good;
  map_["x_scales"] = map_["x_scales"][0];
  EXPECT_EQ(Error(), "file: tensor x_scales has shape (300, 3), expected (3, 300, 3)");
}

TEST_F(InterleavedTest, NamesWhatIsMissingOrOfAnotherType) {
  const TensorMap good = map_;
  map_.erase("x_scales");
  EXPECT_EQ(Error(), "file: tensor x_scales is missing, which its weight needs");
  map_ = good;
  map_.erase("x_blocks");
  EXPECT_EQ(Error(), "file: tensor x_blocks is missing, which test needs");
  map_ = good;
  map_["x_scales"].type = DataType::kF16;
  EXPECT_EQ(Error(), "file: tensor x_scales has type F16, expected U8");
}

// What a configuration says is only ever compared.
TEST_F(InterleavedTest, RefusesSizesThatTheTensorsDoNotHave) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const auto& [rows, columns, count] :
       std::initializer_list<std::array<int64_t, 3>>{{kHuge, kColumns, kCount},
                                                     {kRows, kHuge, kCount},
                                                     {kRows, kColumns, kHuge},
                                                     {kRows, kColumns + 1, kCount}}) {
    Parameter parameter = Stack(Source({}), rows, columns, count);
    parameter.sources[0].tensor_rows = 0;
    EXPECT_THAT(ErrorOf(map_, Describe({parameter})),
                HasSubstr("tensor x_blocks has shape (3, 300, 96), expected ("));
  }
}

TEST_F(InterleavedTest, BytesAreNoWeightsByThemselves) {
  const TensorMap map = {{"x", map_["x_scales"]}};
  constexpr const char* kError = "file: tensor x has type U8, expected F32, F16 or BF16";
  EXPECT_EQ(ErrorOf(map, Describe({Stack({"x"}, 2 * kRows, kBlocks, kCount)})), kError);
  const TensorMap one = {{"x", map_["x_scales"][0]}};
  ModelDescription matrix = Describe({});
  matrix.parameters.matrices = {Stack({"x"}, 2 * kRows, kBlocks, 1)};
  EXPECT_EQ(ErrorOf(one, matrix), kError);
  ModelDescription table = Describe({});
  table.parameters.tables = {Stack({"x"}, 2 * kRows, kBlocks, 1)};
  EXPECT_EQ(ErrorOf(one, table), kError);
  const TensorMap vector = {{"x", map_["x_scales"][0][0]}};
  table.parameters.tables = {Stack({"x"}, kBlocks, 0, 1)};
  EXPECT_EQ(ErrorOf(vector, table), kError);
}

}  // namespace
}  // namespace weft
