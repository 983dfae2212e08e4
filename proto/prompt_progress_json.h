// How far a prompt is, as llama-server has it. Include from .cc files only.
#pragma once

#include <nlohmann/json.hpp>

#include "proto/prompt_progress.h"

namespace weft {

// {"total","cache","processed","time_ms"}
inline nlohmann::ordered_json ProgressJson(const PromptProgressNumbers& progress) {
  return {{"total", progress.total},
          {"cache", progress.cached},
          {"processed", progress.processed},
          {"time_ms", progress.time_ms}};
}

}  // namespace weft
