// Every architecture that Weft knows, in one table. Adding one is adding a row and, at most, a
// small function.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "model/config.h"

namespace weft {

// What a family fixes and its files leave unsaid. Sizes and numbers are the file's:
// formats/config_gguf.cc, formats/config_hf.cc.
struct Architecture {
  std::string_view name;      // ModelConfig::architecture
  std::string_view gguf;      // general.architecture of a GGUF file
  std::string_view hf_type;   // model_type of a config.json
  std::string_view hf_class;  // architectures[0] of a config.json
  RopePairing gguf_pairing;   // a Hugging Face directory always has kHalves
  bool qkv_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  bool is_moe = false;
  // Whether the chosen experts' weights are divided by their sum: in GGUF files, and in a
  // config.json without norm_topk_prob.
  bool gguf_renormalizes = false;
  bool hf_renormalizes = false;
  // Whether config.json's sliding_window counts only beside "use_sliding_window": true.
  bool hf_window_needs_switch = false;
  double hf_rope_base = 10000.0;  // if config.json has no rope_theta
  int64_t hf_sliding_window = 0;  // if config.json has no sliding_window
  NormKind norm = NormKind::kRms;
};

std::span<const Architecture> Architectures();

// By general.architecture; one GGUF name may stand for a dense and a MoE family. Unknown: an error
// that lists the known ones.
Result<const Architecture*> FindGgufArchitecture(std::string_view name, bool is_moe);
// By class ("LlamaForCausalLM") or, if the file has none, by model_type.
Result<const Architecture*> FindHfArchitecture(std::string_view hf_class, std::string_view hf_type);

}  // namespace weft
