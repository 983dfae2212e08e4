#include "server/commands/generate_command.h"

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/engine.h"
#include "model/source_task.h"
#include "model/tokenizer/tokenizer.h"
#include "server/commands/command_line.h"
#include "server/models/loaded_model.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

// Prints text as it comes. Events arrive on the engine thread; Wait is for the main thread.
class PrintingSink : public TokenSink {
 public:
  explicit PrintingSink(LeadingSpaces leading_spaces) : decoder_(leading_spaces) {}

  void OnPromptLogprobs(std::vector<TokenLogprob>) override {}

  void OnPooled(PooledResult) override {}
  void OnTokens(TokensEvent event) override {
    fmt::print("{}", decoder_.Append(event.text));
    std::fflush(stdout);
  }

  void OnFinish(FinishEvent event) override {
    fmt::print("{}\n", decoder_.Finish());
    const std::lock_guard lock(mutex_);
    finished_ = std::move(event);
    changed_.notify_one();
  }

  FinishEvent Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_.has_value(); });
    return *finished_;
  }

 private:
  IncrementalDecoder decoder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<FinishEvent> finished_;
};

struct GenerateOptions {
  ModelOptions model;
  LogLevel log_level = LogLevel::kWarning;
  std::string prompt;
  std::string prompt_file;
  std::string task;
  SamplingParams sampling;
};

void AddGenerateFlags(CLI::App& app, GenerateOptions& options) {
  AddModelFlags(app, options.model);
  AddLogFlag(app, options.log_level);
  SamplingParams& sampling = options.sampling;
  auto* prompt = app.add_option_group("prompt", "What to continue; exactly one of");
  prompt->add_option("--prompt,-p", options.prompt, "Text");
  prompt->add_option("--prompt-file", options.prompt_file, "File with the text; -: standard input");
  prompt->require_option(1);
  app.add_option("--task", options.task,
                 "What an encoder-decoder does with it: a task of its own, or "
                 "translation_SOURCE_to_TARGET (what its files say)");
  app.add_option("-n,--max-tokens", sampling.max_tokens, "Tokens to generate at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--temperature", sampling.temperature, "0: the likeliest token every time")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-k", sampling.top_k, "Sample from the k likeliest; 0: from all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--top-p", sampling.top_p, "Sample from the likeliest that together reach p")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--min-p", sampling.min_p,
                 "Drop what is less likely than this share of the likeliest")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", sampling.seed, "The same seed gives the same text")
      ->capture_default_str();
  app.add_option("--stop", sampling.stop, "Text that ends the generation; may be repeated");
  app.add_flag("--ignore-eos", sampling.ignore_eos, "Go on past the model's end tokens");
}

Result<void> Generate(GenerateOptions options) {
  if (!options.prompt_file.empty()) {
    WEFT_ASSIGN_OR_RETURN(options.prompt, ReadText(options.prompt_file));
  }
  WEFT_ASSIGN_OR_RETURN(options.model.path,
                        FindModel(options.model.path, options.model.memory_bytes));
  options.model.max_sequences = 1;
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadedModel::Load(options.model));

  const Checkpoint& checkpoint = model->checkpoint();
  const bool reads_source = checkpoint.spec.encoder != nullptr;
  const auto sink = std::make_shared<PrintingSink>(
      reads_source ? checkpoint.tokenizer->leading_spaces() : LeadingSpaces());
  Request request;
  request.id = model->engine().NextId();
  if (reads_source) {
    WEFT_ASSIGN_OR_RETURN(SourceTask task, FindSourceTask(checkpoint.spec.target,
                                                          *checkpoint.tokenizer, options.task));
    WEFT_ASSIGN_OR_RETURN(request.source,
                          EncodeSource(*checkpoint.tokenizer, task, options.prompt));
    request.prompt = std::move(task.target_prefix);
  } else if (options.task.empty()) {
    WEFT_ASSIGN_OR_RETURN(request.prompt, checkpoint.tokenizer->Encode(options.prompt, {}));
  } else {
    return Fail(ErrorCode::kInvalidArgument, "--task {}: {}", options.task, kNoTasks);
  }
  request.sampling = options.sampling;
  request.sink = sink;
  WEFT_RETURN_IF_ERROR(model->engine().Submit(std::move(request)));
  const FinishEvent finished = sink->Wait();
  if (finished.reason == FinishReason::kFailed) {
    return tl::unexpected(finished.error);
  }
  return {};
}

}  // namespace

int GenerateCommand(int argc, const char* const* argv) {
  GenerateOptions options;
  options.sampling.max_tokens = 128;
  CLI::App app("Continues a prompt on stdout.", "weft generate");
  AddGenerateFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  SetLogLevel(options.log_level);
  const Result<void> generated = Generate(std::move(options));
  return generated ? 0 : FailCommand(app, generated.error());
}

}  // namespace weft
