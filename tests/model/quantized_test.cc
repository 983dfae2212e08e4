// Quantised safetensors against the libraries that publish them:
// tests/tools/make_quantized_fixtures.py has each one's weights as that library dequantises them,
// before anything is rounded to 16 bits, and the logits that transformers computes with them.
#include <bit>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_limits.h"
#include "base/regular_file.h"
#include "model/formats/config_json.h"
#include "model/formats/dequantize.h"
#include "model/formats/safetensors.h"
#include "model/formats/schemes/scheme.h"
#include "model/tensor_binding.h"
#include "model/weights.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

struct Fixture {
  std::string_view name;
  DataType type;              // of some of its matrices, or all
  bool rounds_twice = false;  // the library does, where Weft does once
  // With the columns in another order; nothing: there is none.
  std::optional<DataType> ordered = {};
};

constexpr Fixture kFixtures[] = {
    {"awq", DataType::kINT4_F16},
    {"bnb_fp4", DataType::kFP4_F32},
    {"bnb_int8", DataType::kINT8_F32, /*rounds_twice=*/true},
    {"bnb_nf4", DataType::kNF4_F32},
    {"bnb_nf4_plain", DataType::kNF4_F32},
    {"ct_fp8", DataType::kFP8_F32},
    {"ct_fp8_tensor", DataType::kFP8_F32},
    {"ct_nvfp4", DataType::kNVFP4_F32},
    {"ct_w4a16", DataType::kINT4_BF16},
    {"ct_w4a16_act_order", DataType::kF32, false, DataType::kINT4_BF16},
    {"ct_w4a16_asym", DataType::kINT4_BF16},
    {"ct_w8a16", DataType::kINT8_F32},
    {"ct_w8a8", DataType::kINT8_F32},
    {"fp8_block", DataType::kFP8_F32},
    {"gptq_8bit", DataType::kQ8_0},
    {"gptq_act_order", DataType::kF32, false, DataType::kQ4_0},
    {"gptq_sym", DataType::kQ4_0},
    {"gptq_v2_asym", DataType::kINT4_F16},
    {"mlx_4bit", DataType::kAFFINE4_BF16},
    {"mlx_4bit_f16", DataType::kQ4_1},
    {"mlx_mixed", DataType::kAFFINE4_BF16},
    {"moe_awq", DataType::kINT4_F16},
};

std::string FixturePath(const std::string& fixture, const std::string& file = "") {
  return SourcePath("tests/model/fixtures/quantized/") + fixture + "/" + file;
}

std::vector<float> ValuesIn(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.element_count()));
  DequantizeRow(tensor.type, tensor.data, tensor.element_count(), values.data());
  return values;
}

class QuantizedTest : public testing::TestWithParam<Fixture> {
 protected:
  void SetUp() override {
    const std::string config_path = FixturePath(fixture(), "config.json");
    config_ =
        ReadConfigJson(ReadFile(config_path, kConfigJson.max_bytes).value(), config_path).value();
    files_ = SafetensorsFiles::OpenDirectory(FixturePath(fixture())).value();
    expected_ = SafetensorsFiles::OpenFile(FixturePath(fixture(), "expected.safetensors")).value();
  }

  static std::string fixture() { return std::string(GetParam().name); }
  Result<AssembledTensors> Assemble() {
    return AssembleQuantized(config_, files_.tensors, FixturePath(fixture()));
  }

  ConfigValues config_;
  SafetensorsFiles files_;
  SafetensorsFiles expected_;
};

