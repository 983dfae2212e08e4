// What a chat costs outside the engine: parsing, template and tokenising, and the reply's text.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "model/checkpoint.h"
#include "proto/reply/reply_parser.h"
#include "server/chat_format.h"
#include "server/chat_job.h"
#include "tests/server/test_model.h"

namespace weft {
namespace {

// A hundred messages, ten kilobytes together.
std::string LongChat() {
  nlohmann::json messages = nlohmann::json::array();
  for (int i = 0; i < 100; ++i) {
    std::string text =
        "Message " + std::to_string(i) + ": the wolf went to the house and said that ";
    while (text.size() < 100) text += "it is I. ";
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", text}});
  }
  messages.push_back({{"role", "user"}, {"content", "Go on."}});
  return nlohmann::json{{"messages", messages}, {"max_tokens", 16}}.dump();
}

void BM_PrepareChat(benchmark::State& state) {
  auto checkpoint = LoadCheckpoint(std::string(WEFT_SOURCE_DIR) + "/model/demo/weft-demo.gguf");
  ChatTemplateSources sources;
  sources.standard = checkpoint->chat_template;
  TestModelOptions options;
  options.max_context = 100'000;
  const TestModel engine(options);
  ServedModel model = engine.Served();
  model.tokenizer = checkpoint->tokenizer;
  model.chat = ChatFormat::Create(sources, *checkpoint->tokenizer).value();
  const std::vector<ServedModel> models{model};
  const std::string body = LongChat();
  size_t token_count = 0;
  for (auto _ : state) {
    const auto job = PrepareChat(body, {.models = models});
    if (!job) return state.SkipWithError(job.error().message.c_str());
    token_count = job->prompts.front().size();
  }
  state.counters["body_bytes"] = static_cast<double>(body.size());
  state.counters["prompt_tokens"] = static_cast<double>(token_count);
}
BENCHMARK(BM_PrepareChat)->Unit(benchmark::kMillisecond);

void BM_RenderChat(benchmark::State& state) {
  auto checkpoint = LoadCheckpoint(std::string(WEFT_SOURCE_DIR) + "/model/demo/weft-demo.gguf");
  const auto parsed = ChatTemplate::Parse(checkpoint->chat_template);
  auto variables = nlohmann::ordered_json::parse(LongChat());
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

BENCHMARK_MAIN();
