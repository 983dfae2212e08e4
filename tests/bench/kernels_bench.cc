// Speed of the matrix products, one thread: weights and multiply-adds a second.
//   kernels_bench --benchmark_filter='Matmul/Q4_0'
#include <benchmark/benchmark.h>

#include "base/float_env.h"
#include "model/formats/block_format.h"
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
                                     kColumns, kernels->arithmetic != Arithmetic::kF32);
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

void Packing(benchmark::State& state, DataType type) {
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  Random random(3);
  const FileMatrix matrix = RandomMatrix(type, 1024, kColumns, Scales::kOrdinary, random);
  PackedMatrix packed = Pack(kernels, matrix.view);
  for (auto unused : state) kernels.pack_panels(matrix.view, 0, packed);
  state.counters["GB/s of file"] =
      benchmark::Counter(1e-9 * static_cast<double>(matrix.bytes.size()),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void RegisterAll() {
  std::vector<const KernelTable*> tables = AvailableTables();
  tables.push_back(&BlasTable());
  for (const Arithmetic arithmetic : {Arithmetic::kInt8, Arithmetic::kBF16Pair}) {
    for (const KernelTable* kernels : AvailableTables(arithmetic)) tables.push_back(kernels);
  }
  for (const DataType type : AllTypes()) {
    const std::string type_name(TraitsOf(type).name);
    for (const KernelTable* kernels : tables) {
      const bool is_slow = kernels->isa == Isa::kScalar && kernels->arithmetic != Arithmetic::kF32;
      if (kernels->arithmetic == Arithmetic::kInt8 && !HasIntegerCodes(type)) continue;
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
