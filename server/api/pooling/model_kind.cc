#include "server/api/pooling/model_kind.h"

#include <string_view>

#include <fmt/core.h>

#include "engine/engine.h"

namespace weft {
namespace {

struct ModelKind {
  std::string_view name;
  std::string_view endpoints;
};

ModelKind KindOf(const ServedModel& model) {
  const EngineOptions& engine = model.engine->options();
  if (model.ranking) return {"a ranker", "/v1/rerank and /v1/score"};
  if (model.classifier) return {"a classifier", "/classify"};
  if (model.makes_sparse) return {"an encoder", "/v1/embeddings and /embed_sparse"};
  if (engine.is_encoder) return {"an encoder", "/v1/embeddings"};
  if (engine.reads_sources) return {"an encoder-decoder", "/v1/completions"};
  return {"a decoder", "/v1/chat/completions, /v1/completions and /v1/embeddings"};
}

}  // namespace

ApiError NotServedBy(const ServedModel& model, std::string_view lack) {
  const ModelKind kind = KindOf(model);
  return InvalidField("model", fmt::format("the model '{}' is {}, which {}: it serves {}", model.id,
                                           kind.name, lack, kind.endpoints));
}

}  // namespace weft
