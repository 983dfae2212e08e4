// A model as its registry keeps it. For the registry alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/models/model_registry.h"

namespace weft {

struct ModelRegistry::Entry {
  DiskModel disk;
  bool is_on_disk = true;
  ModelState state = ModelState::kUnloaded;
  std::unique_ptr<RunningModel> running;  // kLoaded and kLeaving
  bool is_asked_to_leave = false;         // otherwise one that leaves makes room
  int64_t lease_count = 0;
  int64_t use_count = 0;  // of the leases that are no mere look
  std::optional<Clock::time_point> last_used;
  std::chrono::milliseconds keep_alive{0};
  std::vector<Waiter> waiters;
  std::optional<uint64_t> least_bytes;  // once its files have been open
  std::string failure;
  std::optional<int64_t> failed_stamp;  // StampOfModel then, if another try would give the same

  std::optional<Clock::time_point> expiry() const {
    if (running == nullptr || use_count > 0 || keep_alive.count() < 0) return std::nullopt;
    return *last_used + keep_alive;
  }
};

// 500 "model_not_loadable".
ApiError NotLoadable(std::string_view id, std::string_view reason);

}  // namespace weft
