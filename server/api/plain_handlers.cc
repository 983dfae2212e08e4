#include "server/api/plain_handlers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
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
#include "server/page/page_answer.h"
#include "server/version.h"

namespace weft {
namespace {

std::string StatusNameOf(ModelState state) {
  switch (state) {
    case ModelState::kLoading:
      return "loading";
    case ModelState::kLoaded:
    case ModelState::kLeaving:
      return "loaded";
    case ModelState::kFailed:
      return "failed";
    case ModelState::kUnloaded:
      break;
  }
  return "unloaded";
}

ModelCard CardOf(const ModelStatus& model, const std::string& name) {
  ModelCard card{.id = name,
                 .created = model.created,
                 .status = StatusNameOf(model.state),
                 .failure = model.failure,
                 .kind = model.kind,
                 .file_bytes = model.file_bytes,
                 .fits = model.fits,
                 .last_used = model.last_used,
                 .expires_at = model.expires_at};
  if (model.lease == nullptr) return card;
  card.max_context = model.lease->engine->options().max_context;
  card.memory = {.weight_bytes = model.memory.weight_bytes,
                 .kv_bytes = model.memory.kv_bytes,
                 .workspace_bytes = model.memory.workspace_bytes};
  return card;
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
  for (const ModelStatus& model : context.models->List()) {
    cards.push_back(CardOf(model, model.id));
    for (const std::string& alias : model.aliases) cards.push_back(CardOf(model, alias));
  }
  return Json(request.style == ApiStyle::kAnthropic ? ToAnthropicJson(cards) : ToJson(cards));
}

HttpResponse Model(const HttpRequest& request, const ServerContext& context,
                   const std::string& id) {
  const ApiResult<ModelStatus> found = RequestModels(*context.models).Look(id);
  if (!found) return ErrorResponse(found.error(), request);
  const ModelCard card = CardOf(*found, id);
  return Json(request.style == ApiStyle::kAnthropic ? ToAnthropicJson(card) : ToJson(card));
}

// The loaded model that the request's query names, or the one that is meant without a name.
ApiResult<ModelLease> LoadedModelOf(const HttpRequest& request, const ServerContext& context) {
  std::optional<std::string> name;
  for (auto& [parameter, value] : QueryParameters(request.target)) {
    if (parameter == "model" && !value.empty()) name = std::move(value);
  }
  RequestModels models(*context.models);
  WEFT_ASSIGN_OR_RETURN(const ModelStatus model, models.Look(name));
  if (model.lease != nullptr) return model.lease;
  return tl::unexpected(
      HttpError(503, "model_loading", fmt::format("the model '{}' is not loaded", model.id)));
}

// For browsers the page; for programs that ask whether there is a server, a line.
HttpResponse Root(const HttpRequest& request, const RouteMatch& match) {
  if (const PageFile* file = PageFileFor(request, match)) return PageAnswer(request, *file);
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.constant_body = "Weft is running\n";
  return response;
}

std::string TextOfToken(const Tokenizer& tokenizer, const std::optional<TokenId>& token) {
  return token ? std::string(tokenizer.TokenText(*token)) : std::string();
}

HttpResponse PropsOf(const HttpRequest& request, const ServerContext& context) {
  const ApiResult<ModelLease> found = LoadedModelOf(request, context);
  if (!found) return ErrorResponse(found.error(), request);
  const ServedModel& model = **found;
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

// Of one model. Sequences have no slots of their own: so many are busy as there are sequences.
HttpResponse SlotsOf(const HttpRequest& request, const ServerContext& context) {
  const ApiResult<ModelLease> model = LoadedModelOf(request, context);
  if (!model) return ErrorResponse(model.error(), request);
  const Engine& engine = *(*model)->engine;
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
    case RouteId::kPageFile:
      return Root(request, match);
    case RouteId::kProps:
      return PropsOf(request, context);
    case RouteId::kSlots:
      return SlotsOf(request, context);
    case RouteId::kLoraAdapters:
      return Json("[]");
    case RouteId::kModels:
      return Models(request, context);
    case RouteId::kModel:
      return Model(request, context, match.argument);
    case RouteId::kOllamaTags:
      return Json(OllamaTags(context.models->List()));
    case RouteId::kOllamaPs:
      return Json(OllamaRunning(context.models->List()));
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
