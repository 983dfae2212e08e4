#include "server/api/request_models.h"

#include <fmt/core.h>

#include "engine/engine.h"
#include "server/api/pooling/model_kind.h"

namespace weft {
namespace {

ApiError ModelNotFound(std::string_view id, const std::vector<ModelLease>& models) {
  std::string served;
  for (const ModelLease& model : models) {
    served += fmt::format("{}'{}'", served.empty() ? "" : ", ", model->id);
    for (const std::string& alias : model->aliases) served += fmt::format(", '{}'", alias);
  }
  ApiError error;
  error.status = 404;
  error.code = "model_not_found";
  error.param = "model";
  error.message =
      fmt::format("the model '{}' does not exist; this server has {}", id.substr(0, 200), served);
  return error;
}

}  // namespace

ApiResult<const ServedModel*> RequestModels::Find(const std::optional<std::string>& name) {
  lease_ = name ? registry_.Find(*name) : registry_.Default();
  if (lease_ == nullptr) {
    return tl::unexpected(ModelNotFound(name.value_or(""), registry_.Loaded()));
  }
  return lease_.get();
}

bool RequestModels::Has(std::string_view name) const {
  const ModelLease model = registry_.Find(name);
  return model != nullptr && model->id == name;
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
