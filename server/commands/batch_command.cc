#include "server/commands/batch_command.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/log.h"
#include "base/resources.h"
#include "server/api/structured/matcher_pool.h"
#include "server/batches/batch_input.h"
#include "server/batches/file_store.h"
#include "server/batches/line_pool.h"
#include "server/commands/command_line.h"
#include "server/commands/corpus/corpus_progress.h"
#include "server/commands/corpus/result_log.h"
#include "server/commands/request_flags.h"
#include "server/commands/serve_options.h"
#include "server/commands/served_models.h"
#include "server/http/server_context.h"
#include "server/models/loaded_model.h"
#include "server/models/memory_reserve.h"
#include "server/models/model_path.h"
#include "server/models/model_registry.h"

namespace weft {
namespace {

struct BatchCommandOptions {
  ServeOptions serve;  // what concerns the model and the requests
  std::string input_path;
  std::string output_path;
  bool is_quiet = false;
};

void AddBatchFlags(CLI::App& app, BatchCommandOptions& options) {
  AddModelFlags(app, options.serve.model);
  AddLogFlag(app, options.serve.log_level);
  AddRequestFlags(app, options.serve.requests);
  app.add_option("INPUT", options.input_path,
                 "File with a request a line, as /v1/batches takes it: {\"custom_id\", \"method\", "
                 "\"url\", \"body\"}")
      ->required();
  app.add_option("-o,--output", options.output_path,
                 "File that gets a line an answer, as they come; what it has already is not "
                 "computed again")
      ->required();
  app.add_option("--max-sequences", options.serve.model.max_sequences, "Requests computed at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_flag("--quiet,-q", options.is_quiet, "Nothing about progress on stderr");
}

// The input, which is right, without the lines that the output has.
Result<std::vector<InputLine>> ReadRest(const RegularFile& file, const ResultLog& output) {
  constexpr int64_t kMostLines = 1'000'000;
  WEFT_ASSIGN_OR_RETURN(
      BatchInput input,
      ReadBatchInput(file, "", {.max_lines = kMostLines, .max_line_bytes = size_t{64} << 20}));
  for (const BatchError& error : input.errors) {
    PrintError(error.line ? fmt::format("{}:{}: {}", file.path(), *error.line, error.message)
                          : fmt::format("{}: {}", file.path(), error.message));
  }
  if (!input.errors.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not a batch's input", file.path());
  }
  size_t done_count = 0;
  std::vector<InputLine> rest;
  for (const InputLine& line : input.lines) {
    WEFT_ASSIGN_OR_RETURN(const BatchLine read, ReadLineAt(file, line));
    const bool is_done = output.Has(read.custom_id);
    done_count += is_done ? 1 : 0;
    if (!is_done) rest.push_back(line);
  }
  if (done_count == output.size()) return rest;
  return Fail(ErrorCode::kInvalidArgument,
              "{}: {} of its lines answer none of {}; name another file", output.path(),
              output.size() - done_count, file.path());
}

// Runs the lines, in their order as far as there is room.
Result<void> RunLines(const RegularFile& file, const std::vector<InputLine>& lines,
                      ServerContext& context, ResultLog& output, CorpusProgress& progress) {
  constexpr std::chrono::milliseconds kPatience{1'000};
  LinePool pool(context, context.options.batch_lines);
  CorpusCounts counts;
  int64_t refused_count = 0;
  // Indices, the next one last: those that found no room come back.
  std::vector<size_t> waiting(lines.size());
  std::iota(waiting.rbegin(), waiting.rend(), size_t{0});
  bool found_room = true;
  while (!waiting.empty() || !pool.is_empty()) {
    while (pool.has_room() && !waiting.empty() && found_room) {
      const size_t index = waiting.back();
      waiting.pop_back();
      WEFT_ASSIGN_OR_RETURN(BatchLine read, ReadLineAt(file, lines[index]));
      pool.Add({.tag = index,
                .owner = {},
                .url = std::move(read.url),
                .custom_id = std::move(read.custom_id),
                .body = std::move(read.body)});
    }
    const std::vector<PoolResult> results = pool.Wait(kPatience);
    found_room = true;
    for (const PoolResult& result : results) {
      if (!result.answer) {
        waiting.push_back(result.line.tag);
        found_room = false;  // until another has ended, or a moment has passed
        continue;
      }
      WEFT_RETURN_IF_ERROR(output.Add(
          AnsweredLineJson(MakeStoredId("batch_req_"), result.line.custom_id, *result.answer)));
      refused_count += result.answer->status == 200 ? 0 : 1;
      counts.Add(result.usage.prompt_tokens + result.usage.completion_tokens, 0);
      ++counts.done;
    }
    progress.Show(counts);
  }
  progress.Finish(counts);
  if (refused_count > 0) {
    PrintError(
        fmt::format("{} of the lines were refused; {} says why", refused_count, output.path()));
  }
  return {};
}

// What requests may hold, as `weft serve` has it.
ServerOptions ServerOptionsOf(const BatchCommandOptions& options, const MemoryReserve& reserve) {
  ServerOptions server = options.serve.server;
  const RequestMemory memory = reserve.request_memory();
  server.request_memory_bytes = memory.held_bytes;
  server.max_render_bytes = memory.render_bytes;
  server.batch_lines = options.serve.model.max_sequences;
  server.response_store_bytes = 0;
  return server;
}

Result<void> RunBatch(BatchCommandOptions options) {
  ServeOptions& serve = options.serve;
  // Before the model, which may take minutes.
  WEFT_ASSIGN_OR_RETURN(serve.server.rules, RulesOf(serve.requests));
  WEFT_ASSIGN_OR_RETURN(serve.model.path, FindModel(serve.model.path, serve.model.memory_bytes));
  WEFT_ASSIGN_OR_RETURN(const RegularFile file, RegularFile::Open(options.input_path));
  WEFT_ASSIGN_OR_RETURN(ResultLog output, ResultLog::Open(options.output_path));
  WEFT_ASSIGN_OR_RETURN(const std::vector<InputLine> lines, ReadRest(file, output));
  if (lines.empty()) return {};
  serve.model_paths = {serve.model.path};
  serve.any_model_name = true;                               // there is one
  serve.model.max_stall = std::chrono::milliseconds(1'000);  // nobody reads along
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        NamesOfModels(serve.model_paths, serve.served_model_names));
  WEFT_ASSIGN_OR_RETURN(const ServedSettings settings, ReadServedSettings(serve, names));
  if (serve.model.memory_bytes == 0) serve.model.memory_bytes = AvailableMemoryBytes();
  const MemoryReserve reserve = ReserveOf(serve.model.memory_bytes, serve.model.stored_bytes);
  std::vector<std::unique_ptr<LoadedModel>> models(1);
  WEFT_ASSIGN_OR_RETURN(models.front(), LoadedModel::Load(serve.model));
  const auto constraints = std::make_shared<MatcherPool>(reserve.constraint_bytes);
  WEFT_ASSIGN_OR_RETURN(const std::vector<ServedModel> served,
                        ServeModels(serve, settings, names, models, constraints));
  const ServerOptions server = ServerOptionsOf(options, reserve);
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<Access> access, Access::Load(server));
  ServerContext context(server, std::make_shared<ModelRegistry>(served),
                        std::make_shared<Metrics>(), access, std::make_shared<Tracer>());
  CorpusProgress progress(options.is_quiet, lines.size(), "lines");
  return RunLines(file, lines, context, output, progress);
}

}  // namespace

int BatchCommand(int argc, const char* const* argv) {
  BatchCommandOptions options;
  options.serve.log_level = LogLevel::kWarning;
  CLI::App app("Answers a file of requests, as /v1/batches does, without a server.", "weft batch");
  AddBatchFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  SetLogLevel(options.serve.log_level);
  const Result<void> done = RunBatch(std::move(options));
  return done ? 0 : FailCommand(app, done.error());
}

}  // namespace weft
