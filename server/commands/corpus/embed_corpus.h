// What `weft embed` does once the model is loaded.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "model/tokenizer/tokenizer.h"
#include "server/commands/corpus/corpus_progress.h"
#include "server/commands/corpus/embedding_writer.h"
#include "server/commands/corpus/text_input.h"

namespace weft {

struct EmbedOptions {
  Pooling pooling = Pooling::kLast;
  int64_t dimensions = 0;   // at most the model's
  bool normalizes = true;   // to length 1
  bool truncates = false;   // what is longer than the context; otherwise it is an error
  std::string prompt = {};  // before each text
};

// An embedding for each text, in their order, each the same as alone. Holds what is under way,
// whatever the size of the input. What is written when the input has nothing at the moment goes on
// at once. Errors name the text's place or the file that cannot be written.
Result<void> EmbedCorpus(const EmbedOptions& options, Engine& engine, const Tokenizer& tokenizer,
                         TextInput& input, EmbeddingWriter& writer, CorpusProgress& progress);

}  // namespace weft
