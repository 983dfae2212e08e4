// `scripted_server SCRIPT [FLAGS OF weft serve]`: the server with a model behind it that says what
// the script says (see scripted_runner.h), so that agents can be seen at work. --model,
// --served-model-name and --context are required. Tokenizer and chat template are those of the
// model, whose template has ChatML's form; flags of how it would be computed do nothing.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"
#include "model/checkpoint.h"
#include "server/api/conversation/chat_format.h"
#include "server/api/structured/structured_output.h"
#include "server/commands/serve_options.h"
#include "server/commands/shutdown_signals.h"
#include "server/http/server.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metrics.h"
#include "server/tracing/tracer.h"
#include "tests/integration/scripted_runner.h"

namespace weft {
namespace {

Result<void> Serve(Script script, ServeOptions options) {
  WEFT_ASSIGN_OR_RETURN(const Checkpoint checkpoint, LoadCheckpoint(options.model_paths.front()));
  constexpr int64_t kSequences = 4;  // of the whole context at once
  const int64_t block_count = kSequences * options.model.context / ScriptedRunner::kBlockSize;
  const auto meter = std::make_shared<EngineMeter>();
  EngineOptions engine_options;
  engine_options.max_context = options.model.context;
  engine_options.prefix_cache = options.model.prefix_cache;
  engine_options.end_tokens = checkpoint.tokenizer->end_tokens();
  engine_options.token_bytes = [tokenizer = checkpoint.tokenizer](TokenId id) {
    return tokenizer->TokenBytes(id);
  };
  engine_options.on_step = [meter](const StepReport& report) { meter->OnStep(report); };
  Engine engine(
      std::move(engine_options),
      std::make_unique<ScriptedRunner>(std::move(script), checkpoint.tokenizer, block_count));

  ServedModel model;
  model.id = options.served_model_names.front();
  model.takes_any_name = options.any_model_name;
  model.fingerprint = "fp_script";
  model.created = 1700000000;
  model.tokenizer = checkpoint.tokenizer;
  ChatTemplateSources sources;
  sources.standard = checkpoint.chat_template;
  WEFT_ASSIGN_OR_RETURN(model.chat, ChatFormat::Create(sources, *checkpoint.tokenizer));
  model.structured = std::make_shared<StructuredOutput>(
      checkpoint.tokenizer, std::make_shared<MatcherPool>(size_t{64} << 20));
  model.engine = &engine;
  const auto metrics = std::make_shared<Metrics>();
  EngineFacts facts;
  facts.model = model.id;
  facts.context = options.model.context;
  facts.memory.groups = {{.group = {.block_count = block_count}}};
  metrics->AddEngine(std::move(facts), meter, engine);

  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<Access> access, Access::Load(options.server));
  DeferFirstShutdownSignal();
  WEFT_ASSIGN_OR_RETURN(
      const std::unique_ptr<Server> server,
      Server::Start(options.server, std::make_shared<ModelRegistry>(std::vector{model}), metrics,
                    access, std::make_shared<Tracer>()));
  fmt::print("the script is served on http://127.0.0.1:{} - stop it by SIGTERM\n", server->port());
  std::fflush(stdout);
  WaitForShutdownSignal([] {});
  server->Stop(std::chrono::steady_clock::now() + options.shutdown_timeout);
  return {};
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: scripted_server SCRIPT [FLAGS OF weft serve]\n");
    return 2;
  }
  Result<Script> script = Script::Read(argv[1]);
  Result<ServeOptions> options = ParseServeOptions(argc - 1, argv + 1);
  if (!script || !options) {
    fmt::print(stderr, "{}\n", script ? options.error().message : script.error().message);
    return 2;
  }
  if (options->model_paths.empty() || options->served_model_names.empty() ||
      options->model.context == 0) {
    fmt::print(stderr, "scripted_server needs --model, --served-model-name and --context\n");
    return 2;
  }
  const LogThread log_thread;
  InstallShutdownSignals();
  const Result<void> served = Serve(*std::move(script), *std::move(options));
  if (!served) fmt::print(stderr, "{}\n", served.error().message);
  return served ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc, argv); }
