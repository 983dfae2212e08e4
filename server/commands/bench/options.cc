#include "server/commands/bench/options.h"

#include "server/commands/command_line.h"

namespace weft {
namespace {

constexpr const char* kHelp =
    R"(Times the model alone, without a server, on random token ids.

prefill: prompts of --prompt-tokens, in chunks of --max-batch-tokens. decode: --batch sequences, one
token a step, behind --context positions each. --mixed: streams that run while a prompt arrives,
through the engine with its scheduler. Encoders have one test, encode: texts of --prompt-tokens, of
which --batch are given to the engine at once.

First the machine's limits are measured, with as many threads as the tests use: reading from DRAM,
8-bit dot products (which limit products of quantised weights in int8), multiply-adds of bf16 (all
other products with weights, and attention on AMX; without AMX and AVX-512 BF16 those of float32)
and of float32 (attention elsewhere, routers). The floor of a step is the larger of the bytes that it must
read (every weight once, of experts those that the tokens touch, K and V) over the bandwidth and of
its operations over the peaks; the share is floor / time. What lies in the caches can be read faster
than the floor says.)";

void AddTestFlags(CLI::App& app, BenchOptions& options) {
  constexpr int32_t kMostTokens = 1 << 20;
  app.add_option("--prompt-tokens", options.prompt_tokens,
                 "Lengths of the prompts, as 512,2048 (512; an encoder's texts: 16,128,512)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostTokens));
  app.add_option("--batch", options.batches,
                 "Sequences decoded at once (1,4,16,64), or texts encoded (1,64)")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--context", options.contexts,
                 "Positions behind which every batch decodes, as 512,4096 (the first length of "
                 "--prompt-tokens)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostTokens));
  app.add_option("--generate-tokens", options.generate_tokens, "Decoding steps")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostTokens));
  app.add_option("--max-batch-tokens", options.max_batch_tokens,
                 "Tokens that one step computes: prompts are cut into such chunks")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option("--mixed", options.mixed_streams,
                 "Streams that decode while a prompt arrives; 0: leave the test out")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096));
  app.add_option("--mixed-prompt-tokens", options.mixed_prompt_tokens, "Length of that prompt")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostTokens));
  app.add_option_function<int64_t>(
         "--max-stall",
         [&options](const int64_t& count) { options.max_stall = std::chrono::milliseconds(count); },
         "Of the mixed test: milliseconds that streams may wait for a token, as `weft serve` has "
         "it")
      ->check(CLI::Range(1, 3'600'000))
      ->default_str(std::to_string(options.max_stall.count()));
}

}  // namespace

void AddBenchFlags(CLI::App& app, BenchOptions& options) {
  app.description(kHelp);
  app.add_option("--model", options.model_path,
                 "GGUF file or Hugging Face directory (the bundled model)");
  AddComputeFlags(app, options.arithmetic, options.thread_count);
  AddWeightsFlag(app, options.weights);
  AddKvTypeFlag(app, options.kv_type);
  AddTestFlags(app, options);
  app.add_option("--repetitions", options.repetitions, "Of every test; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--time-limit", options.time_limit_s,
                 "Seconds after which a test begins no more repetitions or decoding steps")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag_callback(
      "--no-limits", [&options] { options.measure_limits = false; },
      "Do not measure the machine: no floors, no shares");
  app.add_flag("--profile", options.profile, "Also print the time by operator");
  app.add_flag("--json", options.json, "A JSON object a line instead of a table");
}

}  // namespace weft
