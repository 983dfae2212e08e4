// The families of models that Weft computes. A family is one file here, which turns hyperparameters
// into what the model computes (ModelSpec) and what it is made of (ParameterList), and its rows in
// families.cc; nothing else knows it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/formats/gguf.h"
#include "model/hyperparameters.h"
#include "model/parameters.h"
#include "model/spec.h"

namespace weft {

// What an encoder was trained with, to guess masked tokens, by its names in transformers, without
// ".weight" and ".bias".
struct MaskedHead {
  std::string_view dense;
  std::string_view norm;
  std::string_view decoder;    // its weights may be the embedding's
  std::string_view bias = {};  // the decoder's, whole, where it has a name of its own
  ActivationKind activation = ActivationKind::kGeluExact;
  NormSpec norm_spec = {};
  bool has_dense_bias = true;
  bool has_norm_bias = true;
  bool has_decoder_bias = true;
  bool is_tied = true;
};

struct ModelDescription {
  ModelSpec spec;
  ParameterList parameters;
  bool is_text_tower = false;  // of a checkpoint that has others, too: TextTowerOf(its tensors)
  std::optional<MaskedHead> masked_head = {};  // that a checkpoint may have; see AddMaskedHead
  std::vector<TokenId> ranking_tokens = {};    // of a decoder that ranks: Ranking::tokens
};

// One name under which checkpoints of a family go.
struct Family {
  std::string_view gguf;      // general.architecture; empty: no such GGUF files
  std::string_view hf_class;  // architectures[0] of a config.json
  std::string_view hf_type;   // model_type of a config.json
  // What cannot be is left to CheckDescription where it is not about one key.
  ModelDescription (*describe)(Hyperparameters& hyperparameters);
};

std::span<const Family> Families();

// The description of a GGUF file, by general.architecture. Errors name file, key, value and
// expectation; so they do for a key that changes the computation and that the family does not know.
Result<ModelDescription> DescribeGguf(const GgufFile& file);

// That of a Hugging Face directory: `values` are its config.json's, the family found by class
// ("LlamaForCausalLM") or, if the file has none, by model_type. Of a model for images and text the
// text is described, by the model_type in its text_config. `path` is for messages.
Result<ModelDescription> DescribeHf(ConfigValues values, const std::string& path);

// Makes the encoder's head for masked tokens, which is left out otherwise, a part of the model,
// and of its logits sparse vectors. description.masked_head is there.
void AddMaskedHead(const SparseSpec& sparse, ModelDescription& description);

}  // namespace weft
