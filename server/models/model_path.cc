#include "server/models/model_path.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "base/log.h"
#include "base/resources.h"
#include "server/hub/hub_name.h"
#include "server/hub/pull.h"
#include "server/models/bundled_model.h"
#include "server/models/memory_reserve.h"
#include "server/version.h"

namespace weft {

Result<std::string> FindModel(const std::string& model, uint64_t memory_bytes) {
  if (model.empty()) return FindBundledModel();
  if (!IsHubName(model)) return model;
  WEFT_ASSIGN_OR_RETURN(const HubName name, ParseHubName(model));
  PullOptions options;
  WEFT_ASSIGN_OR_RETURN(options.settings, ReadHubSettings());
  options.user_agent = HubUserAgent();
  options.room = RoomForModels(memory_bytes);
  options.say = [](const std::string& line) { LogLine(LogLevel::kInfo, line); };
  return PullModel(name, options);
}

ModelRoom RoomForModels(uint64_t memory_bytes) {
  ModelRoom room;
  room.memory = memory_bytes > 0 ? memory_bytes : AvailableMemoryBytes();
  const uint64_t reserve_bytes = ReserveOf(room.memory, 0).bytes();
  room.weights = (room.memory - std::min(room.memory, reserve_bytes)) / 8 * 7;
  return room;
}

Result<HubSettings> ReadHubSettings() {
  return ReadHubSettings([](const char* name) { return std::getenv(name); });
}

std::string HubUserAgent() { return fmt::format("weft/{}", Version()); }

}  // namespace weft
