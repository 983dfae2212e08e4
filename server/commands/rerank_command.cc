#include "server/commands/rerank_command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/ranking_files.h"
#include "server/commands/command_line.h"
#include "server/commands/corpus/pooling_pipeline.h"
#include "server/commands/corpus/rank_corpus.h"
#include "server/models/loaded_model.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

struct RerankCommandOptions {
  ModelOptions model;
  LogLevel log_level = LogLevel::kWarning;
  std::string query;
  std::string queries_path;
  TextSource source;
  std::string output_path;
  std::string task;
  RankOptions rank;
  bool is_quiet = false;
};

void AddRerankFlags(CLI::App& app, RerankCommandOptions& options) {
  AddModelFlags(app, options.model);
  AddLogFlag(app, options.log_level);
  auto* query = app.add_option_group("query", "What documents are ranked for; exactly one of");
  query->add_option("--query", options.query, "Text");
  query->add_option("--queries", options.queries_path, "File with a query a line");
  query->require_option(1);
  app.add_option("FILE", options.source.paths,
                 "Files with a document a line, one file after the other; -: standard input "
                 "(that)");
  app.add_option("--jsonl", options.source.json_field,
                 "Lines of documents are JSON objects, of which the member FIELD is the text")
      ->type_name("FIELD");
  app.add_option("-o,--output", options.output_path,
                 "File to write, which has its name when it is whole (standard output)");
  app.add_option("--top-n", options.rank.top_count, "How many documents of each query (all)")
      ->check(CLI::PositiveNumber);
  app.add_option("--instruction", options.rank.instruction,
                 "What makes a document relevant, for models that are told (the model's own)");
  app.add_option("--task", options.task,
                 "rerank: a decoder ranks as Qwen3-Reranker or mxbai-rerank v2, where its files do "
                 "not say so")
      ->check(CLI::IsMember({std::string(kRankTask)}));
  app.add_flag("--raw-scores", options.rank.raw_scores,
               "Logits, also of models whose scores are probabilities");
  app.add_flag("--with-documents", options.rank.shows_documents, "The documents' texts, too");
  app.add_flag("--truncate", options.rank.truncates,
               "Cut texts that are longer than the context; by default they are an error");
  app.add_flag("--quiet,-q", options.is_quiet, "Nothing about progress on stderr");
}

Result<std::vector<InputText>> ReadAll(TextSource source) {
  WEFT_ASSIGN_OR_RETURN(TextInput input, TextInput::Open(std::move(source)));
  std::vector<InputText> texts;
  while (true) {
    WEFT_ASSIGN_OR_RETURN(std::optional<InputText> text, input.Next());
    if (!text) return texts;
    texts.push_back(*std::move(text));
  }
}

Result<void> Rerank(RerankCommandOptions options) {
  WEFT_ASSIGN_OR_RETURN(options.model.path,
                        FindModel(options.model.path, options.model.memory_bytes));
  // Before the model, which may take minutes.
  std::vector<InputText> queries = {{.text = options.query, .place = "--query"}};
  options.rank.shows_queries = !options.queries_path.empty();
  if (options.rank.shows_queries) {
    WEFT_ASSIGN_OR_RETURN(queries, ReadAll({.paths = {options.queries_path}}));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<InputText> documents, ReadAll(std::move(options.source)));
  WEFT_ASSIGN_OR_RETURN(OutputFile output, OutputFile::Open(options.output_path));
  options.model.max_waiting = kPipelinePrompts + options.model.max_sequences;
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadedModel::Load(options.model));
  const Checkpoint& checkpoint = model->checkpoint();
  WEFT_ASSIGN_OR_RETURN(const std::optional<Ranking> ranking, RankingFor(checkpoint, options.task));
  if (!ranking) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: the model does not rank: it has neither a classifier of one label nor a "
                "ranker's prompt (Qwen3-Reranker and mxbai-rerank v2 want --task rerank)",
                options.model.path);
  }
  if (options.rank.instruction && !ranking->prompt) {
    return Fail(ErrorCode::kInvalidArgument,
                "--instruction: this model reads a query and a document, and nothing else");
  }
  PoolingParams params = {.output = ranking->output, .tokens = ranking->tokens};
  if (checkpoint.spec.classifier) params.pooling = checkpoint.spec.classifier->pooling;
  CorpusProgress progress(options.is_quiet, queries.size() * documents.size());
  return RankCorpus(options.rank,
                    {.ranking = *ranking,
                     .params = std::move(params),
                     .tokenizer = *checkpoint.tokenizer,
                     .engine = model->engine()},
                    queries, documents, output, progress);
}

}  // namespace

int RerankCommand(int argc, const char* const* argv) {
  RerankCommandOptions options;
  CLI::App app("Documents in the order of how relevant they are to a query.", "weft rerank");
  AddRerankFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  SetLogLevel(options.log_level);
  const Result<void> ranked = Rerank(std::move(options));
  return ranked ? 0 : FailCommand(app, ranked.error());
}

}  // namespace weft
