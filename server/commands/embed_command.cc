#include "server/commands/embed_command.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/commands/command_line.h"
#include "server/commands/corpus/corpus_progress.h"
#include "server/commands/corpus/embed_corpus.h"
#include "server/commands/corpus/embedding_writer.h"
#include "server/commands/corpus/output_file.h"
#include "server/commands/corpus/pooling_pipeline.h"
#include "server/commands/corpus/text_input.h"
#include "server/models/loaded_model.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

struct EmbedCommandOptions {
  ModelOptions model;
  LogLevel log_level = LogLevel::kWarning;
  TextSource source;
  EmbeddingFileFormat format = EmbeddingFileFormat::kJsonLines;
  std::string output_path;
  std::optional<Pooling> pooling;     // nullopt: the model's own
  std::optional<int64_t> dimensions;  // nullopt: all of them
  std::optional<std::string> prompt;  // nullopt: the model's own, by this name
  std::string prompt_name;
  EmbedOptions embed;
  bool is_quiet = false;
};

void AddEmbedFlags(CLI::App& app, EmbedCommandOptions& options) {
  const std::map<std::string, Pooling> poolings = {{"cls", Pooling::kFirst},
                                                   {"mean", Pooling::kMean},
                                                   {"max", Pooling::kMax},
                                                   {"last", Pooling::kLast},
                                                   {"weightedmean", Pooling::kWeightedMean}};
  AddModelFlags(app, options.model);
  AddLogFlag(app, options.log_level);
  app.add_option("FILE", options.source.paths,
                 "Files with a text a line, one file after the other; -: standard input (that)");
  app.add_option("--jsonl", options.source.json_field,
                 "Lines are JSON objects, of which the member FIELD is the text")
      ->type_name("FIELD");
  app.add_option_function<std::string>(
         "--format",
         [&options](const std::string& name) {
           options.format =
               name == "npy" ? EmbeddingFileFormat::kNpy : EmbeddingFileFormat::kJsonLines;
         },
         "jsonl: {\"index\": ..., \"embedding\": [...]} a line; npy: NumPy's array of float32, "
         "with --output")
      ->check(CLI::IsMember({"jsonl", "npy"}))
      ->default_str("jsonl");
  app.add_option("-o,--output", options.output_path,
                 "File to write, which has its name when it is whole (standard output)");
  auto* prompt = app.add_option("--prompt", options.prompt,
                                "Text before each text, as \"query: \" (the model's default)");
  app.add_option("--prompt-name", options.prompt_name,
                 "One of the model's prompts by its name, as query or document")
      ->excludes(prompt);
  app.add_option_function<std::string>(
         "--pooling",
         [&options, poolings](const std::string& name) { options.pooling = poolings.at(name); },
         "What embeddings are made of (the model's own)")
      ->check(CLI::IsMember({"cls", "mean", "max", "last", "weightedmean"}));
  app.add_option("--dimensions", options.dimensions, "How many numbers of each to keep (all)")
      ->check(CLI::PositiveNumber);
  app.add_flag_callback(
      "--no-normalize", [&options] { options.embed.normalizes = false; },
      "Embeddings as the model makes them; by default they are scaled to length 1");
  app.add_flag("--truncate", options.embed.truncates,
               "Cut texts that are longer than the context; by default they are an error");
  app.add_flag("--quiet,-q", options.is_quiet, "Nothing about progress on stderr");
}

Result<void> Embed(EmbedCommandOptions options) {
  WEFT_ASSIGN_OR_RETURN(options.model.path,
                        FindModel(options.model.path, options.model.memory_bytes));
  // Before the model, which may take minutes.
  WEFT_ASSIGN_OR_RETURN(TextInput input, TextInput::Open(std::move(options.source)));
  WEFT_ASSIGN_OR_RETURN(OutputFile output, OutputFile::Open(options.output_path));
  if (options.format == EmbeddingFileFormat::kNpy && !output.is_regular()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--format npy: its header is known at the end, so that --output must be a file");
  }
  options.model.max_waiting = kPipelinePrompts + options.model.max_sequences;
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadedModel::Load(options.model));
  const ModelSpec& spec = model->checkpoint().spec;
  if (!spec.makes(PooledOutput::kEmbedding)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: the model makes no embeddings",
                options.model.path);
  }
  WEFT_ASSIGN_OR_RETURN(const std::string_view own_prompt,
                        model->checkpoint().prompts.Find(options.prompt_name));
  options.embed.prompt = options.prompt.value_or(std::string(own_prompt));
  options.embed.pooling = options.pooling.value_or(spec.pooling);
  options.embed.dimensions = options.dimensions.value_or(spec.embedding_size());
  if (options.embed.dimensions > spec.embedding_size()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--dimensions is {}, but this model's embeddings have {}", options.embed.dimensions,
                spec.embedding_size());
  }
  EmbeddingWriter writer(output, options.format, options.embed.dimensions);
  CorpusProgress progress(options.is_quiet, input.total_bytes());
  return EmbedCorpus(options.embed, model->engine(), *model->checkpoint().tokenizer, input, writer,
                     progress);
}

}  // namespace

int EmbedCommand(int argc, const char* const* argv) {
  EmbedCommandOptions options;
  CLI::App app("Embeddings of texts: a corpus, a line a text.", "weft embed");
  AddEmbedFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  SetLogLevel(options.log_level);
  const Result<void> embedded = Embed(std::move(options));
  return embedded ? 0 : FailCommand(app, embedded.error());
}

}  // namespace weft
