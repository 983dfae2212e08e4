// A model file opened and checked, nothing computed yet: configuration, views of its tensors,
// tokenizer and template. Both file formats end here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "model/config.h"
#include "model/tensor.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// Shapes are (rows = outputs, columns = inputs). D hidden size, H heads, G kv heads, h head_dim, F
// feed-forward length, E experts, V vocabulary. Absent optional tensors have data == nullptr.
struct LayerTensors {
  TensorView attention_norm;                    // (D)
  TensorView query, key, value;                 // (H*h, D) (G*h, D) (G*h, D)
  TensorView query_bias, key_bias, value_bias;  // (H*h) (G*h) (G*h), optional
  TensorView query_norm, key_norm;              // (h) (h) or (H*h) (G*h), optional
  TensorView attention_output;                  // (D, H*h)
  TensorView mlp_norm;                          // (D)
  TensorView gate, up, down;                    // dense: (F, D) (F, D) (D, F)
  TensorView router;                            // MoE: (E, D)
  std::vector<TensorView> expert_gate, expert_up,
      expert_down;  // MoE: E matrices each, as the dense ones
};

struct ModelTensors {
  TensorView token_embedding;  // (V, D)
  TensorView output_norm;      // (D)
  TensorView output_head;      // (V, D); absent if tied to token_embedding
  std::vector<LayerTensors> layers;
};

struct Checkpoint {
  std::string path;
  std::string format;  // for people: "GGUF v3", "safetensors"
  ModelConfig config;
  ModelTensors tensors;  // views into `files` (or `owned`)
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string chat_template;  // Jinja source; empty if the model brings none
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
