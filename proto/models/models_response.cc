#include "proto/models/models_response.h"

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/rfc3339.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json ModelJson(const ModelCard& model) {
  ordered_json value;
  value["id"] = model.id;
  value["object"] = "model";
  value["created"] = model.created;
  value["owned_by"] = "weft";
  value["max_model_len"] = model.max_context;
  return value;
}

ordered_json AnthropicModelJson(const ModelCard& model) {
  ordered_json value;
  value["type"] = "model";
  value["id"] = model.id;
  value["display_name"] = model.id;
  value["created_at"] = Rfc3339(model.created);
  value["lifecycle"] = "active";
  value["max_input_tokens"] = model.max_context;
  value["max_tokens"] = model.max_context;
  return value;
}

}  // namespace

std::string ToAnthropicJson(const ModelCard& model) { return DumpJson(AnthropicModelJson(model)); }

std::string ToAnthropicJson(const std::vector<ModelCard>& models) {
  ordered_json body;
  ordered_json& data = body["data"] = ordered_json::array();
  for (const ModelCard& model : models) data.push_back(AnthropicModelJson(model));
  body["has_more"] = false;
  body["first_id"] = models.front().id;
  body["last_id"] = models.back().id;
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
