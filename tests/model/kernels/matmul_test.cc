// Matrix products: every instruction set equals scalar bit for bit; scalar is right; a row depends
// on itself alone.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "model/formats/block_format.h"
#include "model/kernels/panel_layout.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/kernels/tables_here.h"

namespace weft {
namespace {

struct Case {
  Arithmetic arithmetic;
  DataType type;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << NameOf(c.arithmetic) << '_' << TraitsOf(c.type).name;
}

MatmulTask WholeTask(const PackedMatrix& weights, const OperandMatrix& x, int64_t row_count,
                     std::vector<float>& y, int64_t y_stride) {
  MatmulTask task;
  task.weights = &weights;
  task.panel_count = weights.panel_count();
  x.Describe(task);
  task.row_count = row_count;
  task.y = y.data();
  task.y_stride = y_stride;
  return task;
}

class MatmulTest : public testing::TestWithParam<Case> {
 protected:
  int64_t RandomColumns(Random& random) {
    const int64_t block = TraitsOf(GetParam().type).block_elements;
    // Seven groups have residuals, some of them more than the walk's 64 lists apart.
    if (random.Integer(0, 5) == 0) return 4608;
    return block == 1 ? random.Integer(1, 300) : block * random.Integer(1, block == 256 ? 3 : 9);
  }
  // With residuals, where the type has them.
  OperandMatrix Operands(const std::vector<float>& x, int64_t columns, bool together = true,
                         bool with_residuals = true) {
    const OperandType type = scalar_.operand_type(scalar_.packed_layout(GetParam().type));
    OperandMatrix operands = ToOperands(scalar_, type, x, columns, together);
    if (with_residuals && type == OperandType::kInt8) AddResiduals(scalar_, x, operands);
    return operands;
  }
  std::vector<const KernelTable*> Tables() const {
    std::vector<const KernelTable*> tables;
    for (const KernelTable& table : tables_) tables.push_back(&table);
    return tables;
  }

  const KernelTable& scalar_ = KernelsFor(GetParam().arithmetic, Isa::kScalar);
  const std::vector<KernelTable> tables_ = TablesHere(GetParam().arithmetic);
  ScopedFlushDenormals flush_;
};

TEST_P(MatmulTest, EveryInstructionSetEqualsScalar) {
  Random random(4);
  for (int trial = 0; trial < 24; ++trial) {
    const bool wild = trial % 3 == 2;
    const int64_t outputs = random.Integer(1, 150);
    const int64_t columns = RandomColumns(random);
    const int64_t rows = trial % 4 == 0 ? 1 : random.Integer(1, trial % 4 == 1 ? 150 : 9);
    const FileMatrix matrix = RandomMatrix(GetParam().type, outputs, columns,
                                           wild ? Scales::kExtreme : Scales::kOrdinary, random);
    const PackedMatrix weights = Pack(scalar_, matrix.view);
    const int64_t elements = (rows + 3) * columns;
    std::vector<float> values = wild ? random.Wilds(elements) : random.Normals(elements);
    if (trial % 6 == 5) values[static_cast<size_t>(random.Integer(0, elements - 1))] = INFINITY;
    const OperandMatrix x = Operands(values, columns, trial % 3 != 1, trial % 8 != 7);
    std::vector<int32_t> gather;
    for (int64_t r = 0; r < rows; ++r) {
      gather.push_back(static_cast<int32_t>(random.Integer(0, rows + 2)));
    }
    const int64_t y_stride = outputs + random.Integer(0, 5);
    const std::vector<float> before = random.Normals(rows * y_stride);
    std::vector<float> expected;
    for (const KernelTable* kernels : Tables()) {
      std::vector<float> y = before;
      MatmulTask task = WholeTask(weights, x, rows, y, y_stride);
      task.first_panel = trial % 5 == 0 ? weights.panel_count() / 2 : 0;
      task.panel_count = weights.panel_count() - task.first_panel;
      task.x_rows = trial % 5 < 2 ? gather.data() : nullptr;
      task.accumulate = trial % 7 < 3;
      kernels->matmul(task);
      if (expected.empty()) expected = y;
      ASSERT_EQ(FirstDifference(y, expected), -1)
          << kernels->name << ": " << rows << " x " << columns << " x " << outputs;
    }
  }
}

TEST_P(MatmulTest, ScalarAgreesWithDoublePrecision) {
  Random random(5);
  const int64_t columns = 768;
  const int64_t outputs = 33;
  const int64_t rows = 3;
  const FileMatrix matrix =
      RandomMatrix(GetParam().type, outputs, columns, Scales::kOrdinary, random);
  const PackedMatrix weights = Pack(scalar_, matrix.view);
  const std::vector<float> w = GetParam().arithmetic == Arithmetic::kInt8
                                   ? FileWeights(matrix.view)
                                   : DefinedWeights(matrix.view);
  const OperandMatrix x = Operands(random.Normals(rows * columns), columns);
  std::vector<float> y(static_cast<size_t>(rows * outputs));
  scalar_.matmul(WholeTask(weights, x, rows, y, outputs));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t k = 0; k < columns; ++k) {
        const double product = static_cast<double>(x.values[static_cast<size_t>(r * columns + k)]) *
                               w[static_cast<size_t>(o * columns + k)];
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(y[static_cast<size_t>(r * outputs + o)], sum, magnitude * 2e-6);
    }
  }
}

