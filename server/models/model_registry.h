// The models of a server, and who uses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/models/served_model.h"

namespace weft {

// A loaded model, which stays loaded as long as somebody holds one of these. Gone before the
// registry is.
using ModelLease = std::shared_ptr<const ServedModel>;

// Thread-safe.
class ModelRegistry {
 public:
  // Models that are loaded and never leave. Their engines outlive the registry.
  explicit ModelRegistry(std::vector<ServedModel> fixed);
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  // The model that requests mean which name none; nullptr: there is none.
  ModelLease Default() const;
  // The loaded model that requests call so; nullptr: there is none.
  ModelLease Find(std::string_view name) const;
  // All that are loaded.
  std::vector<ModelLease> Loaded() const;

  // How many more requests the queues of loaded models take together.
  int64_t queue_room() const;

  // Shuts the engines down (Engine::Shutdown).
  void Shutdown(std::chrono::steady_clock::time_point deadline);

 private:
  const std::vector<ServedModel> fixed_;
};

}  // namespace weft
