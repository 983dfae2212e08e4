#include "server/commands/serve_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/log.h"
#include "base/resources.h"
#include "model/kernels/blas.h"
#include "server/api/job_memory.h"
#include "server/commands/command_line.h"
#include "server/commands/health_check.h"
#include "server/commands/serve_options.h"
#include "server/commands/served_models.h"
#include "server/commands/shutdown_signals.h"
#include "server/http/connection_limit.h"
#include "server/http/server.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metrics.h"
#include "server/models/loaded_model.h"
#include "server/models/model_path.h"
#include "server/tracing/tracer.h"
#include "server/tracing/tracing_options.h"

namespace weft {
namespace {

// What the responses kept may take, within the process's limit.
void FitResponseStore(ServeOptions& options) {
  constexpr uint64_t kDefaultBytes = 64u << 20;
  const uint64_t limit =
      options.model.memory_bytes > 0 ? options.model.memory_bytes : AvailableMemoryBytes();
  options.server.response_store_bytes =
      options.response_store_bytes.value_or(std::min(kDefaultBytes, limit / 16));
  options.model.stored_bytes = options.server.response_store_bytes;
}

// Long bodies are rare, and compute threads want the cores: few threads, but so many that a long
// body never has all of them.
int PreparationThreads() { return std::clamp(AvailableCpuCount(), 2, 4); }

// What requests may take, of the reserve.
void FitRequests(const MemoryPlan& memory, ServerOptions& options) {
  const RequestMemory requests = memory.request_memory();
  options.request_memory_bytes = requests.held_bytes;
  options.max_render_bytes =
      requests.render_bytes /
      static_cast<uint64_t>(options.io_threads + options.preparation_threads);
  const uint64_t largest_body = LargestBodyBytes(requests.held_bytes);
  if (options.max_body_bytes <= largest_body) return;
  Log(LogLevel::kWarning, "bodies of at most {}: there is no memory for more in the reserve",
      FormatBytes(largest_body));
  options.max_body_bytes = largest_body;
}

// People get it on stdout, machines as an event of the log. The example is of the first model.
void PrintGreeting(const ServerOptions& options, LogFormat format, uint16_t port,
                   const std::vector<ServedModel>& models) {
  ServerAddress address = LocalAddressOf(options);
  address.port = port;
  const std::string where = ToString(address);
  const std::string url = options.listens_on_tcp ? where : "http://localhost";
  std::string names;
  for (const ServedModel& model : models) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.id);
  }
  if (format == LogFormat::kJson) {
    const std::array fields = {LogField{"model", names}, LogField{"address", where}};
    LogLine(LogLevel::kInfo, "serving", fields);
    return;
  }
  const std::string way =
      options.listens_on_tcp ? "" : fmt::format("--unix-socket {} ", options.unix_socket_path);
  FlushLog(std::chrono::seconds(1));  // before it on a terminal
  const std::string_view example =
      models.front().engine->options().is_encoder
          ? "embeddings -H 'Content-Type: application/json' \\\n    -d '{\"input\": \"Once upon a "
            "time\"}'"
          : "completions -H 'Content-Type: application/json' \\\n    -d '{\"prompt\": \"Once upon "
            "a "
            "time\", \"max_tokens\": 64}'";
  fmt::print("weft serves {} on {} - try:\n  curl {}{}/v1/{}\n", names, where, way, url, example);
  std::fflush(stdout);
}

Result<std::shared_ptr<Tracer>> MakeTracer(const ServeOptions& options,
                                           const std::shared_ptr<Metrics>& metrics) {
  std::vector<std::string> warnings;
  WEFT_ASSIGN_OR_RETURN(
      const std::optional<TracingOptions> tracing,
      ReadTracingOptions(
          options.otlp_endpoint, [](const char* name) { return std::getenv(name); }, warnings));
  for (const std::string& warning : warnings) LogLine(LogLevel::kWarning, warning);
  if (!tracing) return std::make_shared<Tracer>();
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<SpanExporter> exporter,
                        SpanExporter::Start(*tracing, metrics));
  return std::make_shared<Tracer>(tracing->sampler, std::move(exporter));
}

Result<void> Serve(ServeOptions options) {
  const auto metrics = std::make_shared<Metrics>();
  if (options.model_paths.empty()) options.model_paths.emplace_back();
  for (std::string& path : options.model_paths) {
    WEFT_ASSIGN_OR_RETURN(path, FindModel(path, options.model.memory_bytes));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        NamesOfModels(options.model_paths, options.served_model_names));
  // Before the models, which may take minutes.
  WEFT_ASSIGN_OR_RETURN(const ServedSettings settings, ReadServedSettings(options, names));
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<Access> access, Access::Load(options.server));
  // Where nothing can be read again, a terminal that closes ends the process as usual.
  if (access->is_reloadable()) InstallReloadSignal();
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<Tracer> tracer, MakeTracer(options, metrics));
  options.server.preparation_threads = PreparationThreads();
  FitResponseStore(options);
  // More of them than cores would only take them from each other.
  options.server.io_threads = std::min(options.server.io_threads, AvailableCpuCount());
  std::vector<ModelOptions> model_options(names.size(), options.model);
  for (size_t i = 0; i < names.size(); ++i) {
    model_options[i].path = options.model_paths[i];
    model_options[i].meter = std::make_shared<EngineMeter>();
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<LoadedModel>> models,
                        LoadedModel::LoadAll(model_options));
  for (size_t i = 0; i < names.size(); ++i) {
    EngineFacts facts = models[i]->facts();
    facts.model = names[i];
    metrics->AddEngine(std::move(facts), model_options[i].meter, models[i]->engine());
  }
  FitRequests(models.front()->memory(), options.server);
  WEFT_ASSIGN_OR_RETURN(const std::vector<ServedModel> served,
                        ServeModels(options, settings, names, models));
  options.server.max_connections = FitConnections(options.server.max_connections);
  DeferFirstShutdownSignal();
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                        Server::Start(options.server, std::make_shared<ModelRegistry>(served),
                                      metrics, access, tracer));
  PrintGreeting(options.server, options.log_format, server->port(), served);

  WaitForShutdownSignal([&access] { access->Reload(); });
  const auto timeout_s = static_cast<double>(options.shutdown_timeout.count()) / 1000;
  Log(LogLevel::kInfo, "shutting down: new requests get 503, running ones have {:.1f} s",
      timeout_s);
  server->Stop(std::chrono::steady_clock::now() + options.shutdown_timeout);
  constexpr std::chrono::seconds kFlushTime{5};
  tracer->Stop(std::chrono::steady_clock::now() + kFlushTime);
  Log(LogLevel::kInfo, "shut down");
  return {};
}

}  // namespace

int ServeCommand(int argc, const char* const* argv) {
  Result<ServeOptions> options = ParseServeOptions(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}\n", options.error().message);
    return kUsageError;
  }
  if (!options->help.empty()) {
    fmt::print("{}", options->help);
    return 0;
  }
  SetLogLevel(options->log_level);
  SetLogFormat(options->log_format);
  // Before there are threads. LoadedModel says what is wrong with it, when all else is right.
  if (options->model.arithmetic == Arithmetic::kF32) static_cast<void>(LoadBlas());
  const LogThread log_thread;
  const bool logs_json = options->log_format == LogFormat::kJson;
  InstallShutdownSignals();
  const Result<void> served = Serve(*std::move(options));
  if (served) return 0;
  if (logs_json) {
    LogLine(LogLevel::kError, served.error().message);
  } else {
    PrintError(fmt::format("weft serve: {}", served.error().message));
  }
  return 1;
}

}  // namespace weft
