// Speed of the kernels, one thread: weights a second for matrix products, multiply-adds a second
// for attention.
//   kernels_bench --benchmark_filter='Matmul/Q4_0'
#include <benchmark/benchmark.h>

#include "base/float_env.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

// A matrix that fits no L2 cache, so that one row streams it from memory or L3.
constexpr int64_t kOutputs = 8192;
constexpr int64_t kColumns = 2048;

void Matmul(benchmark::State& state, const KernelTable* kernels, DataType type, int64_t rows) {
  const ScopedFlushDenormals flush;
  Random random(1);
  const FileMatrix matrix = RandomMatrix(type, kOutputs, kColumns, Scales::kOrdinary, random);
  const PackedMatrix weights = Pack(*kernels, matrix.view);
  const OperandType operand_type = kernels->operand_type(weights.layout);
  const OperandMatrix x = ToOperands(*kernels, operand_type, random.Normals(rows * kColumns),
                                     kColumns, operand_type != OperandType::kF32);
  std::vector<float> y(static_cast<size_t>(rows * kOutputs));
  MatmulTask task;
  task.weights = &weights;
  x.Describe(task);
  task.row_count = rows;
  task.y = y.data();
  task.y_stride = kOutputs;
  constexpr int64_t kPanelsPerTask = 16;
  for (auto unused : state) {
    for (int64_t panel = 0; panel < weights.panel_count(); panel += kPanelsPerTask) {
      task.first_panel = panel;
      task.panel_count = kPanelsPerTask;
      kernels->matmul(task);
    }
  }
  const double weight_count = static_cast<double>(kOutputs * kColumns);
  const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["ns/1024"] =
      benchmark::Counter(weight_count / 1024 * 1e-9, per_second | benchmark::Counter::kInvert);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * weight_count * static_cast<double>(rows), per_second);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(weights.storage.size_bytes()), per_second);
}

// `rows` query positions behind `context` others; four query heads a kv head.
void Attention(benchmark::State& state, const KernelTable* kernels, int64_t head_dim,
               int64_t context, int64_t rows) {
  const ScopedFlushDenormals flush;
  constexpr int64_t kHeads = 4;
  constexpr int64_t kBlockSize = 32;
  Random random(2);
  AttentionTask task;
  task.layout = {kBlockSize, head_dim, kernels->kv_page_bytes(kBlockSize, head_dim)};
  const int64_t blocks = CeilDivide(context + rows, kBlockSize);
  AlignedBuffer pages(static_cast<size_t>(blocks * task.layout.page_bytes));
  std::vector<int32_t> table(static_cast<size_t>(blocks));
  for (int64_t i = 0; i < blocks; ++i) table[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  for (int64_t position = 0; position < context + rows; ++position) {
    const std::vector<float> key = random.Normals(head_dim);
    kernels->kv_write(task.layout, pages.data() + position / kBlockSize * task.layout.page_bytes,
                      position % kBlockSize, key.data(), key.data());
  }
  const std::vector<float> query = random.Normals(rows * kHeads * head_dim);
  std::vector<float> out(query.size());
  AlignedBuffer scratch(
      static_cast<size_t>(kernels->attention_scratch_bytes(task.layout, rows * kHeads)));
  task.pages = pages.data();
  task.page_stride_bytes = task.layout.page_bytes;
  task.block_table = table.data();
  task.first_position = context;
  task.row_count = rows;
  task.heads = kHeads;
  task.scale = 0.125F;
  task.query = query.data();
  task.query_stride = kHeads * head_dim;
  task.out = out.data();
  task.out_stride = kHeads * head_dim;
  task.scratch = scratch.data();
  for (auto unused : state) kernels->attention(task);
  const int64_t pair_count = rows * context + rows * (rows + 1) / 2;
  const auto pairs = static_cast<double>(pair_count);
  state.counters["GFLOP/s"] =
      benchmark::Counter(4e-9 * pairs * static_cast<double>(kHeads * head_dim),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void Packing(benchmark::State& state, DataType type) {
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  Random random(3);
  const FileMatrix matrix = RandomMatrix(type, 1024, kColumns, Scales::kOrdinary, random);
  PackedMatrix packed = Pack(kernels, matrix.view);
  for (auto unused : state) kernels.pack_panels(matrix.view, 0, packed.panel_count(), packed);
  state.counters["GB/s of file"] =
      benchmark::Counter(1e-9 * static_cast<double>(matrix.bytes.size()),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void RegisterAll() {
  std::vector<const KernelTable*> tables = AvailableTables();
  tables.push_back(&KernelsFor(Arithmetic::kF32, Isa::kScalar));
  std::vector<const KernelTable*> all_tables = tables;
  for (const KernelTable* kernels : AvailableTables(Arithmetic::kInt8))
    all_tables.push_back(kernels);
  for (const DataType type : kAllTypes) {
    const std::string type_name(TraitsOf(type).name);
    for (const KernelTable* kernels : all_tables) {
      const bool is_slow = kernels->isa == Isa::kScalar && kernels->arithmetic != Arithmetic::kF32;
      if (kernels->arithmetic == Arithmetic::kInt8 && !IsQuantized(type)) continue;
      for (const int64_t rows : {1, 4, 16, 64, 512}) {
        if (is_slow && rows > 1) continue;
        benchmark::RegisterBenchmark(
            ("Matmul/" + type_name + "/" + std::string(kernels->name) + "/" + std::to_string(rows))
                .c_str(),
            [=](benchmark::State& state) { Matmul(state, kernels, type, rows); })
            ->Unit(benchmark::kMillisecond);
      }
    }
    benchmark::RegisterBenchmark(("Packing/" + type_name).c_str(), [=](benchmark::State& state) {
      Packing(state, type);
    })->Unit(benchmark::kMillisecond);
  }
  for (const KernelTable* kernels : tables) {
    for (const int64_t head_dim : {64, 128}) {
      const struct {
        int64_t context;
        int64_t rows;
      } shapes[] = {{512, 1}, {8192, 1}, {0, 512}, {8192, 64}};
      for (const auto [context, rows] : shapes) {
        benchmark::RegisterBenchmark(
            ("Attention/" + std::string(kernels->name) + "/" + std::to_string(head_dim) +
             "/behind:" + std::to_string(context) + "/rows:" + std::to_string(rows))
                .c_str(),
            [=, context = context, rows = rows](benchmark::State& state) {
              Attention(state, kernels, head_dim, context, rows);
            })
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  weft::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
