#include "server/api/plain_handlers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "engine/engine.h"
#include "proto/llama_server/llama_response.h"
#include "proto/models/models_response.h"
#include "proto/openapi.h"
#include "proto/props/props_response.h"
#include "server/api/conversation/chat_format.h"
#include "server/api/generation_job.h"
#include "server/api/ollama/ollama_models.h"
#include "server/api/responses/stored_responses.h"
#include "server/batches/file_store.h"
#include "server/http/server_context.h"
#include "server/version.h"

namespace weft {
namespace {

ModelCard CardOf(const ServedModel& model, const std::string& name) {
  return {name, model.created, model.engine->options().max_context};
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

// All names that models have.
HttpResponse Models(const HttpRequest& request, const ServerContext& context) {
  std::vector<ModelCard> cards;
  for (const ServedModel& model : context.models) {
    cards.push_back(CardOf(model, model.id));
    for (const std::string& alias : model.aliases) cards.push_back(CardOf(model, alias));
  }
  return Json(request.style == ApiStyle::kAnthropic ? ToAnthropicJson(cards) : ToJson(cards));
}

HttpResponse Model(const HttpRequest& request, const ServerContext& context,
                   const std::string& id) {
  const ApiResult<const ServedModel*> found = FindModel(id, context.models);
  if (!found) return ErrorResponse(found.error(), request);
  const ModelCard card = CardOf(**found, id);
  return Json(request.style == ApiStyle::kAnthropic ? ToAnthropicJson(card) : ToJson(card));
}

// For programs that ask whether there is a server.
HttpResponse Root() {
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.constant_body = "Weft is running\n";
  return response;
}

std::string TextOfToken(const Tokenizer& tokenizer, const std::optional<TokenId>& token) {
  return token ? std::string(tokenizer.TokenText(*token)) : std::string();
}

HttpResponse PropsOf(const ServerContext& context) {
  const ServedModel& model = context.models.front();
  const EngineOptions& engine = model.engine->options();
  return Json(ToJson({.model = model.id,
                      .model_path = model.facts.path,
                      .max_context = engine.max_context,
                      .max_sequences = engine.max_sequences,
                      .chat_template = model.chat == nullptr ? std::string() : model.chat->source(),
                      .bos_token = TextOfToken(*model.tokenizer, model.tokenizer->bos()),
                      .eos_token = TextOfToken(*model.tokenizer, model.tokenizer->eos()),
                      .build = fmt::format("weft {}", Version())},
                     context.options.rules));
}

// The first model's. Sequences have no slots of their own: so many are busy as there are sequences.
HttpResponse SlotsOf(const HttpRequest& request, const ServerContext& context) {
  const Engine& engine = *context.models.front().engine;
  const EngineOptions& options = engine.options();
  const int32_t running = context.metrics->RunningOf(engine);
  const int32_t busy = std::min(running, options.max_sequences);
  const auto parameters = QueryParameters(request.target);
  const bool wants_idle = std::ranges::any_of(parameters, [](const auto& parameter) {
    return parameter.first == "fail_on_no_slot" && !parameter.second.empty();
  });
  if (wants_idle && busy == options.max_sequences) {
    return ErrorResponse(HttpError(503, "overloaded", "no slot available"), request);
  }
  return Json(LlamaSlotsJson(options.max_sequences, busy, options.max_context));
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
      if (context.files != nullptr) {
        context.metrics->SetFilesDisk(context.files->used_bytes(), context.files->max_bytes());
      }
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
    case RouteId::kRoot:
      return Root();
    case RouteId::kProps:
      return PropsOf(context);
    case RouteId::kSlots:
      return SlotsOf(request, context);
    case RouteId::kLoraAdapters:
      return Json("[]");
    case RouteId::kModels:
      return Models(request, context);
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
