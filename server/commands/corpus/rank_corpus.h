// What `weft rerank` does once the model is loaded.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "model/ranking.h"
#include "model/tokenizer/tokenizer.h"
#include "server/commands/corpus/corpus_progress.h"
#include "server/commands/corpus/output_file.h"
#include "server/commands/corpus/text_input.h"

namespace weft {

struct RankOptions {
  int64_t top_count = std::numeric_limits<int64_t>::max();  // of each query's documents
  std::optional<std::string> instruction = {};              // only with a RankingPrompt
  bool raw_scores = false;                                  // logits, whatever the scores are
  bool truncates = false;  // what is longer than the context; otherwise it is an error
  bool shows_documents = false;
  bool shows_queries = false;  // their numbers
};

// How a model ranks, and what does it.
struct Ranker {
  const Ranking& ranking;
  PoolingParams params;
  const Tokenizer& tokenizer;
  Engine& engine;
};

// For each query a line a document, {"index":0,"score":0.5}, the highest score first, equal ones
// in their order; the score is that of the two texts alone. A query's lines come when its last
// document is scored. Errors name the text's place or the file that cannot be written.
Result<void> RankCorpus(const RankOptions& options, const Ranker& ranker,
                        const std::vector<InputText>& queries,
                        const std::vector<InputText>& documents, OutputFile& output,
                        CorpusProgress& progress);

}  // namespace weft
