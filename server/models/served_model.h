// What the server needs to know of a model that it serves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ranking.h"
#include "model/sentence_prompts.h"
#include "model/source_task.h"
#include "model/spec.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

class ChatFormat;
class Engine;
class StructuredOutput;

// What the APIs of Ollama and llama-server tell of a model.
struct ModelFacts {
  std::string path;          // of the file or folder
  std::string architecture;  // the family's name: "llama"
  std::string file_format;   // "gguf" or "safetensors"
  std::string weight_type;   // in which most parameters are stored: "Q4_K"
  int64_t parameter_count = 0;
  uint64_t file_bytes = 0;
  int64_t layer_count = 0;
};

struct ServedModel {
  std::string id;                         // what requests call it, and answers
  std::vector<std::string> aliases = {};  // what else requests may call it
  bool takes_any_name = false;            // requests for names that no model has mean this one
  std::string fingerprint = {};  // "fp_...", of all that its answers depend on besides the request
  int64_t created = 0;           // seconds since 1970
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatFormat> chat;        // nullptr: its chat template does not compile
  std::shared_ptr<StructuredOutput> structured;  // constraints on its texts
  // An encoder-decoder's: how its texts begin, and what it does with a prompt unless the request
  // says.
  TargetSpec target = {};
  SourceTask task = {};
  int64_t embedding_size = 0;           // numbers of an embedding
  Pooling pooling = Pooling::kLast;     // of embeddings, unless the request says
  SentencePrompts prompts = {};         // what may stand before a text that is embedded
  std::optional<Ranking> ranking = {};  // of a model that ranks
  std::optional<ClassifierSpec> classifier = {};
  ModelFacts facts = {};
  bool makes_sparse = false;  // PooledOutput::kSparse
  Engine* engine = nullptr;   // outlives the server

  bool IsCalled(std::string_view name) const {
    return name == id || std::ranges::find(aliases, name) != aliases.end();
  }
};

}  // namespace weft