TEST_P(MatmulTest, ARowDependsOnItselfAlone) {
  Random random(6);
  const int64_t columns = 512;
  const int64_t outputs = 100;
  const int64_t rows = 67;  // a block of 64 and one of three
  const FileMatrix matrix =
      RandomMatrix(GetParam().type, outputs, columns, Scales::kOrdinary, random);
  const PackedMatrix weights = Pack(scalar_, matrix.view);
  const OperandMatrix x = Operands(random.Normals(rows * columns), columns);
  for (const KernelTable* kernels : Tables()) {
    std::vector<float> together(static_cast<size_t>(rows * outputs));
    kernels->matmul(WholeTask(weights, x, rows, together, outputs));
    // Alone, one panel a task, through a gather.
    std::vector<float> alone(static_cast<size_t>(outputs));
    for (int32_t row = 0; row < rows; row += 22) {
      for (int64_t panel = 0; panel < weights.panel_count(); ++panel) {
        MatmulTask task = WholeTask(weights, x, 1, alone, outputs);
        task.first_panel = panel;
        task.panel_count = 1;
        task.x_rows = &row;
        kernels->matmul(task);
      }
      const auto first = together.begin() + row * outputs;
      ASSERT_EQ(FirstDifference(alone, {first, first + outputs}), -1)
          << kernels->name << " row " << row;
    }
  }
}

// Codes and operands as large as there are: sums of 16 bits must hold them.
TEST_P(MatmulTest, LargestCodesAreAddedUpExactly) {
  Random random(8);
  const int64_t columns = 512;
  const int64_t outputs = 20;
  const int64_t rows = 9;
  const FileMatrix matrix =
      RandomMatrix(GetParam().type, outputs, columns, Scales::kOrdinary, random);
  std::vector<float> values;
  for (int64_t r = 0; r < rows; ++r)
    values.insert(values.end(), columns, r % 2 == 0 ? 1.0F : -1.0F);
  const OperandMatrix x = Operands(values, columns);
  for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
    PackedMatrix weights = Pack(scalar_, matrix.view);
    const PanelLayout layout = LayoutOf(weights.layout);
    for (int64_t panel = 0; panel < weights.panel_count(); ++panel) {
      std::byte* const packed = weights.storage.bytes().data() + panel * weights.panel_bytes;
      for (int64_t group = 0; IsQuantized(weights.layout) && group < columns / 32; ++group) {
        const GroupFields fields = FieldsOf(layout, group, columns / 32);
        std::fill_n(packed + fields.codes, layout.codes, static_cast<std::byte>(byte));
        std::fill_n(packed + fields.high, layout.high, static_cast<std::byte>(byte));
      }
    }
    std::vector<float> expected;
    for (const KernelTable* kernels : Tables()) {
      std::vector<float> y(static_cast<size_t>(rows * outputs));
      kernels->matmul(WholeTask(weights, x, rows, y, outputs));
      if (expected.empty()) expected = y;
      ASSERT_EQ(FirstDifference(y, expected), -1) << kernels->name << ", codes of bytes " << byte;
    }
  }
}

TEST_P(MatmulTest, WritesNothingBeyondTheMatrix) {
  Random random(7);
  const FileMatrix matrix = RandomMatrix(GetParam().type, 21, 256, Scales::kOrdinary, random);
  const PackedMatrix weights = Pack(scalar_, matrix.view);
  const OperandMatrix x = Operands(random.Normals(5 * 256), 256);
  for (const KernelTable* kernels : Tables()) {
    std::vector<float> y(5 * 24, 123.0F);
    kernels->matmul(WholeTask(weights, x, 5, y, 24));
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_TRUE(i % 24 < 21 || y[i] == 123.0F) << kernels->name;
    }
  }
}

