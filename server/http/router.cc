#include "server/http/router.h"

#include <algorithm>
#include <array>

namespace weft {
namespace {

// Of two patterns that fit the same path, the longer one stands first.
constexpr std::array kRoutes = {
    Route{RouteId::kRoot, "GET", "/"},
    Route{RouteId::kPageFile, "GET", "/page/{name}"},
    Route{RouteId::kHealth, "GET", "/health"},
    Route{RouteId::kHealth, "GET", "/v1/health"},
    Route{RouteId::kReady, "GET", "/ready"},
    Route{RouteId::kMetrics, "GET", "/metrics"},
    Route{RouteId::kWatch, "GET", "/watch"},
    Route{RouteId::kOpenApi, "GET", "/openapi.json"},
    Route{RouteId::kVersion, "GET", "/version"},
    Route{RouteId::kProps, "GET", "/props"},
    Route{RouteId::kSlots, "GET", "/slots"},
    Route{RouteId::kLoraAdapters, "GET", "/lora-adapters"},
    Route{RouteId::kLlamaCompletion, "POST", "/completion"},
    Route{RouteId::kAnyCompletion, "POST", "/completions"},
    Route{RouteId::kInfill, "POST", "/infill"},
    Route{RouteId::kLlamaEmbedding, "POST", "/embedding"},
    Route{RouteId::kAnyEmbedding, "POST", "/embeddings"},
    Route{RouteId::kChatCompletions, "POST", "/chat/completions"},
    Route{RouteId::kTokenize, "POST", "/tokenize"},
    Route{RouteId::kDetokenize, "POST", "/detokenize"},
    Route{RouteId::kApplyTemplate, "POST", "/apply-template"},
    Route{RouteId::kLoadModel, "POST", "/models/load"},
    Route{RouteId::kUnloadModel, "POST", "/models/unload"},
    Route{RouteId::kModels, "GET", "/v1/models"},
    Route{RouteId::kModel, "GET", "/v1/models/{id}"},
    Route{RouteId::kCompletions, "POST", "/v1/completions"},
    Route{RouteId::kChatCompletions, "POST", "/v1/chat/completions"},
    Route{RouteId::kChatInputTokens, "POST", "/v1/chat/completions/input_tokens"},
    Route{RouteId::kMessages, "POST", "/v1/messages"},
    Route{RouteId::kCountTokens, "POST", "/v1/messages/count_tokens"},
    Route{RouteId::kResponses, "POST", "/v1/responses"},
    Route{RouteId::kResponsesSocket, "GET", "/v1/responses"},
    Route{RouteId::kCompactResponse, "POST", "/v1/responses/compact"},
    Route{RouteId::kResponseInputTokens, "POST", "/v1/responses/input_tokens"},
    Route{RouteId::kCancelResponse, "POST", "/v1/responses/{id}/cancel"},
    Route{RouteId::kResponseInputItems, "GET", "/v1/responses/{id}/input_items"},
    Route{RouteId::kResponse, "GET", "/v1/responses/{id}"},
    Route{RouteId::kDeleteResponse, "DELETE", "/v1/responses/{id}"},
    Route{RouteId::kFiles, "GET", "/v1/files"},
    Route{RouteId::kUploadFile, "POST", "/v1/files"},
    Route{RouteId::kFileContent, "GET", "/v1/files/{id}/content"},
    Route{RouteId::kFile, "GET", "/v1/files/{id}"},
    Route{RouteId::kDeleteFile, "DELETE", "/v1/files/{id}"},
    Route{RouteId::kBatches, "GET", "/v1/batches"},
    Route{RouteId::kCreateBatch, "POST", "/v1/batches"},
    Route{RouteId::kCancelBatch, "POST", "/v1/batches/{id}/cancel"},
    Route{RouteId::kBatch, "GET", "/v1/batches/{id}"},
    Route{RouteId::kEmbeddings, "POST", "/v1/embeddings"},
    Route{RouteId::kRerank, "POST", "/v1/rerank"},
    Route{RouteId::kRerank, "POST", "/v2/rerank"},
    Route{RouteId::kRerank, "POST", "/v1/reranking"},
    Route{RouteId::kAnyRerank, "POST", "/rerank"},
    Route{RouteId::kScore, "POST", "/v1/score"},
    Route{RouteId::kScore, "POST", "/score"},
    Route{RouteId::kClassify, "POST", "/classify"},
    Route{RouteId::kPredict, "POST", "/predict"},
    Route{RouteId::kPooling, "POST", "/pooling"},
    Route{RouteId::kTeiEmbed, "POST", "/embed"},
    Route{RouteId::kSparse, "POST", "/embed_sparse"},
    Route{RouteId::kGenerativeScoring, "POST", "/generative_scoring"},
    Route{RouteId::kDecisions, "POST", "/v1/decisions"},
    Route{RouteId::kOllamaChat, "POST", "/api/chat"},
    Route{RouteId::kOllamaGenerate, "POST", "/api/generate"},
    Route{RouteId::kOllamaEmbed, "POST", "/api/embed"},
    Route{RouteId::kOllamaEmbeddings, "POST", "/api/embeddings"},
    Route{RouteId::kOllamaTags, "GET", "/api/tags"},
    Route{RouteId::kOllamaPs, "GET", "/api/ps"},
    Route{RouteId::kOllamaShow, "POST", "/api/show"},
    Route{RouteId::kOllamaVersion, "GET", "/api/version"},
};

constexpr std::array kFileRoutes = {RouteId::kUploadFile, RouteId::kFiles, RouteId::kFile,
                                    RouteId::kDeleteFile, RouteId::kFileContent};

// Ollama's routes that change which models there are.
constexpr std::array<std::string_view, 6> kRefusedRoutes = {
    "/api/pull", "/api/push", "/api/create", "/api/copy", "/api/delete", "/api/blobs"};

// llama-server's own. OpenAI's of the same names are under /v1.
constexpr auto kLlamaPaths = std::to_array<std::string_view>(
    {"/completion", "/completions", "/chat/completions", "/infill", "/embedding", "/embeddings",
     "/slots", "/props", "/lora-adapters"});

// Whether the path fits; `argument` is set to what {id} covers (it may hold slashes: models are
// often called owner/name).
bool PathFits(std::string_view pattern, std::string_view path, std::string& argument) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return path == pattern;
  const std::string_view prefix = pattern.substr(0, brace);
  const std::string_view suffix = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= prefix.size() + suffix.size() || !path.starts_with(prefix) ||
      !path.ends_with(suffix)) {
    return false;
  }
  argument = path.substr(prefix.size(), path.size() - prefix.size() - suffix.size());
  return true;
}

