// A model that somebody waits for to be loaded.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "proto/api_error.h"
#include "server/models/model_registry.h"

namespace weft {

// One wait, which ends with this. Used by one thread at a time; the registry outlives it.
class PendingModel {
 public:
  // Has the model loaded. `wake` is called once it is, or cannot be: by any thread, and perhaps
  // when this is gone; it must not block. Errors as ModelRegistry::Load.
  static ApiResult<PendingModel> Begin(ModelRegistry& registry, std::string_view id,
                                       std::function<void()> wake);
  // Gives up waiting, if that has not ended.
  ~PendingModel();
  PendingModel(PendingModel&&) = default;
  PendingModel(const PendingModel&) = delete;
  PendingModel& operator=(const PendingModel&) = delete;

  bool has_ended() const;
  // The model, or why there is none; before the end gives up waiting. Once. Errors as
  // ModelRegistry::Load has them for `done`, and StopWaiting.
  ApiResult<ModelLease> Take();

 private:
  struct State;
  PendingModel(ModelRegistry& registry, std::shared_ptr<State> state, ModelRegistry::Ticket ticket);

  ModelRegistry& registry_;
  std::shared_ptr<State> state_;  // with the registry's thread; nullptr: moved from, or taken
  ModelRegistry::Ticket ticket_;
};

}  // namespace weft
