#include "server/models/model_registry.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace weft {
namespace {

// Of one that never leaves: nobody counts them.
ModelLease LeaseOfFixed(const ServedModel& model) { return ModelLease(ModelLease(), &model); }

}  // namespace

ModelRegistry::ModelRegistry(std::vector<ServedModel> fixed) : fixed_(std::move(fixed)) {}

ModelLease ModelRegistry::Default() const {
  return fixed_.empty() ? nullptr : LeaseOfFixed(fixed_.front());
}

ModelLease ModelRegistry::Find(std::string_view name) const {
  auto found =
      std::ranges::find_if(fixed_, [&](const ServedModel& model) { return model.IsCalled(name); });
  if (found == fixed_.end()) found = std::ranges::find_if(fixed_, &ServedModel::takes_any_name);
  return found == fixed_.end() ? nullptr : LeaseOfFixed(*found);
}

std::vector<ModelLease> ModelRegistry::Loaded() const {
  std::vector<ModelLease> leases;
  for (const ServedModel& model : fixed_) leases.push_back(LeaseOfFixed(model));
  return leases;
}

int64_t ModelRegistry::queue_room() const {
  int64_t room = 0;
  for (const ServedModel& model : fixed_) room += model.engine->queue_room();
  return room;
}

void ModelRegistry::Shutdown(std::chrono::steady_clock::time_point deadline) {
  for (const ServedModel& model : fixed_) model.engine->Shutdown(deadline);
}

}  // namespace weft
