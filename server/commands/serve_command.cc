#include "server/commands/serve_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/log.h"
#include "base/resources.h"
#include "model/kernels/blas.h"
#include "server/api/job_memory.h"
#include "server/api/structured/structured_output.h"
#include "server/commands/command_line.h"
#include "server/commands/health_check.h"
#include "server/commands/requested_models.h"
#include "server/commands/serve_options.h"
#include "server/commands/served_models.h"
#include "server/commands/service_manager.h"
#include "server/commands/shutdown_signals.h"
#include "server/http/connection_limit.h"
#include "server/http/server.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metrics.h"
#include "server/models/loaded_model.h"
#include "server/models/memory_reserve.h"
#include "server/models/model_path.h"
#include "server/models/model_registry.h"
#include "server/tracing/tracer.h"
#include "server/tracing/tracing_options.h"

namespace weft {
namespace {

// What the responses kept may take, within the process's limit.
void FitResponseStore(ServeOptions& options) {
  constexpr uint64_t kDefaultBytes = 64u << 20;
  options.server.response_store_bytes = options.response_store_bytes.value_or(
      std::min(kDefaultBytes, options.model.memory_bytes / 16));
  options.model.stored_bytes = options.server.response_store_bytes;
}

// Long bodies are rare, and compute threads want the cores: few threads, but so many that a long
// body never has all of them.
int PreparationThreads() { return std::clamp(AvailableCpuCount(), 2, 4); }

// What requests may take, of the reserve.
void FitRequests(const MemoryReserve& reserve, ServerOptions& options) {
  const RequestMemory requests = reserve.request_memory();
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

// What models that are loaded on request may take together. Those of --model have theirs.
uint64_t RoomForRequested(const ServeOptions& options, const MemoryReserve& reserve,
                          const std::vector<RunningModel>& fixed) {
  uint64_t taken_bytes = reserve.bytes();
  for (const RunningModel& model : fixed) taken_bytes += model.memory.bytes();
  const uint64_t limit_bytes = options.model.memory_bytes;
  const uint64_t room_bytes = limit_bytes - std::min(limit_bytes, taken_bytes);
  Log(LogLevel::kInfo, "{} of {} are for models that requests name; --model's keep {}",
      FormatBytes(room_bytes), FormatBytes(limit_bytes),
      FormatBytes(taken_bytes - reserve.bytes()));
  return room_bytes;
}

// People get it on stdout, machines as an event of the log. The example is of the first model.
void PrintGreeting(const ServerOptions& options, LogFormat format, uint16_t port,
                   const std::vector<ModelStatus>& models) {
  ServerAddress address = LocalAddressOf(options);
  address.port = port;
  const std::string where = ToString(address);
  const std::string url = options.listens_on_tcp ? where : "http://localhost";
  std::string names;
  constexpr size_t kMostNames = 16;
  for (const ModelStatus& model : std::span(models).first(std::min(models.size(), kMostNames))) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.id);
  }
  if (models.size() > kMostNames) names += fmt::format(" and {} more", models.size() - kMostNames);
  if (format == LogFormat::kJson) {
    const std::array fields = {LogField{"model", names}, LogField{"address", where}};
    LogLine(LogLevel::kInfo, "serving", fields);
    return;
  }
  const std::string way =
      options.listens_on_tcp ? "" : fmt::format("--unix-socket {} ", options.unix_socket_path);
  FlushLog(std::chrono::seconds(1));  // before it on a terminal
  const bool has_first = !models.empty() && models.front().lease != nullptr;
  const std::string named =
      has_first || models.empty() ? "" : fmt::format("\"model\": \"{}\", ", models.front().id);
  const bool embeds = has_first && models.front().lease->engine->options().is_encoder;
  const std::string example =
      embeds ? "embeddings -H 'Content-Type: application/json' \\\n    -d '{\"input\": \"Once "
               "upon a time\"}'"
             : fmt::format(
                   "completions -H 'Content-Type: application/json' \\\n    -d '{{{}"
                   "\"prompt\": \"Once upon a time\", \"max_tokens\": 64}}'",
                   named);
  fmt::print("weft serves {} on {} - try:\n  curl {}{}/v1/{}\n",
             names.empty() ? "no model yet" : names, where, way, url, example);
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

ServiceManager ServiceManagerOf(const char* notify_socket) {
  return ServiceManager(notify_socket == nullptr ? "" : notify_socket);
}

// A service manager that does not listen is no reason not to serve.
void WarnUnless(const Result<void>& told) {
  if (!told) Log(LogLevel::kWarning, "{}", told.error().message);
}

// The models of --model, loaded; they are in the metrics.
Result<std::vector<RunningModel>> LoadFixed(const ServeOptions& options,
                                            const ServedSettings& settings,
                                            std::span<const std::string> names,
                                            std::vector<Checkpoint> files, const Compute& compute,
                                            const std::shared_ptr<MatcherPool>& constraints,
                                            const ServiceManager& manager, Metrics& metrics) {
  std::vector<RunningModel> running;
  if (names.empty()) return running;
  std::vector<ModelOptions> model_options(names.size(), options.model);
  for (size_t i = 0; i < names.size(); ++i) {
    model_options[i].path = options.model_paths[i];
    model_options[i].meter = std::make_shared<EngineMeter>();
    model_options[i].on_progress = [&manager, &name = names[i]](int percent) {
      WarnUnless(manager.Starting(fmt::format("loading {}: {}%", name, percent)));
    };
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<LoadedModel>> models,
                        LoadedModel::LoadAll(model_options, std::move(files), compute));
  WEFT_ASSIGN_OR_RETURN(std::vector<ServedModel> served,
                        ServeModels(options, settings, names, models, constraints));
  for (size_t i = 0; i < names.size(); ++i) {
    EngineFacts facts = models[i]->facts();
    facts.model = names[i];
    metrics.AddEngine(std::move(facts), model_options[i].meter, models[i]->engine());
    running.push_back({.served = std::move(served[i]),
                       .memory = MemoryOf(models[i]->memory()),
                       .owner = std::move(models[i])});
  }
  return running;
}

Result<void> Serve(ServeOptions options) {
  const ServiceManager manager = ServiceManagerOf(std::getenv("NOTIFY_SOCKET"));
  WarnUnless(manager.Starting("looking for the models"));
  const auto metrics = std::make_shared<Metrics>();
  if (options.model_paths.empty() && !options.loads_on_request()) {
    options.model_paths.emplace_back();
  }
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
  if (options.model.memory_bytes == 0) options.model.memory_bytes = AvailableMemoryBytes();
  options.model.leaves_room = options.loads_on_request();
  FitResponseStore(options);
  // More of them than cores would only take them from each other.
  options.server.io_threads = std::min(options.server.io_threads, AvailableCpuCount());
  const MemoryReserve reserve = ReserveOf(options.model.memory_bytes, options.model.stored_bytes);
  metrics->SetMemoryLimit(options.model.memory_bytes, reserve.bytes());
  FitRequests(reserve, options.server);
  std::vector<Checkpoint> files;
  for (const std::string& path : options.model_paths) {
    WEFT_ASSIGN_OR_RETURN(Checkpoint file, LoadCheckpoint(path));
    files.push_back(std::move(file));
  }
  WEFT_ASSIGN_OR_RETURN(const Compute compute, SetUpCompute(options.model, true));
  const auto constraints = std::make_shared<MatcherPool>(reserve.constraint_bytes);
  WEFT_ASSIGN_OR_RETURN(RegistryOptions registry,
                        RequestedModels(options, compute, constraints, metrics));
  WEFT_ASSIGN_OR_RETURN(registry.fixed, LoadFixed(options, settings, names, std::move(files),
                                                  compute, constraints, manager, *metrics));
  if (options.loads_on_request()) {
    registry.room_bytes = RoomForRequested(options, reserve, registry.fixed);
  }
  const auto models = std::make_shared<ModelRegistry>(std::move(registry));
  options.server.max_connections = FitConnections(options.server.max_connections);
  DeferFirstShutdownSignal();
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                        Server::Start(options.server, models, metrics, access, tracer));
  const std::vector<ModelStatus> listed = models->List();
  PrintGreeting(options.server, options.log_format, server->port(), listed);
  WarnUnless(manager.Ready(fmt::format("{} models, {} loaded", listed.size(), names.size())));

  WaitForShutdownSignal([&access] { access->Reload(); });
  const auto timeout_s = static_cast<double>(options.shutdown_timeout.count()) / 1000;
  Log(LogLevel::kInfo, "shutting down: new requests get 503, running ones have {:.1f} s",
      timeout_s);
  constexpr std::chrono::seconds kFlushTime{5};
  WarnUnless(manager.Stopping(options.shutdown_timeout + 2 * kFlushTime));
  server->Stop(std::chrono::steady_clock::now() + options.shutdown_timeout);
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
