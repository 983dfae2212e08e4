// What the prefix cache takes of the engine thread's time, by length of the prompt.
#include <benchmark/benchmark.h>

#include "engine/live_request.h"
#include "engine/prefix_cache.h"

namespace weft {
namespace {

constexpr int32_t kBlockSize = 32;

// A prompt of as many tokens as the benchmark's argument says, and one to sample from.
class PromptBench {
 public:
  explicit PromptBench(const benchmark::State& state)
      : pools_(std::vector<StateGroup>{{.block_count = 2 * state.range(0) / kBlockSize + 2}},
               kBlockSize, /*keeps_contents=*/true),
        cache_(pools_),
        request_(MakeRequest(static_cast<int32_t>(state.range(0)) + 1), 0, pools_, 0, {}) {}

  // As if the whole prompt had been computed; its blocks are kept and free.
  void Compute() {
    if (!sequence().blocks.Cover(sequence().token_count(), sequence().token_count())) std::abort();
    sequence().computed_count = sequence().token_count() - 1;
    cache_.Keep(sequence(), 0);
  }
  void Clear() {
    sequence().blocks.Clear();
    sequence().computed_count = 0;
  }

  Sequence& sequence() { return request_.first_choice(); }
  PrefixCache& cache() { return cache_; }

 private:
  static Request MakeRequest(int32_t token_count) {
    Request request;
    for (int32_t i = 0; i < token_count; ++i) request.prompt.push_back(i * 7919 % 128'000);
    return request;
  }

  BlockPools pools_;
  PrefixCache cache_;
  LiveRequest request_;
};

void BM_Match(benchmark::State& state) {
  PromptBench bench(state);
  bench.Compute();
  bench.Clear();
  for (auto _ : state) {
    const int32_t end = bench.cache().Match(bench.sequence());
    if (end != state.range(0) / kBlockSize * kBlockSize) std::abort();
  }
}
BENCHMARK(BM_Match)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// Found, used and released.
void BM_MatchAndAdopt(benchmark::State& state) {
  PromptBench bench(state);
  bench.Compute();
  bench.Clear();
  for (auto _ : state) {
    bench.cache().Adopt(bench.sequence(), bench.cache().Match(bench.sequence()));
    bench.Clear();
  }
}
BENCHMARK(BM_MatchAndAdopt)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// All blocks taken, filled, kept and later evicted.
void BM_Keep(benchmark::State& state) {
  PromptBench bench(state);
  TokenId first = 0;
  for (auto _ : state) {
    bench.sequence().tokens[0] = first++ % 128'000;  // nothing is there twice
    bench.sequence().block_digests.clear();
    bench.Compute();
    bench.Clear();
  }
}
BENCHMARK(BM_Keep)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
