// The models as one request sees them: what its name means, which does not change while it is
// prepared, and stays loaded.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "proto/api_error.h"
#include "server/models/model_registry.h"

namespace weft {

// Used by one thread at a time. The registry outlives it.
class RequestModels {
 public:
  explicit RequestModels(ModelRegistry& registry) : registry_(registry) {}

  // The model that a request means by this name, or without one: valid as long as this, or the
  // lease. Errors: 404 "model_not_found", 400 "model_required", and 503 "model_loading" of one that
  // is not loaded: needed_id() says which, and once Keep has it, the request is to be prepared
  // again.
  ApiResult<const ServedModel*> Find(const std::optional<std::string>& name);
  const std::string& needed_id() const { return needed_id_; }  // empty: none
  void Keep(ModelLease lease);

  // Whether there is a model of just this id, loaded or not.
  bool Has(std::string_view id) const { return registry_.Has(id); }
  // As Find of one that is loaded; of another what is returned has its id, and nothing else.
  ApiResult<const ServedModel*> FindIdle(const std::optional<std::string>& name);
  // What is known about it, which is no use of it. Errors: 404 "model_not_found", 400
  // "model_required".
  ApiResult<ModelStatus> Look(const std::optional<std::string>& name) const;
  // How long the model that was found is to stay after its last use; see RegistryOptions.
  void SetKeepAlive(std::chrono::milliseconds keep_alive);

  // Of the model that was found; nullptr: none was.
  const ModelLease& lease() const { return lease_; }

 private:
  ApiError Unknown(const std::optional<std::string>& name) const;

  ModelRegistry& registry_;
  ModelLease lease_;
  std::optional<std::string> name_;  // that it was found by, or is to be
  std::string needed_id_;
};

// The model that a request means, as RequestModels::Find.
ApiResult<const ServedModel*> FindModel(const std::optional<std::string>& id,
                                        RequestModels& models);
// The same for a request that generates text. Errors: besides, 400 of an encoder, and of an
// encoder-decoder where the request is none that it can read.
enum class TakesSources { kNo, kYes };
ApiResult<const ServedModel*> FindGenerator(const std::optional<std::string>& id,
                                            RequestModels& models,
                                            TakesSources takes_sources = TakesSources::kNo);

}  // namespace weft