// Every weight, whatever the order of the tensor's columns.
void ExpectWeights(const AssembledTensor& tensor, const std::vector<float>& expected,
                   int64_t most_distance, const std::string& name) {
  const int64_t columns = tensor.view.columns();
  std::vector<int32_t> order = tensor.column_order;
  if (order.empty()) {
    order.resize(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
  }
  std::vector<std::byte> row(static_cast<size_t>(RowBytes(tensor.view.type, columns)));
  std::vector<float> found(static_cast<size_t>(columns));
  for (int64_t i = 0; i < std::ssize(expected) / columns; ++i) {
    tensor.read_row(i, row.data());
    DequantizeRow(tensor.view.type, row.data(), columns, found.data());
    for (int64_t k = 0; k < columns; ++k) {
      const float value =
          expected[static_cast<size_t>(i * columns + order[static_cast<size_t>(k)])];
      // A zero's sign is the table's: fp4 has both, and the library's kernel writes either as -0.
      const float own = found[static_cast<size_t>(k)];
      const int64_t distance = own == value ? 0
                                            : std::abs(int64_t{std::bit_cast<int32_t>(own)} -
                                                       int64_t{std::bit_cast<int32_t>(value)});
      ASSERT_LE(distance, most_distance)
          << name << " row " << i << " column " << k << ": " << own << ", expected " << value;
    }
  }
}

TEST_P(QuantizedTest, WeightsAreTheLibrarysBitForBit) {
  const Result<AssembledTensors> assembled = Assemble();
  ASSERT_TRUE(assembled) << assembled.error().message;
  ASSERT_FALSE(assembled->empty());
  std::set<std::string> names;
  std::set<std::string_view> types;
  for (const auto& [name, tensor] : *assembled) {
    names.insert(name);
    types.insert(TraitsOf(tensor->view.type).name);
    ASSERT_TRUE(expected_.tensors.contains(name)) << name;
    const TensorView& whole = expected_.tensors[name];
    ASSERT_EQ(tensor->view.element_count(), whole.element_count()) << name;
    ASSERT_EQ(tensor->view.columns(), whole.columns()) << name;
    const std::vector<float> expected = ValuesIn(whole);
    const int64_t most_distance = GetParam().rounds_twice ? 1 : 0;
    ExpectWeights(*tensor, expected, most_distance, name);
    ASSERT_EQ(tensor->ordered != nullptr, GetParam().ordered.has_value()) << name;
    if (tensor->ordered == nullptr) continue;
    EXPECT_EQ(tensor->ordered->view.type, *GetParam().ordered) << name;
    EXPECT_EQ(std::ssize(tensor->ordered->column_order), whole.columns()) << name;
    ExpectWeights(*tensor->ordered, expected, most_distance, name);
  }
  EXPECT_THAT(types, testing::Contains(TraitsOf(GetParam().type).name));
  for (const auto& [name, tensor] : expected_.tensors) {
    EXPECT_TRUE(names.contains(name) || name == "tokens" || name == "logits") << name;
  }
}

// A router, for one, of which MLX quantises the weights, too.
TEST_P(QuantizedTest, TablesMayBeQuantized) {
  const AssembledTensors assembled = Assemble().value();
  const auto& [name, tensor] = *assembled.begin();
  const int64_t rows = tensor->view.rows();
  const int64_t columns = tensor->view.columns();
  ModelDescription description;
  description.spec.architecture = "test";
  description.parameters.tables = {
      {.sources = {{name, {.first = 1}, rows}}, .rows = rows - 1, .columns = columns}};
  const ModelTensors bound = BindTensors({}, description, "file", {{name, tensor}}).value();
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  ThreadPool threads(1);
  const Weights weights = Weights::Pack(bound, {}, kernels, threads);
  const std::vector<float> expected = ValuesIn(expected_.tensors[name]);
  const float* const table = weights.table(TableId{0});
  for (int64_t i = 0; i < (rows - 1) * columns; ++i) {
    ASSERT_FLOAT_EQ(table[i], expected[static_cast<size_t>(i + columns)]) << i;
  }
}

TEST_P(QuantizedTest, LogitsAreTransformers) {
  const TensorView& ids = expected_.tensors["tokens"];
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < ids.element_count(); ++i) {
    int64_t id = 0;
    std::memcpy(&id, ids.data + i * 8, sizeof(id));
    tokens.push_back(static_cast<TokenId>(id));
  }
  const std::vector<float> values = ValuesIn(expected_.tensors["logits"]);
  const size_t vocabulary = values.size() / tokens.size();
  std::vector<std::vector<float>> expected;
  for (size_t row = 0; row < tokens.size(); ++row) {
    const auto first = values.begin() + static_cast<ptrdiff_t>(row * vocabulary);
    expected.emplace_back(first, first + static_cast<ptrdiff_t>(vocabulary));
  }
  for (const auto& [arithmetic, tolerance] :
       {std::pair(Arithmetic::kF32, 1e-4), std::pair(Arithmetic::kBF16, 3e-2),
        std::pair(Arithmetic::kInt8, 5e-2)}) {
    RunnableModel model(FixturePath(fixture()), {.arithmetic = arithmetic});
    EXPECT_LT(RelativeError(model.RunSequence(tokens), expected), tolerance) << NameOf(arithmetic);
  }
}

enum class Damage { kMissing, kOtherType, kOtherShape };

