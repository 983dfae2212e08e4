// What a row of logits costs to sample: a vocabulary of 151,936 tokens, one thread.
//   sampler_bench
#include <random>

#include <benchmark/benchmark.h>

#include "engine/sampler.h"

namespace weft {
namespace {

constexpr size_t kVocabSize = 151'936;

struct Case {
  const char* name;
  double temperature;
  int32_t top_k;
  double top_p;
  double min_p;
};

void Sample(benchmark::State& state, const Case& setting) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2.5F);
  std::vector<float> logits(kVocabSize);
  for (float& logit : logits) logit = normal(random);
  logits[1234] = 14;  // as sure as models usually are
  SamplingParams params;
  params.temperature = setting.temperature;
  params.top_k = setting.top_k;
  params.top_p = setting.top_p;
  params.min_p = setting.min_p;
  Sampler sampler(kVocabSize);
  uint32_t position = 0;
  for (auto unused : state) {
    const RandomKey key{.seed = 1, .choice = 0, .position = position++};
    const auto token = sampler.Sample(logits, params, key, {});
    benchmark::DoNotOptimize(&token);
  }
}

void RegisterAll() {
  static constexpr Case kCases[] = {
      {"greedy", 0, 0, 1, 0},
      {"temperature 1", 1, 0, 1, 0},
      {"temperature 1, min_p 0.05", 1, 0, 1, 0.05},
      {"temperature 0.8, top_k 50, top_p 0.95", 0.8, 50, 0.95, 0},
      {"temperature 0.8, top_p 0.95", 0.8, 0, 0.95, 0},
  };
  for (const Case& setting : kCases) {
    benchmark::RegisterBenchmark(setting.name, [&](benchmark::State& state) {
      Sample(state, setting);
    })->Unit(benchmark::kMicrosecond);
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
