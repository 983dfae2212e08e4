// Speed of the matrix products: weights and multiply-adds a second, of one thread out of the
// caches, and of a thread on each core with weights from memory.
//   kernels_bench --benchmark_filter='Matmul/Q4_0'
//   kernels_bench --benchmark_filter='MatmulFromMemory/Q8_0' --benchmark_repetitions=9
#include <algorithm>
#include <cstring>
#include <memory>

#include <benchmark/benchmark.h>

#include "base/float_env.h"
#include "base/resources.h"
#include "model/formats/block_format.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

// A matrix that fits no L2 cache, so that one row streams it from memory or L3.
constexpr int64_t kOutputs = 8192;
constexpr int64_t kColumns = 2048;

constexpr int64_t kPanelsPerTask = 16;

// Rows and a matrix, the same at each call.
class Product {
 public:
  Product(const KernelTable& kernels, DataType type, int64_t rows)
      : kernels_(kernels),
        weights_(
            Pack(kernels, RandomMatrix(type, kOutputs, kColumns, Scales::kOrdinary, random_).view)),
        x_(ToOperands(kernels, kernels.operand_type(weights_.layout),
                      random_.Normals(rows * kColumns), kColumns,
                      kernels.arithmetic != Arithmetic::kF32)),
        row_count_(rows),
        y_(static_cast<size_t>(rows * kOutputs)) {}

  const PackedMatrix& weights() const { return weights_; }

  // The weights' copies one after the other, up to `size_bytes` in all.
  void RepeatWeights(int64_t size_bytes) {
    const std::span<const std::byte> once = weights_.bytes();
    const auto copies = static_cast<size_t>(size_bytes) / once.size();
    AlignedBuffer all(copies * once.size());
    for (size_t copy = 0; copy < copies; ++copy) {
      std::memcpy(all.data() + copy * once.size(), once.data(), once.size());
    }
    weights_.storage = std::move(all);
    weights_.rows *= static_cast<int64_t>(copies);
    y_.resize(y_.size() * copies);
  }

  // With panels [first, end), a task at a time.
  void Multiply(int64_t first, int64_t end) {
    MatmulTask task;
    task.weights = &weights_;
    x_.Describe(task);
    task.row_count = row_count_;
    task.y = y_.data();
    task.y_stride = weights_.rows;
    for (int64_t panel = first; panel < end; panel += kPanelsPerTask) {
      task.first_panel = panel;
      task.panel_count = std::min(kPanelsPerTask, end - panel);
      kernels_.matmul(task);
    }
  }

 private:
  Random random_{1};
  const KernelTable& kernels_;
  PackedMatrix weights_;
  OperandMatrix x_;
  int64_t row_count_;
  std::vector<float> y_;
};

void Matmul(benchmark::State& state, const KernelTable* kernels, DataType type, int64_t rows) {
  const ScopedFlushDenormals flush;
  Product product(*kernels, type, rows);
  const PackedMatrix& weights = product.weights();
  for (auto unused : state) product.Multiply(0, weights.panel_count());
  const double weight_count = static_cast<double>(kOutputs * kColumns);
  const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["ns/1024"] =
      benchmark::Counter(weight_count / 1024 * 1e-9, per_second | benchmark::Counter::kInvert);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * weight_count * static_cast<double>(rows), per_second);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(weights.storage.size_bytes()), per_second);
}

// A matrix of 1 GiB, more than caches have, of which each thread multiplies a part.
void MatmulFromMemory(benchmark::State& state, const KernelTable* kernels, DataType type,
                      int64_t rows) {
  constexpr int64_t kMatrixBytes = int64_t{1} << 30;
  static std::unique_ptr<Product> product;  // of all threads, which wait for the first at the loop
  const ScopedFlushDenormals flush;
  if (state.thread_index() == 0) {
    product = std::make_unique<Product>(*kernels, type, rows);
    product->RepeatWeights(kMatrixBytes);
  }
  int64_t panel_count = 0;
  for (auto unused : state) {
    const int64_t all = product->weights().panel_count();
    const int64_t first = state.thread_index() * all / state.threads();
    const int64_t end = (state.thread_index() + 1) * all / state.threads();
    product->Multiply(first, end);
    panel_count += end - first;
  }
  const auto panel_bytes = static_cast<double>(product->weights().panel_bytes);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(panel_count) * panel_bytes,
                                              benchmark::Counter::kIsRate);
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
      const std::string of_table = "/" + type_name + "/" + std::string(kernels->name) + "/";
      for (const int64_t rows : {1, 4, 16, 64, 512}) {
        if (is_slow && rows > 1) continue;
        benchmark::RegisterBenchmark(
            ("Matmul" + of_table + std::to_string(rows)).c_str(),
            [=](benchmark::State& state) { Matmul(state, kernels, type, rows); })
            ->Unit(benchmark::kMillisecond);
      }
      if (kernels->isa == Isa::kScalar) continue;
      for (const int64_t rows : {1, 2, 4, 8, 16}) {
        benchmark::RegisterBenchmark(
            ("MatmulFromMemory" + of_table + std::to_string(rows)).c_str(),
            [=](benchmark::State& state) { MatmulFromMemory(state, kernels, type, rows); })
            ->Unit(benchmark::kMillisecond)
            ->Threads(AvailableCpuCount())
            ->UseRealTime();
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
