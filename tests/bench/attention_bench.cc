// Attention on one thread: multiply-adds a second, and bytes of keys and values a second.
//   attention_bench --benchmark_filter='bf16/avx512.*rows:1$'
#include <benchmark/benchmark.h>

#include "base/float_env.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

constexpr int64_t kBlockSize = 32;

struct Shape {
  int64_t head_dim;
  int64_t heads;  // query heads a KV head
  int64_t context;
  int64_t rows;
  int64_t kv_heads;  // that take turns: as many as outgrow the caches, or one

  std::string name() const {
    return std::to_string(head_dim) + "/heads:" + std::to_string(heads) +
           "/kv_heads:" + std::to_string(kv_heads) + "/behind:" + std::to_string(context) +
           "/rows:" + std::to_string(rows);
  }
};

void Attention(benchmark::State& state, const KernelTable* kernels, const Shape& shape) {
  const ScopedFlushDenormals flush;
  Random random(2);
  AttentionTask task;
  task.layout = {.block_size = kBlockSize, .key_dim = shape.head_dim, .value_dim = shape.head_dim};
  task.layout.page_bytes = kernels->kv_page_bytes(task.layout);
  task.page_stride_bytes = task.layout.page_bytes * shape.kv_heads;
  const int64_t positions = shape.context + shape.rows;
  const int64_t blocks = CeilDivide(positions, kBlockSize);
  AlignedBuffer pages(static_cast<size_t>(blocks * task.page_stride_bytes));
  std::vector<int32_t> table(static_cast<size_t>(blocks));
  for (int64_t i = 0; i < blocks; ++i) table[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  for (int64_t position = 0; position < positions; ++position) {
    const std::vector<float> key = random.Normals(shape.head_dim);
    std::byte* page = pages.data() + position / kBlockSize * task.page_stride_bytes;
    for (int64_t head = 0; head < shape.kv_heads; ++head) {
      kernels->kv_write(task.layout, page + head * task.layout.page_bytes, position % kBlockSize,
                        key.data(), key.data());
    }
  }
  const int64_t query_rows = shape.rows * shape.heads;
  const std::vector<float> query = random.Normals(query_rows * shape.head_dim);
  std::vector<float> out(query.size());
  AlignedBuffer scratch(
      static_cast<size_t>(kernels->attention_scratch_bytes(task.layout, query_rows)));
  task.block_table = table.data();
  task.heads = shape.heads;
  task.scale = 0.125F;
  task.query_stride = shape.heads * shape.head_dim;
  task.out_stride = task.query_stride;
  task.scratch = scratch.data();
  constexpr int64_t kRowsPerTask = 16;  // as the forward pass cuts them
  int64_t head = 0;
  for (auto unused : state) {
    task.pages = pages.data() + head++ % shape.kv_heads * task.layout.page_bytes;
    for (int64_t row = 0; row < shape.rows; row += kRowsPerTask) {
      task.first_position = shape.context + row;
      task.row_count = std::min(kRowsPerTask, shape.rows - row);
      task.query = query.data() + row * task.query_stride;
      task.out = out.data() + row * task.out_stride;
      kernels->attention(task);
    }
  }
  const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
  const int64_t pairs = shape.rows * shape.context + shape.rows * (shape.rows + 1) / 2;
  state.counters["GFLOP/s"] = benchmark::Counter(
      4e-9 * static_cast<double>(pairs * shape.heads * shape.head_dim), per_second);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(blocks * task.layout.page_bytes), per_second);
}

void RegisterAll() {
  const Shape shapes[] = {{64, 4, 8192, 1, 1},   {64, 4, 8192, 1, 64},  {128, 2, 8192, 1, 32},
                          {128, 4, 8192, 1, 32}, {128, 8, 8192, 1, 32}, {128, 1, 8192, 1, 32},
                          {64, 4, 0, 512, 1},    {64, 4, 8192, 64, 1},  {128, 2, 0, 512, 1},
                          {128, 4, 0, 512, 1},   {128, 4, 8192, 64, 1}};
  for (const KvType kv_type : {KvType::kBF16, KvType::kQ8}) {
    for (const KernelTable* kernels : AvailableTables(Arithmetic::kBF16, kv_type)) {
      if (kernels->isa == Isa::kScalar) continue;
      for (const Shape& shape : shapes) {
        benchmark::RegisterBenchmark(
            (std::string(NameOf(kv_type)) + "/" + std::string(NameOf(kernels->isa)) + "/" +
             shape.name())
                .c_str(),
            [=](benchmark::State& state) { Attention(state, kernels, shape); })
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
