#include "server/api/plain_handlers.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "engine/engine.h"
#include "proto/models/models_response.h"
#include "proto/openapi.h"
#include "server/api/generation_job.h"
#include "server/api/ollama/ollama_models.h"
#include "server/api/responses/stored_responses.h"
#include "server/http/server_context.h"
#include "server/version.h"

namespace weft {
namespace {

ModelCard CardOf(const ServedModel& model) {
  return {model.id, model.created, model.engine->options().max_context};
}

HttpResponse Json(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

HttpResponse Ready(const ServerContext& context) {
  if (!context.draining) return Json("{\"status\":\"ready\"}");
  HttpResponse response = Json("{\"status\":\"shutting down\"}");
  response.status = 503;
  return response;
}

HttpResponse Models(const ServerContext& context) {
  std::vector<ModelCard> cards;
  for (const ServedModel& model : context.models) cards.push_back(CardOf(model));
  return Json(ToJson(cards));
}

HttpResponse Model(const HttpRequest& request, const ServerContext& context,
                   const std::string& id) {
  const auto found = std::ranges::find(context.models, id, &ServedModel::id);
  if (found == context.models.end()) {
    return ErrorResponse(ModelNotFound(id, context.models), request);
  }
  return Json(ToJson(CardOf(*found)));
}

}  // namespace

HttpResponse HandlePlainRoute(const HttpRequest& request, const RouteMatch& match,
                              ServerContext& context) {
  switch (match.route->id) {
    case RouteId::kReady:
      return Ready(context);
    case RouteId::kMetrics: {
      HttpResponse response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      context.metrics->SetRequestMemory(context.request_budget.taken_bytes(),
                                        context.options.request_memory_bytes);
      response.body = context.metrics->Render(request.sees_all_keys ? nullptr : &request.key_name);
      return response;
    }
    case RouteId::kOpenApi: {
      HttpResponse response;
      response.constant_body = OpenApiDocument();
      return response;
    }
    case RouteId::kVersion:
      return Json(fmt::format(R"({{"version":"{}"}})", Version()));
    case RouteId::kModels:
      return Models(context);
    case RouteId::kModel:
      return Model(request, context, match.argument);
    case RouteId::kOllamaTags:
      return Json(OllamaTags(context.models));
    case RouteId::kOllamaPs:
      return Json(OllamaRunning(context.models));
    case RouteId::kOllamaVersion:
      return Json(OllamaVersion());
    case RouteId::kResponse:
    case RouteId::kDeleteResponse:
    case RouteId::kCancelResponse:
    case RouteId::kResponseInputItems:
      return HandleStoredResponse(request, match, context);
    default:  // health; what the session answers itself never comes here
      return Json("{\"status\":\"ok\"}");
  }
}

}  // namespace weft
