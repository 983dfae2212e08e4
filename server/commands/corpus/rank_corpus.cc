#include "server/commands/corpus/rank_corpus.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "proto/json_dump.h"
#include "server/commands/corpus/pooling_pipeline.h"

namespace weft {
namespace {

struct ScoredDocument {
  size_t index = 0;
  double score = 0;
};

Result<EncodedText> EncodeRanked(const RankOptions& options, const Ranker& ranker,
                                 const InputText& query, const InputText& document) {
  const int64_t context = ranker.engine.options().max_context;
  Truncation truncation;
  if (options.truncates) truncation.max_tokens = context;
  RankingTexts texts = {.query = query.text, .document = document.text};
  if (options.instruction) texts.instruction = *options.instruction;
  Result<EncodedText> encoded = EncodeRanking(ranker.ranking, ranker.tokenizer, texts, truncation);
  if (!encoded) return FailAt(document.place, encoded.error());
  if (std::ssize(encoded->ids) <= context) return encoded;
  return Fail(ErrorCode::kInvalidArgument,
              "{}: query and document have {} tokens, but there are {} positions; --truncate cuts "
              "them",
              document.place, encoded->ids.size(), context);
}

// What is written of a query.
std::string LinesOf(const RankOptions& options, size_t query, std::vector<ScoredDocument> scored,
                    const std::vector<InputText>& documents) {
  std::sort(scored.begin(), scored.end(), [](const ScoredDocument& a, const ScoredDocument& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
  if (std::ssize(scored) > options.top_count) scored.resize(static_cast<size_t>(options.top_count));
  std::string lines;
  const auto out = std::back_inserter(lines);
  for (const ScoredDocument& each : scored) {
    lines += '{';
    if (options.shows_queries) fmt::format_to(out, R"("query":{},)", query);
    fmt::format_to(out, R"("index":{},"score":{})", each.index, each.score);
    if (options.shows_documents) {
      fmt::format_to(out, R"(,"document":{})",
                     DumpJson(nlohmann::json(documents[each.index].text)));
    }
    lines += "}\n";
  }
  return lines;
}

}  // namespace

Result<void> RankCorpus(const RankOptions& options, const Ranker& ranker,
                        const std::vector<InputText>& queries,
                        const std::vector<InputText>& documents, OutputFile& output,
                        CorpusProgress& progress) {
  PoolingPipeline pipeline(ranker.engine, ranker.params);
  std::deque<int64_t> dropped_counts;  // of the pairs under way
  CorpusCounts counts;
  const size_t pair_count = queries.size() * documents.size();
  size_t next = 0;  // pair: query by query
  std::vector<ScoredDocument> scored;
  for (size_t done = 0; done < pair_count; ++done) {
    for (; next < pair_count && pipeline.has_room(); ++next) {
      const InputText& document = documents[next % documents.size()];
      WEFT_ASSIGN_OR_RETURN(
          EncodedText encoded,
          EncodeRanked(options, ranker, queries[next / documents.size()], document));
      dropped_counts.push_back(encoded.dropped_count);
      const Result<void> submitted = pipeline.Submit(std::move(encoded));
      if (!submitted) return FailAt(document.place, submitted.error());
    }
    const size_t index = done % documents.size();
    const Result<PooledPrompt> pooled = pipeline.Next();
    if (!pooled) return FailAt(documents[index].place, pooled.error());
    const std::vector<float>& values = pooled->result.values;
    scored.push_back({.index = index,
                      .score = options.raw_scores ? RankingLogit(values)
                                                  : RankingScore(ranker.ranking, values)});
    counts.Add(pooled->token_count, dropped_counts.front());
    counts.done = done + 1;
    dropped_counts.pop_front();
    progress.Show(counts);
    if (index + 1 < documents.size()) continue;
    WEFT_RETURN_IF_ERROR(output.Write(
        LinesOf(options, done / documents.size(), std::exchange(scored, {}), documents)));
  }
  WEFT_RETURN_IF_ERROR(output.Commit());
  progress.Finish(counts);
  return {};
}

}  // namespace weft
