// What /v1/models and /v1/models/{id} answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ModelCard {
  std::string id;
  int64_t created = 0;                      // seconds since 1970
  std::optional<int64_t> max_context = {};  // positions, prompt and output; of one that is loaded
  std::string status = {};                  // "unloaded", "loading", "loaded" or "failed"
  std::string failure = {};                 // why it failed
  // What the others say nothing of.
  struct Memory {
    uint64_t weight_bytes = 0;
    uint64_t kv_bytes = 0;
    uint64_t workspace_bytes = 0;
  };
  std::string kind = {};  // "GGUF Q4_K_M"; empty: not known
  uint64_t file_bytes = 0;
  bool fits = true;                        // as far as that is known, in the memory for models
  std::optional<Memory> memory = {};       // of one that is loaded
  std::optional<int64_t> last_used = {};   // seconds since 1970; nullopt: never, or it stays
  std::optional<int64_t> expires_at = {};  // nullopt: it is in use, stays or is not loaded
};

std::string ToJson(const ModelCard& model);
std::string ToJson(const std::vector<ModelCard>& models);

// The same for Anthropic's clients.
std::string ToAnthropicJson(const ModelCard& model);
std::string ToAnthropicJson(const std::vector<ModelCard>& models);

}  // namespace weft
