// Which files of a repository are the model that a name means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/hub/hub_file.h"
#include "server/hub/hub_name.h"

namespace weft {

struct ModelFiles {
  bool is_gguf = false;   // otherwise a directory of safetensors
  std::string label;      // of GGUF the quantisation, "Q4_K_M"; empty: the name has none
  std::string main_path;  // of GGUF: the file to load, the first of its set
  std::vector<HubFile> files;
  std::string reason = {};  // why this one, where several were there; for people

  uint64_t bytes() const;
};

// What a model may take, in bytes.
struct ModelRoom {
  uint64_t memory = 0;     // the process
  uint64_t weights = 0;    // of it, the weights
  bool is_forced = false;  // what does not fit, or cannot be loaded as far as its name says, is
                           // taken all the same
};

// The quantisation that a GGUF file's name says, in capitals: "Q4_K_M" for
// "models/a-q4_k_m-00001-of-00002.gguf", F16 for "a.fp16.gguf"; nullopt: it says none.
std::optional<std::string> QuantisationOf(std::string_view path);
// Whether files of that quantisation hold only types of weights that Weft has, as far as the name
// tells.
bool IsLoadable(std::string_view quantisation);

// The GGUF models among the files, whole sets only, in the order of their paths. What goes beside a
// model and is none (mmproj, imatrix) is left out.
std::vector<ModelFiles> GgufModelsOf(std::span<const HubFile> files);
// The directory that the files come to: weights in safetensors, JSON, tokenizer, templates, the
// modules of sentence-transformers. nullopt: there is no config.json or no whole set of weights.
std::optional<ModelFiles> SafetensorsModelOf(std::span<const HubFile> files);

// The model that the name means. Without a selector a repository that has safetensors means these,
// one with GGUF files alone the quantisation that serves best of those that fit. Errors list the
// quantisations that there are.
Result<ModelFiles> ChooseModel(const HubName& name, std::span<const HubFile> files,
                               const ModelRoom& room);

}  // namespace weft
