// What --model says, made a path.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "server/hub/hub_settings.h"
#include "server/hub/model_choice.h"

namespace weft {

// Of a path itself; of "hf:ORG/REPO..." (see hub_name.h) the model in the Hub's cache, fetched if
// it is not there, which may take as long as a download does and says on the log how far it is; of
// nothing the bundled model. `memory_bytes`: the process's limit; 0: what it may use.
Result<std::string> FindModel(const std::string& model, uint64_t memory_bytes);

// What a model may take of the process's memory (0: what it may use) where nothing else is known of
// it: the reserve is left out, and an eighth for KV cache and workspace.
ModelRoom RoomForModels(uint64_t memory_bytes);

// Of this process's environment.
Result<HubSettings> ReadHubSettings();
std::string HubUserAgent();  // "weft/VERSION"

}  // namespace weft
