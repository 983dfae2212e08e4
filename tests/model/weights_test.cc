// What loading costs in memory, and the small promises of the buffers around the forward pass.
#include "model/weights.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/aligned_buffer.h"
#include "base/checked_math.h"
#include "base/resources.h"
#include "model/formats/dequantize.h"
#include "model/formats/quantize.h"
#include "model/workspace.h"
#include "tests/model/kernels/isas_here.h"
#include "tests/model/parity_fixture.h"
#include "tests/sanitizer.h"

namespace weft {
namespace {

const KernelTable& Bf16() { return KernelsFor(Arithmetic::kBF16, Isa::kScalar); }

// A file of zeros, as a model of one big matrix after the other; the file has holes and takes no
// space on the disk.
class ZeroModel {
 public:
  ZeroModel(DataType type, int64_t rows, int64_t columns, int layer_count) {
    const int64_t matrix_bytes = rows * RowBytes(type, columns);
    path_ = testing::TempDir() + "weft_zero_model_XXXXXX";
    const int descriptor = mkstemp(path_.data());
    EXPECT_GE(descriptor, 0);
    EXPECT_EQ(ftruncate(descriptor, matrix_bytes * (layer_count + 1)), 0);
    close(descriptor);
    files_.push_back(MappedFile::Open(path_).value());
    const std::byte* data = files_[0].bytes().data();
    for (int i = 0; i <= layer_count; ++i) {
      tensors_.matrices.push_back({TensorView::Contiguous(data, type, {rows, columns})});
      data += matrix_bytes;
    }
  }
  ~ZeroModel() { unlink(path_.c_str()); }

  const ModelTensors& tensors() const { return tensors_; }
  const std::vector<MappedFile>& files() const { return files_; }
  int64_t file_bytes() const { return std::ssize(files_[0].bytes()); }

