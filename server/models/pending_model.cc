#include "server/models/pending_model.h"

#include <mutex>
#include <optional>
#include <utility>

namespace weft {

struct PendingModel::State {
  std::mutex mutex;  // guards the result
  std::optional<ApiResult<ModelLease>> result;
};

ApiResult<PendingModel> PendingModel::Begin(ModelRegistry& registry, std::string_view id,
                                            std::function<void()> wake) {
  auto state = std::make_shared<State>();
  WEFT_ASSIGN_OR_RETURN(
      const ModelRegistry::Ticket ticket,
      registry.Load(id, [state, wake = std::move(wake)](ApiResult<ModelLease> result) {
        {
          const std::lock_guard lock(state->mutex);
          state->result = std::move(result);
        }
        wake();
      }));
  return PendingModel(registry, std::move(state), ticket);
}

PendingModel::PendingModel(ModelRegistry& registry, std::shared_ptr<State> state,
                           ModelRegistry::Ticket ticket)
    : registry_(registry), state_(std::move(state)), ticket_(ticket) {}

PendingModel::~PendingModel() {
  if (state_ != nullptr && !has_ended()) registry_.StopWaiting(ticket_);
}

bool PendingModel::has_ended() const {
  const std::lock_guard lock(state_->mutex);
  return state_->result.has_value();
}

ApiResult<ModelLease> PendingModel::Take() {
  const std::shared_ptr<State> state = std::move(state_);
  {
    const std::lock_guard lock(state->mutex);
    if (state->result) return *std::move(state->result);
  }
  return tl::unexpected(registry_.StopWaiting(ticket_));
}

}  // namespace weft
