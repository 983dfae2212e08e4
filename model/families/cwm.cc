// CWM (https://arxiv.org/abs/2510.02387): Llama with windows in all layers but every fourth, the
// first one among these.
#include "model/families/decoder.h"

namespace weft {
namespace {

// The scaling of a config.json that has none.
void SetDefaultScaling(Hyperparameters& h) {
  if (h.Has({"", "rope_parameters"}) || h.Has({"", "rope_scaling"})) return;
  h.SetHfDefaults({{"rope_scaling.rope_type", std::string("llama3")},
                   {"rope_scaling.factor", 16.0},
                   {"rope_scaling.low_freq_factor", 1.0},
                   {"rope_scaling.high_freq_factor", 4.0},
                   {"rope_scaling.original_max_position_embeddings", int64_t{8192}}});
}

}  // namespace

ModelDescription DescribeCwm(Hyperparameters& h) {
  h.SetHfDefaults({{"rms_norm_eps", 1e-5},
                   {"rope_theta", 1e6},
                   {"head_dim", int64_t{128}},
                   {"num_key_value_heads", int64_t{8}},
                   {"sliding_window", int64_t{8192}}});
  SetDefaultScaling(h);
  ModelSpec spec = ReadSizes(h, "cwm");
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  std::vector<bool> sliding;
  for (int64_t i = 0; i < spec.layer_count(); ++i) sliding.push_back(i % 4 != 0);
  ReadWindows(h, sliding, spec);
  return WithParameters(h, {}, std::move(spec));
}

}  // namespace weft
