#include "server/commands/corpus/embed_corpus.h"

#include <deque>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "server/api/embeddings/embedding_answer.h"
#include "server/commands/corpus/pooling_pipeline.h"

namespace weft {
namespace {

// A text that the engine has.
struct EmbeddedText {
  std::string place;
  int64_t dropped_count = 0;
  uint64_t end_bytes = 0;  // of the input
};

Result<EncodedText> EncodeFor(const EmbedOptions& options, const Tokenizer& tokenizer,
                              const InputText& input, int64_t context) {
  Truncation truncation;
  if (options.truncates) truncation.max_tokens = context;
  Result<EncodedText> encoded =
      tokenizer.EncodeTruncated(options.prompt + input.text, {}, truncation);
  if (!encoded) return FailAt(input.place, encoded.error());
  if (encoded->ids.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: the text is empty, and this model has no token that begins one", input.place);
  }
  if (std::ssize(encoded->ids) > context) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: the text has {} tokens, but there are {} positions; --truncate cuts it",
                input.place, encoded->ids.size(), context);
  }
  return encoded;
}

std::vector<float> EmbeddingOf(const EmbedOptions& options, std::vector<float> pooled) {
  if (options.normalizes) return NormalizedEmbedding(pooled, options.dimensions);
  pooled.resize(static_cast<size_t>(options.dimensions));
  return pooled;
}

}  // namespace

Result<void> EmbedCorpus(const EmbedOptions& options, Engine& engine, const Tokenizer& tokenizer,
                         TextInput& input, EmbeddingWriter& writer, CorpusProgress& progress) {
  const int64_t context = engine.options().max_context;
  PoolingPipeline pipeline(engine,
                           {.output = PooledOutput::kEmbedding, .pooling = options.pooling});
  std::deque<EmbeddedText> under_way;
  CorpusCounts counts;
  bool has_ended = false;
  while (true) {
    const bool would_wait = !has_ended && input.WouldWait();
    if (would_wait && pipeline.is_empty()) WEFT_RETURN_IF_ERROR(writer.Flush());
    if (!has_ended && pipeline.has_room() && (!would_wait || pipeline.is_empty())) {
      WEFT_ASSIGN_OR_RETURN(const std::optional<InputText> text, input.Next());
      has_ended = !text;
      if (has_ended) continue;
      WEFT_ASSIGN_OR_RETURN(EncodedText encoded, EncodeFor(options, tokenizer, *text, context));
      under_way.push_back({.place = text->place,
                           .dropped_count = encoded.dropped_count,
                           .end_bytes = input.read_bytes()});
      const Result<void> submitted = pipeline.Submit(std::move(encoded));
      if (!submitted) return FailAt(text->place, submitted.error());
      continue;
    }
    if (pipeline.is_empty()) break;
    Result<PooledPrompt> pooled = pipeline.Next();
    const EmbeddedText& text = under_way.front();
    if (!pooled) return FailAt(text.place, pooled.error());
    counts.Add(pooled->token_count, text.dropped_count);
    counts.done = text.end_bytes;
    under_way.pop_front();
    WEFT_RETURN_IF_ERROR(writer.Write(EmbeddingOf(options, std::move(pooled->result.values))));
    progress.Show(counts);
  }
  WEFT_RETURN_IF_ERROR(writer.Finish());
  progress.Finish(counts);
  return {};
}

}  // namespace weft
