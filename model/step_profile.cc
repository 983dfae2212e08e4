#include "model/step_profile.h"

namespace weft {

std::string_view NameOf(Operator of) {
  switch (of) {
    case Operator::kEmbed:
      return "embed";
    case Operator::kNorm:
      return "norm";
    case Operator::kQkv:
      return "qkv";
    case Operator::kRope:
      return "rope and kv write";
    case Operator::kAttention:
      return "attention";
    case Operator::kAttentionOutput:
      return "attention output";
    case Operator::kRouter:
      return "router";
    case Operator::kGateUp:
      return "gate, up, activation";
    case Operator::kDown:
      return "down";
    case Operator::kCombine:
      return "combine";
    case Operator::kHead:
      return "head";
  }
  return "unknown";
}

}  // namespace weft
