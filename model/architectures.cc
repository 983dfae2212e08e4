#include "model/architectures.h"

#include <string>

#include "base/quoted.h"

namespace weft {
namespace {

constexpr RopePairing kNeighbours = RopePairing::kNeighbours;
constexpr RopePairing kHalves = RopePairing::kHalves;

// GGUF gives Mistral and Mixtral Llama's name: the first dense (or MoE) row of a name is the one.
constexpr Architecture kArchitectures[] = {
    {.name = "llama",
     .gguf = "llama",
     .hf_type = "llama",
     .hf_class = "LlamaForCausalLM",
     .gguf_pairing = kNeighbours},
    {.name = "mistral",
     .gguf = "llama",
     .hf_type = "mistral",
     .hf_class = "MistralForCausalLM",
     .gguf_pairing = kNeighbours,
     .hf_sliding_window = 4096},
    {.name = "mixtral",
     .gguf = "llama",
     .hf_type = "mixtral",
     .hf_class = "MixtralForCausalLM",
     .gguf_pairing = kNeighbours,
     .is_moe = true,
     .gguf_renormalizes = true,
     .hf_renormalizes = true,
     .hf_rope_base = 1000000.0},
    {.name = "qwen2",
     .gguf = "qwen2",
     .hf_type = "qwen2",
     .hf_class = "Qwen2ForCausalLM",
     .gguf_pairing = kHalves,
     .qkv_bias = true,
     .hf_window_needs_switch = true},
    {.name = "qwen3",
     .gguf = "qwen3",
     .hf_type = "qwen3",
     .hf_class = "Qwen3ForCausalLM",
     .gguf_pairing = kHalves,
     .qk_norm = QkNorm::kPerHead,
     .hf_window_needs_switch = true},
    {.name = "qwen3moe",
     .gguf = "qwen3moe",
     .hf_type = "qwen3_moe",
     .hf_class = "Qwen3MoeForCausalLM",
     .gguf_pairing = kHalves,
     .qk_norm = QkNorm::kPerHead,
     .is_moe = true,
     .gguf_renormalizes = true,
     .hf_window_needs_switch = true},
    {.name = "olmoe",
     .gguf = "olmoe",
     .hf_type = "olmoe",
     .hf_class = "OlmoeForCausalLM",
     .gguf_pairing = kHalves,
     .qk_norm = QkNorm::kFullWidth,
     .is_moe = true},
};

// The table's names of one kind, each once (equal ones are neighbours).
std::string KnownNames(std::string_view Architecture::*kind) {
  std::string names;
  std::string_view previous;
  for (const Architecture& architecture : kArchitectures) {
    const std::string_view name = architecture.*kind;
    if (name != previous) names.append(names.empty() ? "" : ", ").append(name);
    previous = name;
  }
  return names;
}

}  // namespace

std::span<const Architecture> Architectures() { return kArchitectures; }

Result<const Architecture*> FindGgufArchitecture(std::string_view name, bool is_moe) {
  bool known = false;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.gguf != name) continue;
    if (architecture.is_moe == is_moe) return &architecture;
    known = true;
  }
  if (known) {
    return Fail(ErrorCode::kUnsupported, "architecture {} {} experts is not supported",
                Quoted(name), is_moe ? "with" : "without");
  }
  return Fail(ErrorCode::kUnsupported, "general.architecture {} is not supported; known are {}",
              Quoted(name), KnownNames(&Architecture::gguf));
}

Result<const Architecture*> FindHfArchitecture(std::string_view hf_class,
                                               std::string_view hf_type) {
  for (const Architecture& architecture : kArchitectures) {
    const bool matches =
        hf_class.empty() ? architecture.hf_type == hf_type : architecture.hf_class == hf_class;
    if (matches) return &architecture;
  }
  return Fail(
      ErrorCode::kUnsupported, "{} is not supported; known are {}",
      hf_class.empty() ? "model_type " + Quoted(hf_type) : "architecture " + Quoted(hf_class),
      KnownNames(&Architecture::hf_class));
}

}  // namespace weft