// Of each output every code is the same one, and rows have one 1 each: what comes out is the weight
// at its place, rounded to bf16.
TEST(FloatCodesTest, EachStandsForItsFloatAtEveryPlace) {
  const ScopedFlushDenormals flush;
  std::vector<float> ones(kGroupColumns * kGroupColumns);
  for (int64_t k = 0; k < kGroupColumns; ++k) ones[static_cast<size_t>(k * 33)] = 1;
  for (const DataType type : {DataType::kFP8_F32, DataType::kNF4_F32, DataType::kFP4_F32}) {
    const PanelTraits& traits = TraitsOf(FormatOf(type).panel);
    const int64_t codes = int64_t{1} << traits.code_bits;
    const int64_t block_bytes = TraitsOf(type).block_bytes;
    const float scale = -0.0123F;
    std::vector<std::byte> blocks(static_cast<size_t>(codes * block_bytes));
    for (int64_t code = 0; code < codes; ++code) {
      std::byte* const block = blocks.data() + code * block_bytes;
      std::fill_n(block, block_bytes,
                  static_cast<std::byte>(traits.code_bits == 8 ? code : 0x11 * code));
      std::memcpy(block, &scale, sizeof(scale));
    }
    const TensorView view = TensorView::Contiguous(blocks.data(), type, {codes, kGroupColumns});
    for (const Arithmetic arithmetic :
         {Arithmetic::kBF16, Arithmetic::kBF16Pair, Arithmetic::kInt8, Arithmetic::kInt8Pair}) {
      for (const KernelTable& kernels : TablesHere(arithmetic)) {
        const PackedMatrix weights = Pack(kernels, view);
        const OperandType operand = kernels.operand_type(weights.layout);
        ASSERT_EQ(operand, OperandType::kBF16);
        const OperandMatrix x = ToOperands(kernels, operand, ones, kGroupColumns, true);
        std::vector<float> y(static_cast<size_t>(kGroupColumns * codes));
        kernels.matmul(WholeTask(weights, x, kGroupColumns, y, codes));
        for (int64_t i = 0; i < kGroupColumns * codes; ++i) {
          const float weight = traits.floats[i % codes] * scale;
          const float expected = BFloat16ToFloat(FloatToBFloat16(weight)) + 0.0F;  // no zero is -0
          ASSERT_EQ(ComparableBits(y[static_cast<size_t>(i)]), ComparableBits(expected))
              << kernels.name << " " << TraitsOf(type).name << " code " << i % codes << " at "
              << i / codes;
        }
      }
    }
  }
}

// In a process of its own, since others of these tests load it.
TEST(BlasDeathTest, IsLoadedWhenThatIsAskedForAndNotBefore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto is_loaded = [] {
    const bool before = BlasSgemm() != nullptr;
    const Result<void> loaded = LoadBlas();
    std::exit((before ? 1 : 0) + (loaded && BlasSgemm() == nullptr ? 2 : 0));
  };
  EXPECT_EXIT(is_loaded(), testing::ExitedWithCode(0), "");
}

class BlasMatmulTest : public testing::TestWithParam<DataType> {};

TEST_P(BlasMatmulTest, AgreesWithDoublePrecision) {
  Random random(8);
  const KernelTable& f32 = BlasTable();
  // More rows and columns than are gathered at a time.
  const int64_t columns = TraitsOf(GetParam()).block_elements > 32 ? 512 : 544;
  const int64_t outputs = 40;
  const int64_t rows = 70;
  const FileMatrix matrix = RandomMatrix(GetParam(), outputs, columns, Scales::kOrdinary, random);
  const PackedMatrix weights = Pack(f32, matrix.view);
  const OperandMatrix x =
      ToOperands(f32, OperandType::kF32, random.Normals(rows * columns), columns, false);
  std::vector<int32_t> gather;
  for (int64_t r = 0; r < rows; ++r) {
    gather.push_back(static_cast<int32_t>(random.Integer(0, rows - 1)));
  }
  for (const bool accumulate : {false, true}) {
    std::vector<float> y(static_cast<size_t>(rows * outputs), 1.0F);
    MatmulTask task = WholeTask(weights, x, rows, y, outputs);
    task.first_panel = 1;
    task.panel_count = 2;
    task.x_rows = gather.data();
    task.accumulate = accumulate;
    f32.matmul(task);
    std::vector<float> w(static_cast<size_t>(columns));
    for (int64_t o = 0; o < outputs; ++o) {
      f32.unpack_row(weights, o, w.data());
      for (int64_t r = 0; r < rows; ++r) {
        double sum = accumulate ? 1 : 0;
        double magnitude = 1;
        for (int64_t k = 0; k < columns; ++k) {
          const int64_t from = gather[static_cast<size_t>(r)] * columns + k;
          const double product =
              static_cast<double>(x.values[static_cast<size_t>(from)]) * w[static_cast<size_t>(k)];
          sum += product;
          magnitude += std::fabs(product);
        }
        const float value = y[static_cast<size_t>(r * outputs + o)];
        if (o < kPanelRows) {
          ASSERT_EQ(value, 1.0F);
        } else {
          ASSERT_NEAR(value, sum, magnitude * 2e-6);
        }
      }
    }
  }
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const DataType type : AllTypes()) {
    cases.push_back({Arithmetic::kBF16, type});
    cases.push_back({Arithmetic::kBF16Pair, type});
    if (HasIntegerCodes(type)) cases.push_back({Arithmetic::kInt8, type});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, MatmulTest, testing::ValuesIn(AllCases()),
                         [](const auto& which) { return testing::PrintToString(which.param); });
INSTANTIATE_TEST_SUITE_P(AllTypes, BlasMatmulTest, testing::ValuesIn(AllTypes()),
                         [](const auto& which) { return std::string(TraitsOf(which.param).name); });

}  // namespace
}  // namespace weft
