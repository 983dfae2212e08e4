// The models as one request sees them: what its name means, which does not change while it is
// prepared, and stays loaded.
#pragma once

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

  // The model that a request means by this name, or without one: valid as long as this, or a lease
  // that is taken of it. Errors: 404 "model_not_found".
  ApiResult<const ServedModel*> Find(const std::optional<std::string>& name);
  // Whether there is a model of just this name, loaded or not.
  bool Has(std::string_view name) const;

  // Of the model that was found; nullptr: none was.
  const ModelLease& lease() const { return lease_; }

 private:
  ModelRegistry& registry_;
  ModelLease lease_;
};

// The model that a request means: without an id, the first. Errors: 404 "model_not_found".
ApiResult<const ServedModel*> FindModel(const std::optional<std::string>& id,
                                        RequestModels& models);
// The same for a request that generates text. Errors: besides, 400 of an encoder, and of an
// encoder-decoder where the request is none that it can read.
enum class TakesSources { kNo, kYes };
ApiResult<const ServedModel*> FindGenerator(const std::optional<std::string>& id,
                                            RequestModels& models,
                                            TakesSources takes_sources = TakesSources::kNo);

}  // namespace weft