// A part that is of another type or shape is named, or is no part of a weight any more and left for
// the binder to name, or makes a weight of another shape, likewise. One that is missing may be one
// that need not be there.
TEST_P(QuantizedTest, PartsThatDoNotFitAreFound) {
  const TensorMap good = files_.tensors;
  const AssembledTensors whole = Assemble().value();
  const TensorMap plain = files_.tensors;
  for (const auto& [name, view] : good) {
    if (plain.contains(name) || name.ends_with(".input_scale")) continue;  // or is left out
    for (const Damage damage : {Damage::kMissing, Damage::kOtherType, Damage::kOtherShape}) {
      TensorMap tensors = good;
      TensorView& part = tensors[name];
      if (damage == Damage::kMissing) tensors.erase(name);
      if (damage == Damage::kOtherType) {
        part.type = part.type == DataType::kI64 ? DataType::kF16 : DataType::kI64;
      }
      if (damage == Damage::kOtherShape) part.dims[0] += part.dims[0] > 1 ? -1 : 1;
      const Result<AssembledTensors> found = AssembleQuantized(config_, tensors, "file");
      const std::string what = fmt::format("{}, {}", name, static_cast<int>(damage));
      if (!found) {
        EXPECT_THAT(found.error().message, testing::StartsWith("file: tensor ")) << what;
      } else if (tensors.size() == plain.size()) {
        const bool is_same = std::ranges::equal(*found, whole, [](const auto& a, const auto& b) {
          return a.second->view.dims == b.second->view.dims;
        });
        EXPECT_TRUE(damage == Damage::kMissing || !is_same) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, QuantizedTest, testing::ValuesIn(kFixtures),
                         [](const auto& fixture) { return std::string(fixture.param.name); });

// What a checkpoint of the fixture says in place of what its config.json has.
std::string ErrorWith(const std::string& fixture, const ConfigValues& changes) {
  const std::string config_path = FixturePath(fixture, "config.json");
  ConfigValues config =
      ReadConfigJson(ReadFile(config_path, kConfigJson.max_bytes).value(), config_path).value();
  for (const auto& [key, value] : changes) config[key] = value;
  SafetensorsFiles files = SafetensorsFiles::OpenDirectory(FixturePath(fixture)).value();
  const auto assembled = AssembleQuantized(config, files.tensors, "file");
  return assembled ? "no error" : assembled.error().message;
}

TEST(QuantizedConfigTest, RefusesWhatItDoesNotRead) {
  using testing::HasSubstr;
  const std::string prefix = "quantization_config.";
  EXPECT_THAT(ErrorWith("awq", {{prefix + "quant_method", std::string("hqq")}}),
              HasSubstr("file: quantization_config.quant_method 'hqq' is not supported; known are "
                        "awq, bitsandbytes, compressed-tensors, "));
  EXPECT_THAT(ErrorWith("awq", {{"quantization_config", int64_t{4}}}),
              HasSubstr("file: quantization_config is no object"));
  EXPECT_THAT(
      ErrorWith("awq", {{prefix + "version", std::string("gemv")}}),
      HasSubstr("is quantised by AWQ in version 'gemv' with bits = 4, expected gemm with 4"));
  EXPECT_THAT(ErrorWith("gptq_sym", {{prefix + "bits", int64_t{3}}}),
              HasSubstr("is quantised by GPTQ with bits = 3, expected 2, 4 or 8"));
  EXPECT_THAT(ErrorWith("gptq_sym", {{prefix + "checkpoint_format", std::string("marlin")}}),
              HasSubstr("is quantised by GPTQ in format 'marlin', expected gptq or gptq_v2"));
  EXPECT_THAT(ErrorWith("mlx_4bit", {{"quantization.mode", std::string("mxfp4")},
                                     {prefix + "mode", std::string("mxfp4")}}),
              HasSubstr("is quantised by MLX's mode 'mxfp4'"));
}

std::vector<std::byte> RandomBytes(size_t count) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(count);
  // No e4m3 among them is NaN.
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xbf);
  return bytes;
}

// The one weight of layer "x", of two rows.
std::vector<float> AssembledValues(const std::string& method, TensorMap tensors, DataType type) {
  const ConfigValues config = {{"quantization_config", OtherValue{std::string(kObjectValue)}},
                               {"quantization_config.quant_method", method}};
  const auto assembled = AssembleQuantized(config, tensors, "file");
  if (!assembled) throw std::runtime_error(assembled.error().message);
  const AssembledTensor& tensor = *assembled->at("x.weight");
  EXPECT_EQ(tensor.view.type, type);
  const int64_t columns = tensor.view.columns();
  std::vector<float> values(static_cast<size_t>(2 * columns));
  std::vector<std::byte> row(static_cast<size_t>(RowBytes(tensor.view.type, columns)));
  for (int64_t i = 0; i < 2; ++i) {
    tensor.read_row(i, row.data());
    DequantizeRow(tensor.view.type, row.data(), columns, values.data() + i * columns);
  }
  return values;
}

// Where rows, and the columns under a scale, are made of whole blocks, and where they are not.
TEST(FloatRowsTest, FP8IsCodesTimesScales) {
  struct Case {
    int64_t columns;
    int64_t scales;  // of a row
    DataType type;
  };
  for (const auto& [columns, count, type] :
       {Case{64, 1, DataType::kFP8_F32}, Case{64, 2, DataType::kFP8_F32},
        Case{64, 4, DataType::kF32}, Case{48, 1, DataType::kF32}}) {
    const std::vector<std::byte> codes = RandomBytes(static_cast<size_t>(2 * columns));
    const float scales[] = {0.037F, -1.7F, 0.11F, 0.7F, -0.9F, 1.3F, 0.31F, 2.1F};
    const std::vector<float> values = AssembledValues(
        "fp8",
        {{"x.weight", TensorView::Contiguous(codes.data(), DataType::kF8_E4M3, {2, columns})},
         {"x.weight_scale", TensorView::Contiguous(reinterpret_cast<const std::byte*>(scales),
                                                   DataType::kF32, {2, count})}},
        type);
    for (int64_t i = 0; i < 2 * columns; ++i) {
      float code = 0;
      DequantizeRow(DataType::kF8_E4M3, codes.data() + i, 1, &code);
      ASSERT_EQ(values[static_cast<size_t>(i)], code * scales[i / (columns / count)])
          << columns << " " << count << " " << i;
    }
  }
}

TEST(FloatRowsTest, NVFP4IsCodesTimesScalesTimesTheTensors) {
  constexpr float kMagnitudes[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (const auto& [columns, type] :
       {std::pair(int64_t{64}, DataType::kNVFP4_F32), std::pair(int64_t{48}, DataType::kF32)}) {
    const std::vector<std::byte> codes = RandomBytes(static_cast<size_t>(columns));
    const std::vector<std::byte> scales = RandomBytes(static_cast<size_t>(columns / 8));
    const float of_all = 0.0037F;
    const std::vector<float> values = AssembledValues(
        "modelopt",
        {{"x.weight", TensorView::Contiguous(codes.data(), DataType::kU8, {2, columns / 2})},
         {"x.weight_scale",
          TensorView::Contiguous(scales.data(), DataType::kF8_E4M3, {2, columns / 16})},
         {"x.weight_scale_2", TensorView::Contiguous(reinterpret_cast<const std::byte*>(&of_all),
                                                     DataType::kF32, {1})}},
        type);
    for (int64_t i = 0; i < 2 * columns; ++i) {
      float scale = 0;
      DequantizeRow(DataType::kF8_E4M3, scales.data() + i / 16, 1, &scale);
      const auto both = static_cast<uint8_t>(codes[static_cast<size_t>(i / 2)]);
      const int code = both >> (i % 2 * 4) & 15;
      const float value = (code < 8 ? 1.0F : -1.0F) * kMagnitudes[code % 8] * (scale * of_all);
      ASSERT_EQ(values[static_cast<size_t>(i)], value) << columns << " " << i;
    }
  }
}

// Blocks that are not made of whole ones of 32, and a table of the file's own, too.
TEST(FloatRowsTest, BitsAndBytesIsATablesEntriesTimesScales) {
  struct Case {
    int64_t columns;
    int64_t block;
    DataType type;
    float first;  // of the table
  };
  for (const auto& [columns, block, type, first] :
       {Case{96, 64, DataType::kNF4_F32, -1}, Case{96, 64, DataType::kF32, -1.5F},
        Case{48, 32, DataType::kF32, -1}, Case{96, 16, DataType::kF32, -1}}) {
    const std::vector<std::byte> codes = RandomBytes(static_cast<size_t>(columns));
    float table[16];
    std::ranges::copy(std::span(TraitsOf(PanelFormat::kNF4_F32).floats, 16), table);
    table[0] = first;
    std::vector<float> scales;
    for (int64_t at = 0; at < 2 * columns; at += block) {
      scales.push_back(0.1F + 0.01F * static_cast<float>(scales.size()));
    }
    const std::string state = fmt::format(
        R"({{"quant_type": "nf4", "blocksize": {}, "shape": [2, {}]}})", block, columns);
    const auto floats = [](const float* data, int64_t count) {
      return TensorView::Contiguous(reinterpret_cast<const std::byte*>(data), DataType::kF32,
                                    {count});
    };
    const std::vector<float> values = AssembledValues(
        "bitsandbytes",
        {{"x.weight", TensorView::Contiguous(codes.data(), DataType::kU8, {columns, 1})},
         {"x.weight.absmax", floats(scales.data(), std::ssize(scales))},
         {"x.weight.quant_map", floats(table, 16)},
         {"x.weight.quant_state.bitsandbytes__nf4",
          TensorView::Contiguous(reinterpret_cast<const std::byte*>(state.data()), DataType::kU8,
                                 {std::ssize(state)})}},
        type);
    for (int64_t i = 0; i < 2 * columns; ++i) {
      const auto both = static_cast<uint8_t>(codes[static_cast<size_t>(i / 2)]);
      const int code = i % 2 == 0 ? both >> 4 : both & 15;
      ASSERT_EQ(values[static_cast<size_t>(i)],
                table[code] * scales[static_cast<size_t>(i / block)])
          << columns << " " << block << " " << i;
    }
  }
}

// As people do on the command line (--weights q8_0).
TEST(FloatWeightsTest, MayBeQuantisedWhileTheyAreLoaded) {
  for (const std::string fixture : {"ct_fp8", "fp8_block", "bnb_nf4", "bnb_fp4"}) {
    Checkpoint checkpoint = LoadOrThrow(FixturePath(fixture));
    const auto count = [&](DataType type) {
      return std::ranges::count(checkpoint.tensors.matrices, type, &BoundMatrix::type);
    };
    const auto plain = count(DataType::kBF16) + count(DataType::kF16) + count(DataType::kF32);
    ASSERT_LT(plain, std::ssize(checkpoint.tensors.matrices)) << fixture;
    QuantizeMatrices(checkpoint.tensors, DataType::kQ8_0, MatrixId::kNone);
    EXPECT_EQ(count(DataType::kQ8_0), std::ssize(checkpoint.tensors.matrices)) << fixture;
    const std::vector<TokenId> tokens = {1, 5, 9, 2, 7};
    RunnableModel quantised(std::move(checkpoint), {.arithmetic = Arithmetic::kF32});
    RunnableModel as_stored(FixturePath(fixture), {.arithmetic = Arithmetic::kF32});
    const double error =
        RelativeError(quantised.RunSequence(tokens), as_stored.RunSequence(tokens));
    EXPECT_LT(error, 0.1) << fixture;  // random weights make much of it
    EXPECT_GT(error, 0) << fixture;
  }
}

// Wide or narrow in memory, they are the same weights.
TEST(FloatWeightsTest, WidthChangesNoBit) {
  for (const std::string fixture : {"ct_fp8", "fp8_block", "bnb_nf4", "bnb_fp4"}) {
    for (const Arithmetic arithmetic : {Arithmetic::kBF16, Arithmetic::kInt8Pair}) {
      Checkpoint checkpoint = LoadOrThrow(FixturePath(fixture));
      ChooseWeights(checkpoint.tensors, {}, arithmetic, Isa::kScalar, MatrixId::kNone);
      const std::optional<DataType> becomes = DataType::kBF16;
      EXPECT_GT(std::ranges::count(checkpoint.tensors.matrices, becomes, &BoundMatrix::becomes), 0)
          << fixture;
      EXPECT_THAT(DescribeConversion(checkpoint.tensors), testing::HasSubstr(" BF16")) << fixture;
      const std::vector<TokenId> tokens = {1, 5, 9, 2, 7};
      RunnableModel wide(std::move(checkpoint), {.arithmetic = arithmetic});
      RunnableModel narrow(FixturePath(fixture), {.arithmetic = arithmetic});
      EXPECT_EQ(wide.RunSequence(tokens), narrow.RunSequence(tokens)) << fixture;
    }
  }
}

// No fixture is left out of the list.
TEST(QuantizedFixturesTest, AreAllTested) {
  std::set<std::string> listed;
  for (const Fixture& fixture : kFixtures) listed.emplace(fixture.name);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(FixturePath(""))) {
    found.insert(entry.path().filename());
  }
  EXPECT_EQ(found, listed);
}

}  // namespace
}  // namespace weft
