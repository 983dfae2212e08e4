// What a row of logits costs to sample: a vocabulary of 151,936 tokens behind a context of 2,048,
// one thread.
//   sampler_bench
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/sampler.h"

namespace weft {
namespace {

constexpr size_t kVocabSize = 151'936;

struct Case {
  const char* name;
  void (*set)(SamplingParams& params);
};

const Case kCases[] = {
    {"greedy", [](SamplingParams& params) { params.temperature = 0; }},
    {"temperature 1", [](SamplingParams&) {}},
    {"temperature 0.8, top_k 50, top_p 0.95",
     [](SamplingParams& params) {
       params.temperature = 0.8;
       params.top_k = 50;
       params.top_p = 0.95;
     }},
    {"the same with all penalties and DRY",
     [](SamplingParams& params) {
       params.temperature = 0.8;
       params.top_k = 50;
       params.top_p = 0.95;
       params.repetition_penalty = 1.1;
       params.presence_penalty = 0.5;
       params.dry.multiplier = 0.8;
     }},
    {"top_p 0.95", [](SamplingParams& params) { params.top_p = 0.95; }},
    {"min_p 0.05", [](SamplingParams& params) { params.min_p = 0.05; }},
    {"typical_p 0.9", [](SamplingParams& params) { params.typical_p = 0.9; }},
    {"top_n_sigma 1", [](SamplingParams& params) { params.top_n_sigma = 1; }},
    {"xtc 1", [](SamplingParams& params) { params.xtc_probability = 1; }},
    {"dynatemp 0.5", [](SamplingParams& params) { params.dynatemp_range = 0.5; }},
    {"mirostat 2", [](SamplingParams& params) { params.mirostat = 2; }},
    {"repetition_penalty 1.1", [](SamplingParams& params) { params.repetition_penalty = 1.1; }},
    {"logit_bias of one token",
     [](SamplingParams& params) {
       params.logit_bias = {{5, 1}};
     }},
};

void Sample(benchmark::State& state, const Case& setting) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2.5F);
  std::vector<float> logits(kVocabSize);
  for (float& logit : logits) logit = normal(random);
  logits[1234] = 14;  // as sure as models usually are
  std::vector<TokenId> tokens(2048);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 5000);
  SamplingParams params;
  setting.set(params);
  Sampler sampler(kVocabSize, [](TokenId token) {
    return std::string_view(token % 20 == 0 ? "word:" : " word");
  });
  const SamplingHistory history{.tokens = tokens, .prompt_count = 1024, .mirostat_mu = 10};
  uint32_t position = 0;
  for (auto unused : state) {
    const RandomKey key{.seed = 1, .choice = 0, .position = position++};
    const auto token = sampler.Sample(logits, params, history, key, {});
    benchmark::DoNotOptimize(&token);
  }
}

void RegisterAll() {
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
