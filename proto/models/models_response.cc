#include "proto/models/models_response.h"

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/rfc3339.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json TimeJson(const std::optional<int64_t>& seconds) {
  return seconds ? ordered_json(*seconds) : ordered_json(nullptr);
}

ordered_json DetailsJson(const ModelCard& model) {
  ordered_json value;
  value["size_bytes"] = model.file_bytes;
  value["kind"] = model.kind;
  value["fits"] = model.fits;
  value["last_used"] = TimeJson(model.last_used);
  value["expires_at"] = TimeJson(model.expires_at);
  ordered_json& memory = value["memory"] = nullptr;
  if (!model.memory) return value;
  memory = ordered_json::object();
  memory["weight_bytes"] = model.memory->weight_bytes;
  memory["kv_bytes"] = model.memory->kv_bytes;
  memory["workspace_bytes"] = model.memory->workspace_bytes;
  return value;
}

ordered_json ModelJson(const ModelCard& model) {
  ordered_json value;
  value["id"] = model.id;
  value["object"] = "model";
  value["created"] = model.created;
  value["owned_by"] = "weft";
  if (model.max_context) value["max_model_len"] = *model.max_context;
  value["status"]["value"] = model.status;
  if (!model.failure.empty()) value["status"]["error"] = model.failure;
  value["weft"] = DetailsJson(model);
  return value;
}

ordered_json AnthropicModelJson(const ModelCard& model) {
  ordered_json value;
  value["type"] = "model";
  value["id"] = model.id;
  value["display_name"] = model.id;
  value["created_at"] = Rfc3339(model.created);
  value["lifecycle"] = "active";
  if (!model.max_context) return value;
  value["max_input_tokens"] = *model.max_context;
  value["max_tokens"] = *model.max_context;
  return value;
}

}  // namespace

std::string ToAnthropicJson(const ModelCard& model) { return DumpJson(AnthropicModelJson(model)); }

std::string ToAnthropicJson(const std::vector<ModelCard>& models) {
  ordered_json body;
  ordered_json& data = body["data"] = ordered_json::array();
  for (const ModelCard& model : models) data.push_back(AnthropicModelJson(model));
  body["has_more"] = false;
  const bool is_empty = models.empty();
  body["first_id"] = is_empty ? ordered_json(nullptr) : ordered_json(models.front().id);
  body["last_id"] = is_empty ? ordered_json(nullptr) : ordered_json(models.back().id);
  return DumpJson(body);
}

std::string ToJson(const ModelCard& model) { return DumpJson(ModelJson(model)); }

std::string ToJson(const std::vector<ModelCard>& models) {
  ordered_json body;
  body["object"] = "list";
  ordered_json& data = body["data"] = ordered_json::array();
  for (const ModelCard& model : models) data.push_back(ModelJson(model));
  return DumpJson(body);
}

}  // namespace weft
