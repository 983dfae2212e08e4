// A model file opened and checked, nothing computed yet: what it computes, views of its tensors,
// tokenizer and template. Both file formats end here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "model/parameters.h"
#include "model/ranking.h"
#include "model/sentence_prompts.h"
#include "model/spec.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

struct Checkpoint {
  std::string path;
  std::string format;  // for people: "GGUF v3", "safetensors"
  ModelSpec spec;
  ModelTensors tensors;  // views into `files`
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string chat_template;       // Jinja source; empty if the model brings none
  std::optional<Ranking> ranking;  // of a model that ranks
  SentencePrompts prompts;         // of an encoder
  uint64_t file_bytes = 0;
  std::vector<MappedFile> files;
};

// Opens a GGUF file (or the first of a split set) or a Hugging Face directory. Every tensor that
// the architecture needs is present with the right shape afterwards. Errors: one line naming file,
// field, value and expectation.
Result<Checkpoint> LoadCheckpoint(const std::string& path);

// The tokenizer of such a file or directory, which need hold nothing else: vocabularies come alone,
// and of models that Weft cannot compute. Its vocab_size() is a bound, not the model's.
Result<std::shared_ptr<const Tokenizer>> LoadTokenizer(const std::string& path);

}  // namespace weft
