#include "proto/models/model_command.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"

namespace weft {

ApiResult<ModelCommand> ParseModelCommand(std::string_view text) {
  const ApiResult<nlohmann::json> body = ParseBody(text);
  if (!body) return tl::unexpected(body.error());
  std::optional<std::string> model;
  WEFT_RETURN_IF_ERROR(ReadString(*body, "model", model));
  if (!model) return RefuseMissing("model", "send the name of one of GET /models");
  ModelCommand command{.model = *std::move(model)};
  for (const auto& [name, value] : body->items()) {
    if (name != "model") ++command.unknown_field_count;
  }
  return command;
}

}  // namespace weft
