#include "server/api/request_models.h"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "engine/engine.h"
#include "server/api/pooling/model_kind.h"

namespace weft {
namespace {

constexpr size_t kMaxNamesInError = 32;

// "'a', 'b', ...", the names of all models that there are.
std::string NamesOf(const std::vector<ModelStatus>& models) {
  std::string names;
  size_t count = 0;
  const auto add = [&](const std::string& name) {
    if (++count > kMaxNamesInError) return;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  };
  for (const ModelStatus& model : models) {
    add(model.id);
    for (const std::string& alias : model.aliases) add(alias);
  }
  if (count > kMaxNamesInError) names += " and more";
  return count == 0 ? "none" : names;
}

}  // namespace

ApiError RequestModels::Unknown(const std::optional<std::string>& name) const {
  const std::string names = NamesOf(registry_.List());
  ApiError error;
  error.param = "model";
  if (name) {
    error.status = 404;
    error.code = "model_not_found";
    error.message = fmt::format("the model '{}' does not exist; this server has {}",
                                name->substr(0, 200), names);
  } else {
    error.code = "model_required";
    error.message =
        fmt::format("no model is loaded: 'model' must name one; this server has {}", names);
  }
  return error;
}

ApiResult<const ServedModel*> RequestModels::Find(const std::optional<std::string>& name) {
  if (lease_ != nullptr && name_ == name) return lease_.get();
  ModelRegistry::Found found = registry_.Find(name);
  lease_ = std::move(found.lease);
  name_ = name;
  needed_id_ = std::move(found.needs_id);
  if (lease_ != nullptr) return lease_.get();
  if (needed_id_.empty()) return tl::unexpected(Unknown(name));
  return tl::unexpected(HttpError(
      503, "model_loading", fmt::format("the model '{}' is not loaded; try again", needed_id_)));
}

void RequestModels::Keep(ModelLease lease) {
  lease_ = std::move(lease);
  needed_id_.clear();
}

ApiResult<const ServedModel*> RequestModels::FindIdle(const std::optional<std::string>& name) {
  const ApiResult<const ServedModel*> found = Find(name);
  if (found || needed_id_.empty()) return found;
  const auto named = std::make_shared<ServedModel>();
  named->id = needed_id_;
  Keep(named);
  return lease_.get();
}

ApiResult<ModelStatus> RequestModels::Look(const std::optional<std::string>& name) const {
  std::optional<ModelStatus> status = registry_.Look(name);
  if (!status) return tl::unexpected(Unknown(name));
  return *std::move(status);
}

void RequestModels::SetKeepAlive(std::chrono::milliseconds keep_alive) {
  registry_.SetKeepAlive(lease_->id, keep_alive);
}

ApiResult<const ServedModel*> FindModel(const std::optional<std::string>& id,
                                        RequestModels& models) {
  return models.Find(id);
}

ApiResult<const ServedModel*> FindGenerator(const std::optional<std::string>& id,
                                            RequestModels& models, TakesSources takes_sources) {
  ApiResult<const ServedModel*> model = FindModel(id, models);
  if (!model) return model;
  const EngineOptions& engine = (*model)->engine->options();
  if (engine.is_encoder) {
    return tl::unexpected(NotServedBy(**model, "generates no text"));
  }
  if (engine.reads_sources && takes_sources == TakesSources::kNo) {
    return tl::unexpected(NotServedBy(**model, "holds no conversations"));
  }
  return model;
}

}  // namespace weft
