// What a chat costs outside the engine: parsing, template and tokenising, and the reply's text.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "model/checkpoint.h"
#include "proto/reply/reply_parser.h"
#include "server/api/chat/chat_job.h"
#include "server/api/conversation/chat_format.h"
#include "tests/data_paths.h"
#include "tests/server/test_model.h"

namespace weft {
namespace {

// A hundred messages, ten kilobytes together, of words that no two chats have in the same order.
std::string LongChat(uint32_t seed) {
  constexpr std::array<std::string_view, 16> kWords = {
      "the",   "wolf",     "went", "to",      "grandmother's", "house,", "and", "said:",
      "forty", "morning.", "a",    "quickly", "unbelievable",  "of",     "I",   "(perhaps)"};
  nlohmann::json messages = nlohmann::json::array();
  uint32_t state = seed;
  for (int i = 0; i < 100; ++i) {
    std::string text;
    while (text.size() < 100) {
      state = state * 1664525 + 1013904223;  // Numerical Recipes' generator
      text += kWords[state >> 28];
      text += (state >> 20) % 16 == 0 ? " " + std::to_string(state % 10'000) + "\n" : " ";
    }
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", text}});
  }
  messages.push_back({{"role", "user"}, {"content", "Go on."}});
  return nlohmann::json{{"messages", messages}, {"max_tokens", 256}}.dump();
}

// What the engine says of a reply of `count` tokens.
void ConsumeReply(int count, GenerationAnswer& answer) {
  for (int i = 0; i < count; ++i) {
    TokensEvent tokens;
    tokens.text = " wolf";
    tokens.tokens = {7};
    answer.Consume({.prompt_index = 0, .event = std::move(tokens)});
  }
  FinishEvent finish;
  finish.completion_tokens = count;
  finish.last = true;
  answer.Consume({.prompt_index = 0, .event = std::move(finish)});
}

// All that a chat costs outside the engine: parsing, template, tokenising, and the answer's JSON of
// a reply of 256 tokens. The tokenizer is the bundled model's.
void BM_Chat(benchmark::State& state, const std::string& chat_template) {
  auto checkpoint = LoadCheckpoint(SourcePath("model/demo/weft-demo.gguf"));
  ChatTemplateSources sources;
  sources.standard = chat_template.empty() ? checkpoint->chat_template : chat_template;
  TestModelOptions options;
  options.max_context = 100'000;
  const TestModel engine(options);
  ServedModel model = engine.Served();
  model.tokenizer = checkpoint->tokenizer;
  model.chat = ChatFormat::Create(sources, *checkpoint->tokenizer).value();
  ModelRegistry registry({model});
  RequestModels models(registry);
  std::vector<std::string> bodies;
  for (uint32_t seed = 0; seed < 64; ++seed) bodies.push_back(LongChat(seed));
  size_t token_count = 0;
  size_t round = 0;
  for (auto _ : state) {
    const auto job = PrepareChat(bodies[round++ % bodies.size()], {.models = models, .rules = {}});
    if (!job) return state.SkipWithError(job.error().message.c_str());
    token_count = job->prompts.front().size();
    job->answer->Begin("0123456789abcdef00000000", 1'700'000'000);
    ConsumeReply(256, *job->answer);
    benchmark::DoNotOptimize(job->answer->WholeBody());
  }
  state.counters["body_bytes"] = static_cast<double>(bodies.front().size());
  state.counters["prompt_tokens"] = static_cast<double>(token_count);
}

// The bundled model's template, and those of other models where they lie beside the project.
void RegisterChats() {
  benchmark::RegisterBenchmark("BM_Chat/bundled", BM_Chat, "")->Unit(benchmark::kMillisecond);
  const std::filesystem::path directory = SharedDataPath("chat_templates");
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".jinja") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const auto& path : paths) {
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    benchmark::RegisterBenchmark(("BM_Chat/" + path.stem().string()).c_str(), BM_Chat, text)
        ->Unit(benchmark::kMillisecond);
  }
}

void BM_RenderChat(benchmark::State& state) {
  auto checkpoint = LoadCheckpoint(SourcePath("model/demo/weft-demo.gguf"));
  const auto parsed = ChatTemplate::Parse(checkpoint->chat_template);
  auto variables = nlohmann::ordered_json::parse(LongChat(0));
  variables["add_generation_prompt"] = true;
  for (auto _ : state) benchmark::DoNotOptimize(parsed->Render(variables));
}
BENCHMARK(BM_RenderChat)->Unit(benchmark::kMillisecond);

// A reply of 1,000 tokens, piece by piece.
void BM_ParseReply(benchmark::State& state) {
  ReplyOptions options;
  options.format.calls = CallFormat::kHermes;
  options.parses_calls = true;
  for (auto _ : state) {
    ReplyParser parser(options);
    for (int i = 0; i < 1000; ++i) benchmark::DoNotOptimize(parser.Push(" wolf"));
    benchmark::DoNotOptimize(parser.Finish());
  }
}
BENCHMARK(BM_ParseReply)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    weft::RegisterChats();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "chat_bench: %s\n", exception.what());
    return 1;
  }
  return 0;
}