 private:
  std::string path_;
  std::vector<MappedFile> files_;
  ModelTensors tensors_;
};

TEST(WeightsTest, PackedWeightsKeepTheFilesWidth) {
  for (int type = 0; type < kWeightTypeCount; ++type) {
    const auto file_type = static_cast<DataType>(type);
    // Grids, and digits to base 3, are expanded (packing_test.cc).
    const std::string_view name = TraitsOf(file_type).name;
    if (name.starts_with("TQ1") || (name.starts_with("IQ") && !name.starts_with("IQ4"))) continue;
    const ZeroModel model(file_type, 512, 1024, 1);
    const int64_t packed = Weights::PackedBytes(model.tensors(), Bf16());
    EXPECT_LE(static_cast<double>(packed), 1.1 * static_cast<double>(model.file_bytes()))
        << TraitsOf(file_type).name;
  }
}

TEST(WeightsTest, PeakIsTheFileAndItsLargestTensor) {
  if (kUnderSanitizer) GTEST_SKIP() << "a sanitizer's memory would be counted";
  constexpr int kLayers = 15;
  const ZeroModel model(DataType::kBF16, 1024, 2048, kLayers);  // 16 tensors of 4 MiB
  ThreadPool threads(2);
  const auto before = static_cast<int64_t>(ResidentBytes());
  if (before == 0) GTEST_SKIP() << "resident memory is unknown here";
  int64_t peak = 0;
  int calls = 0;
  const Weights weights = Weights::Pack(model.tensors(), model.files(), Bf16(), threads,
                                        [&](int64_t done_bytes, int64_t total_bytes) {
                                          peak = std::max<int64_t>(
                                              peak, static_cast<int64_t>(ResidentBytes()) - before);
                                          EXPECT_EQ(total_bytes, model.file_bytes());
                                          EXPECT_EQ(done_bytes, total_bytes / 16 * ++calls);
                                          return true;
                                        });
  EXPECT_EQ(calls, kLayers + 1);
  const int64_t largest = model.file_bytes() / (kLayers + 1);
  EXPECT_LE(peak, model.file_bytes() + largest);
  EXPECT_LE(static_cast<int64_t>(ResidentBytes()) - before, model.file_bytes() * 11 / 10);
}

// Whose threads pack a panel depends on where the matrix stands in its loop.
TEST(WeightsTest, PackingByNodePacksEveryPanel) {
  constexpr int64_t kColumns = 32;
  constexpr int64_t kMostRows = 3000;
  std::mt19937 random(1);
  std::vector<uint16_t> values(static_cast<size_t>(kMostRows * kColumns));
  for (uint16_t& value : values) value = static_cast<uint16_t>(0x3f00 + random() % 256);
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  const auto matrix = [&](int64_t rows) {
    return TensorView::Contiguous(data, DataType::kBF16, {rows, kColumns});
  };
  ModelTensors tensors;
  tensors.matrices.push_back({matrix(kMostRows)});
  tensors.matrices.push_back({matrix(2000)});
  tensors.matrices.push_back({.view = matrix(150), .continues_loop = true});
  tensors.matrices.push_back({.view = matrix(700), .continues_loop = true});
  tensors.stacks.emplace_back(5, BoundMatrix{matrix(900)});

  ThreadPool alone(1);
  ThreadPool threads(5, {{0, {7'000, 7'001, 7'002}}, {1, {7'500}}, {2, {7'600}}});
  const Weights expected = Weights::Pack(tensors, {}, Bf16(), alone);
  const Weights weights = Weights::Pack(tensors, {}, Bf16(), threads);
  const auto expect_same = [](const PackedMatrix& a, const PackedMatrix& b) {
    ASSERT_GT(a.storage.size_bytes(), 0u);
    EXPECT_TRUE(std::ranges::equal(a.storage.bytes(), b.storage.bytes()));
  };
  for (int i = 0; i < 4; ++i) {
    expect_same(weights.matrix(MatrixId{i}), expected.matrix(MatrixId{i}));
  }
  for (size_t i = 0; i < 5; ++i) {
    expect_same(weights.stack(StackId{0})[i], expected.stack(StackId{0})[i]);
  }
}

// A loop's matrices lie behind each other: only together are experts larger than a huge page.
TEST(WeightsTest, MatricesOfALoopShareABuffer) {
  ModelTensors tensors;
  const ZeroModel zeros(DataType::kBF16, 100, 96, 4);
  tensors.matrices = zeros.tensors().matrices;
  tensors.matrices[2].continues_loop = true;
  tensors.stacks.push_back(zeros.tensors().matrices);

  ThreadPool threads(1);
  const Weights weights = Weights::Pack(tensors, zeros.files(), Bf16(), threads);
  const auto is_behind = [](const PackedMatrix& next, const PackedMatrix& matrix) {
    const std::span<const std::byte> bytes = matrix.storage.bytes();
    constexpr auto kAlignment = static_cast<int64_t>(AlignedBuffer::kAlignment);
    return next.storage.bytes().data() == bytes.data() + RoundUp(std::ssize(bytes), kAlignment);
  };
  EXPECT_TRUE(is_behind(weights.matrix(MatrixId{2}), weights.matrix(MatrixId{1})));
  const std::span<const PackedMatrix> stack = weights.stack(StackId{0});
  ASSERT_EQ(stack.size(), 5u);
  for (size_t i = 1; i < stack.size(); ++i) EXPECT_TRUE(is_behind(stack[i], stack[i - 1])) << i;
}

// What is quantised while it is packed is what a file of Q8_0 would have held.
TEST(WeightsTest, MatricesBecomeQ8_0) {
  constexpr int64_t kRows = 50;
  constexpr int64_t kColumns = 96;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(kRows * kColumns));
  for (float& value : values) value = BFloat16ToFloat(FloatToBFloat16(normal(random)));
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(FloatToBFloat16(value));
  std::vector<float> columns;
  for (int64_t column = 0; column < kColumns; ++column) {
    for (int64_t row = 0; row < kRows; ++row) {
      columns.push_back(values[static_cast<size_t>(row * kColumns + column)]);
    }
  }
  std::vector<std::byte> blocks(static_cast<size_t>(kRows * RowBytes(DataType::kQ8_0, kColumns)));
  for (int64_t row = 0; row < kRows; ++row) {
    QuantizeRowQ8_0(values.data() + row * kColumns, kColumns,
                    blocks.data() + row * RowBytes(DataType::kQ8_0, kColumns));
  }
  const auto view = [](const auto& data, DataType type) {
    return TensorView::Contiguous(reinterpret_cast<const std::byte*>(data.data()), type,
                                  {kRows, kColumns});
  };
  TensorView transposed = view(columns, DataType::kF32);
  transposed.strides_bytes[0] = kRows * 4;
  TensorView narrow = view(values, DataType::kF32);
  narrow.dims[1] = 80;
  ModelTensors tensors;
  tensors.matrices = {{view(values, DataType::kF32)},
                      {view(halves, DataType::kBF16)},
                      {.view = transposed, .is_transposed = true},
                      {view(blocks, DataType::kQ8_0)},
                      {narrow}};
  tensors.stacks = {{BoundMatrix{view(values, DataType::kF32)}}};
  QuantizeMatrices(tensors, DataType::kQ8_0, MatrixId::kNone);

  ThreadPool threads(2);
  const Weights weights = Weights::Pack(tensors, {}, Bf16(), threads);
  const PackedMatrix& expected = weights.matrix(MatrixId{3});
  int64_t packed_bytes = 0;
  const auto expect_same = [&](const PackedMatrix& matrix) {
    EXPECT_EQ(matrix.layout, PanelFormat::kQ8_0);
    EXPECT_TRUE(std::ranges::equal(matrix.storage.bytes(), expected.storage.bytes()));
    packed_bytes += matrix.panel_count() * matrix.panel_bytes;
  };
  for (int i = 0; i < 4; ++i) expect_same(weights.matrix(MatrixId{i}));
  expect_same(weights.stack(StackId{0})[0]);
  const PackedMatrix& plain = weights.matrix(MatrixId{4});
  EXPECT_EQ(plain.layout, PanelFormat::kBF16);  // 80 columns are no whole blocks
  packed_bytes += plain.panel_count() * plain.panel_bytes;
  EXPECT_EQ(Weights::PackedBytes(tensors, Bf16()), packed_bytes);
}

// Types, what becomes of matrices that they do not fit, and of the head.
TEST(WeightsTest, EachMatrixBecomesWhatFitsIt) {
  const std::vector<float> values(4 * 512, 0.5F);
  const auto view = [&](int64_t columns) {
    return TensorView::Contiguous(reinterpret_cast<const std::byte*>(values.data()), DataType::kF32,
                                  {4, columns});
  };
  TensorView quantised = view(512);
  quantised.type = DataType::kQ4_1;
  ModelTensors tensors;
  TensorView floats = view(256);
  floats.type = DataType::kFP8_F32;
  TensorView integers = view(256);
  integers.type = DataType::kNVFP4_F32;
  tensors.matrices = {{view(512)}, {view(512)}, {view(96)}, {view(80)},
                      {quantised}, {floats},    {integers}};
  tensors.stacks = {{BoundMatrix{view(256)}}};
  const ModelTensors as_stored = tensors;
  EXPECT_EQ(DescribeConversion(tensors), "");
  QuantizeMatrices(tensors, DataType::kQ4_K, MatrixId{1});
  std::vector<DataType> types;
  for (const BoundMatrix& matrix : tensors.matrices) types.push_back(matrix.type());
  EXPECT_EQ(types, (std::vector<DataType>{DataType::kQ4_K, DataType::kQ6_K, DataType::kQ8_0,
                                          DataType::kF32, DataType::kQ4_1, DataType::kQ4_K,
                                          DataType::kNVFP4_F32}));
  EXPECT_EQ(tensors.stacks[0][0].type(), DataType::kQ4_K);
  EXPECT_EQ(DescribeConversion(tensors), "1 matrices Q8_0, 3 Q4_K, 1 Q6_K, 3 as in the file");
  tensors = as_stored;
  QuantizeMatrices(tensors, DataType::kQ8_0, MatrixId{1});
  EXPECT_EQ(tensors.matrices[1].type(), DataType::kQ8_0);
}

// By default floats of few bits become BF16, and F16 where the processor multiplies that itself and
// no arithmetic is asked for; nothing else changes.
TEST(WeightsTest, FloatsBecomeBF16OrStay) {
  const std::vector<std::byte> bytes(4 * 256 * 4);
  const auto of_type = [&](DataType type) {
    return BoundMatrix{TensorView::Contiguous(bytes.data(), type, {4, 256})};
  };
  const std::vector<DataType> stored = {DataType::kF32,       DataType::kQ4_0,
                                        DataType::kNVFP4_F32, DataType::kFP8_F32,
                                        DataType::kNF4_F32,   DataType::kF16};
  const auto chosen = [&](const WeightsChoice& choice, std::optional<Arithmetic> arithmetic,
                          Isa isa = Isa::kScalar) {
    ModelTensors tensors;
    for (const DataType type : stored) tensors.matrices.push_back(of_type(type));
    tensors.stacks = {{of_type(DataType::kFP4_F32)}};
    ChooseWeights(tensors, choice, arithmetic, isa, MatrixId::kNone);
    std::vector<DataType> types;
    for (const BoundMatrix& matrix : tensors.matrices) types.push_back(matrix.type());
    types.push_back(tensors.stacks[0][0].type());
    EXPECT_EQ(HasF16(tensors), std::ranges::count(types, DataType::kF16) > 0);
    return types;
  };
  std::vector<DataType> kept = stored;
  kept.push_back(DataType::kFP4_F32);
  const std::vector<DataType> with_f16 = {DataType::kF32,  DataType::kQ4_0, DataType::kNVFP4_F32,
                                          DataType::kBF16, DataType::kBF16, DataType::kF16,
                                          DataType::kBF16};
  std::vector<DataType> without = with_f16;
  without[5] = DataType::kBF16;
  EXPECT_EQ(chosen({}, std::nullopt), with_f16);
  const Isa here = IsasHere().back();
  EXPECT_EQ(chosen({}, std::nullopt, here), MultipliesBF16(here) ? without : with_f16);
  EXPECT_EQ(chosen({}, Arithmetic::kBF16, here), with_f16);
  EXPECT_EQ(chosen({.type = DataType::kBF16}, Arithmetic::kBF16Pair), without);
  EXPECT_EQ(chosen({.keeps_file = true}, std::nullopt, here), kept);
  EXPECT_EQ(chosen({}, Arithmetic::kF32), kept);  // which rounds no weight to BF16
  EXPECT_EQ(chosen({.type = DataType::kQ8_0}, std::nullopt)[3], DataType::kQ8_0);
}

// However many threads quantise.
TEST(WeightsTest, ThreadsChangeNoWeight) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> values(37 * 256);
  for (float& value : values) value = normal(random);
  const TensorView view = TensorView::Contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                                 DataType::kF32, {37, 256});
  for (const DataType type : {DataType::kQ6_K, DataType::kQ5_K, DataType::kQ4_K, DataType::kQ4_0}) {
    ModelTensors tensors;
    tensors.matrices = {{view}};
    QuantizeMatrices(tensors, type, MatrixId::kNone);
    std::vector<std::byte> blocks(static_cast<size_t>(37 * RowBytes(type, 256)));
    for (int64_t row = 0; row < 37; ++row) {
      QuantizeRow(type, values.data() + row * 256, 256, blocks.data() + row * RowBytes(type, 256));
    }
    tensors.matrices.push_back({TensorView::Contiguous(blocks.data(), type, {37, 256})});
    for (const int thread_count : {1, 3}) {
      ThreadPool threads(thread_count);
      const Weights weights = Weights::Pack(tensors, {}, Bf16(), threads);
      EXPECT_TRUE(std::ranges::equal(weights.matrix(MatrixId{0}).storage.bytes(),
                                     weights.matrix(MatrixId{1}).storage.bytes()))
          << TraitsOf(type).name << ", " << thread_count << " threads";
    }
  }
}

// Norms of which the file holds the weight less 1.
TEST(WeightsTest, TablesGetWhatIsToBeAdded) {
  const std::array<float, 3> values = {0.5F, -1, 2};
  const TensorView view = TensorView::Contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                                 DataType::kF32, {3});
  ModelTensors tensors;
  tensors.tables = {{.view = view}, {.view = view, .plus = 1}};
  ThreadPool threads(1);
  const Weights weights = Weights::Pack(tensors, {}, Bf16(), threads);
  EXPECT_EQ(std::vector<float>(weights.table(TableId{0}), weights.table(TableId{0}) + 3),
            (std::vector<float>{0.5F, -1, 2}));
  EXPECT_EQ(std::vector<float>(weights.table(TableId{1}), weights.table(TableId{1}) + 3),
            (std::vector<float>{1.5F, 0, 3}));
  EXPECT_EQ(weights.table(TableId::kNone), nullptr);
}

TEST(WorkspaceTest, BytesIsWhatItTakes) {
  for (const char* fixture : {"llama2", "olmoe"}) {
    const auto checkpoint = LoadCheckpoint(ParityPath(fixture, "model.gguf"));
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    const WorkspaceOptions small{.max_rows = 8, .block_size = 16, .thread_count = 1};
    const WorkspaceOptions large{.max_rows = 64, .block_size = 16, .thread_count = 4};
    const int64_t small_bytes = Workspace::Bytes(checkpoint->spec, Bf16(), small);
    EXPECT_GT(small_bytes, 0);
    EXPECT_GT(Workspace::Bytes(checkpoint->spec, Bf16(), large), 3 * small_bytes);
    // The last buffer of the arena ends inside it (ASan watches the rest).
    const Workspace workspace(checkpoint->spec, Bf16(), large);
    std::fill_n(workspace.residual[63], checkpoint->spec.hidden_size, 1.0F);
  }
}

TEST(KvCacheTest, RefusesWhatDoesNotGoTogether) {
  const auto checkpoint = LoadCheckpoint(ParityPath("llama3", "model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ModelSpec spec = checkpoint->spec;
  const KernelTable& f32 = KernelsFor(Arithmetic::kF32, Isa::kScalar, KvType::kQ8);
  const KernelTable& q8 = KernelsFor(Arithmetic::kInt8, Isa::kScalar, KvType::kQ8);
  EXPECT_TRUE(CheckKvType(spec, f32, std::nullopt));
  EXPECT_EQ(CheckKvType(spec, f32, KvType::kQ8).error().message,
            "a KV cache in q8 does not go with the f32 arithmetic, whose cache is in f32");
  EXPECT_TRUE(CheckKvType(spec, q8, KvType::kQ8));
  spec.layers.back().attention.key_dim = 2050;
  EXPECT_EQ(CheckKvType(spec, q8, KvType::kQ8).error().message,
            "a KV cache in q8 holds heads of at most 2048 elements; the model's have 2050");
  EXPECT_TRUE(CheckKvType(spec, Bf16(), std::nullopt));
}

TEST(KvCacheTest, BlocksAddUp) {
  const auto checkpoint = LoadCheckpoint(ParityPath("llama3", "model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ModelSpec spec = checkpoint->spec;
  spec.layers.back().attention.key_dim *= 2;  // layers may differ
  KvCache cache(spec, Bf16(), GroupsWithBlocks(spec, 5), 32);
  int64_t bytes = 0;
  for (int64_t layer = 0; layer < spec.layer_count(); ++layer) {
    bytes += spec.layers.front().attention.kv_head_count * cache.layout(layer).page_bytes;
  }
  EXPECT_EQ(KvCache::BlockBytes(spec, cache.groups().front(), Bf16(), 32), bytes);
  EXPECT_GT(cache.layout(spec.layer_count() - 1).page_bytes, cache.layout(0).page_bytes);
  // Pages of all layers, heads and blocks are distinct and lie side by side.
  EXPECT_EQ(cache.Pages(0, 1) - cache.Pages(0, 0), cache.layout(0).page_bytes);
  EXPECT_EQ(cache.Pages(1, 0) - cache.Pages(0, 0), 5 * cache.page_stride_bytes(0));
}

}  // namespace
}  // namespace weft
