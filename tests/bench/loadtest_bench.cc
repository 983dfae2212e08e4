// What the load generator spends on a request and on a token, without its sockets.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "loadtest/run/body_writer.h"
#include "loadtest/run/completion_chunk.h"
#include "loadtest/run/stream_reader.h"

namespace weft {
namespace {

constexpr std::string_view kChunk =
    R"({"id":"cmpl-760bc26b88f253ae00000015","object":"text_completion","created":1763740000,)"
    R"("model":"weft-demo","choices":[{"index":0,"text":" house","logprobs":null,)"
    R"("finish_reason":null}],"usage":null})";

void BM_ScanChunk(benchmark::State& state) {
  CompletionChunk chunk;
  for (auto _ : state) benchmark::DoNotOptimize(ScanChunk(kChunk, chunk));
}
BENCHMARK(BM_ScanChunk);

// What ScanChunk replaces.
void BM_ParseChunk(benchmark::State& state) {
  CompletionChunk chunk;
  for (auto _ : state) benchmark::DoNotOptimize(ParseChunk(kChunk, chunk));
}
BENCHMARK(BM_ParseChunk);

// A token's chunk on its way from the bytes to the record.
void BM_ReadToken(benchmark::State& state) {
  const std::string event = "data: " + std::string(kChunk) + "\n\n";
  const std::string bytes = fmt::format("{:x}\r\n{}\r\n", event.size(), event);
  constexpr int64_t kTokens = 256;  // of a stream
  RequestRecord record;
  int64_t token_count = 0;
  RequestRecord::Clock::time_point now{};
  while (state.KeepRunningBatch(kTokens)) {
    StreamReader reader(BodyFraming::Chunked(),
                        AnswerReader(record, /*answer=*/nullptr, /*most_tokens=*/kTokens),
                        token_count);
    for (int64_t i = 0; i < kTokens; ++i) reader.Take(bytes, now += std::chrono::milliseconds(1));
    reader.reader().FinishEvents(/*must_be_whole=*/false);
  }
}
BENCHMARK(BM_ReadToken);

// A request's body, its prompt of so many tokens included.
void BM_WriteBody(benchmark::State& state) {
  LoadPlan plan;
  plan.profiles = {"bench"};
  plan.requests.push_back(
      {.segments = {{.seed = 1, .token_count = static_cast<int32_t>(state.range(0))}},
       .max_tokens = 64});
  const BodyWriter bodies =
      BodyWriter::Make(plan, RunOptions{}, ServerInfo{.model = "weft-demo", .server = "weft"})
          .value();
  std::string body;
  for (auto _ : state) {
    bodies.Write(plan, 0, {}, body);
    benchmark::DoNotOptimize(body.data());
  }
}
BENCHMARK(BM_WriteBody)->Arg(64)->Arg(1024)->Arg(16384);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
