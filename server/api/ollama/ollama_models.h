// The models as Ollama's API names and describes them: /api/tags, /api/ps, /api/show,
// /api/version.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/post_answer.h"
#include "server/models/model_registry.h"

namespace weft {

// What Weft calls the model of a request: nullopt, the first one, of an empty name; without
// ":latest", where no model has the whole name.
std::optional<std::string> OllamaModelId(const std::optional<std::string>& name,
                                         const RequestModels& models);

// Whether the model's template knows reasoning.
bool Thinks(const ServedModel& model);

// All models, and those that are loaded.
std::string OllamaTags(const std::vector<ModelStatus>& models);
std::string OllamaRunning(const std::vector<ModelStatus>& models);
// The version of Ollama whose API this is: clients ask for a least one.
std::string OllamaVersion();

// An AnswerFunction.
ApiResult<PostAnswer> AnswerOllamaShow(std::string_view body, const PrepareContext& context);

}  // namespace weft
