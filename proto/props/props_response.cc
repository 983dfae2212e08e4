#include "proto/props/props_response.h"

#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"

namespace weft {

using nlohmann::ordered_json;

std::string ToJson(const Props& props, const RequestRules& rules) {
  ordered_json params = SamplingJson(rules.sampling);
  params["seed"] = std::numeric_limits<uint32_t>::max();  // drawn, as llama.cpp's server says it
  params.update(ordered_json::parse(rules.sampling_fields));
  ordered_json body;
  ordered_json& defaults = body["default_generation_settings"];
  defaults["n_ctx"] = props.max_context;
  defaults["params"] = std::move(params);
  body["chat_template_kwargs"] = ordered_json::parse(rules.template_variables);
  body["total_slots"] = props.max_sequences;
  body["model_alias"] = props.model;
  body["model_path"] = props.model_path;
  body["modalities"]["vision"] = false;
  body["modalities"]["audio"] = false;
  body["endpoint_slots"] = true;
  body["endpoint_props"] = false;
  body["endpoint_metrics"] = true;
  body["chat_template"] = props.chat_template;
  body["bos_token"] = props.bos_token;
  body["eos_token"] = props.eos_token;
  body["is_sleeping"] = false;
  body["build_info"] = props.build;
  return DumpJson(body);
}

}  // namespace weft