// The first pattern that fits counts, with all its methods.
RouteMatch FindPattern(std::string_view method, std::string_view path) {
  RouteMatch match;
  match.label = "other";
  for (const Route& route : kRoutes) {
    if (!match.allow.empty() ? route.pattern != match.label
                             : !PathFits(route.pattern, path, match.argument)) {
      continue;
    }
    match.label = route.pattern;
    if (method == route.method || (method == "HEAD" && route.method == "GET")) match.route = &route;
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  return match;
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

RouteMatch FindRoute(std::string_view method, std::string_view path) {
  RouteMatch match = FindPattern(method, path);
  return match.allow.empty() ? FindPattern(method, "/v1" + std::string(path)) : match;
}

bool IsAboutBatches(RouteId route) {
  return route == RouteId::kCreateBatch || route == RouteId::kBatches || route == RouteId::kBatch ||
         route == RouteId::kCancelBatch;
}

bool NeedsFiles(RouteId route) {
  return std::ranges::find(kFileRoutes, route) != kFileRoutes.end() || IsAboutBatches(route);
}

bool ChangesModels(std::string_view path) {
  return std::ranges::any_of(kRefusedRoutes, [&](std::string_view route) {
    return path == route || (path.starts_with(route) && path.substr(route.size()).starts_with('/'));
  });
}

bool ChangesServer(std::string_view method, std::string_view path) {
  return method == "POST" &&
         (path == "/props" || path == "/lora-adapters" || path.starts_with("/slots/"));
}

ApiStyle ApiStyleOf(std::string_view path, bool is_anthropics) {
  if (path.starts_with("/api/")) return ApiStyle::kOllama;
  const bool is_llamas = std::ranges::find(kLlamaPaths, path) != kLlamaPaths.end();
  if (is_llamas || path.starts_with("/slots/")) return ApiStyle::kLlama;
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  const bool is_shared = path == "/models" || path.starts_with("/models/");
  const bool is_anthropic = path.starts_with("/messages") || (is_shared && is_anthropics);
  return is_anthropic ? ApiStyle::kAnthropic : ApiStyle::kOpenAi;
}

}  // namespace weft
