// A model by its name: found in the cache or fetched from the Hub.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "server/hub/hub_name.h"
#include "server/hub/hub_settings.h"
#include "server/hub/model_choice.h"

namespace weft {

struct PullOptions {
  HubSettings settings;
  std::string user_agent;  // "weft/VERSION"
  ModelRoom room;
  bool has_bar = false;                         // stderr is a terminal
  std::function<void(const std::string&)> say;  // a line for people
};

// The path of the model: a GGUF file or a directory, in the cache. Asks the Hub for the newest
// revision, unless the revision is a commit and all of the model is there. Offline, or where the
// Hub cannot be reached, the cache has the word. Errors name the model.
Result<std::string> PullModel(const HubName& name, const PullOptions& options);

}  // namespace weft
