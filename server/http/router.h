// Which handler answers a method and path.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace weft {

enum class RouteId {
  kHealth,
  kReady,
  kMetrics,
  kWatch,
  kOpenApi,
  kVersion,
  kRoot,
  kPageFile,
  kProps,
  kSlots,
  kLoraAdapters,
  kLlamaCompletion,
  kAnyCompletion,
  kInfill,
  kLlamaEmbedding,
  kAnyEmbedding,
  kTokenize,
  kDetokenize,
  kApplyTemplate,
  kLoadModel,
  kUnloadModel,
  kModels,
  kModel,
  kCompletions,
  kChatCompletions,
  kMessages,
  kCountTokens,
  kChatInputTokens,
  kResponses,
  kResponsesSocket,
  kCompactResponse,
  kResponseInputTokens,
  kResponse,
  kDeleteResponse,
  kCancelResponse,
  kResponseInputItems,
  kUploadFile,
  kFiles,
  kFile,
  kDeleteFile,
  kFileContent,
  kCreateBatch,
  kBatches,
  kBatch,
  kCancelBatch,
  kEmbeddings,
  kRerank,
  kAnyRerank,
  kScore,
  kClassify,
  kPredict,
  kPooling,
  kTeiEmbed,
  kSparse,
  kGenerativeScoring,
  kDecisions,
  kOllamaChat,
  kOllamaGenerate,
  kOllamaEmbed,
  kOllamaEmbeddings,
  kOllamaTags,
  kOllamaPs,
  kOllamaShow,
  kOllamaVersion
};

struct Route {
  RouteId id;
  std::string_view method;   // GET routes answer HEAD too
  std::string_view pattern;  // "/v1/models/{id}"; also the label in metrics
};

struct RouteMatch {
  const Route* route = nullptr;  // null: no such path, or not with this method
  std::string argument;          // what {id} stands for
  std::string_view label;        // the pattern, or "other"
  std::string allow;             // path known: value of the Allow header
};

// All there are; proto/openapi.json describes each.
std::span<const Route> Routes();

// Paths under /v1 are found without it, too, unless they are a route of their own.
RouteMatch FindRoute(std::string_view method, std::string_view path);

// Whether a route is about files or batches, which there are only with a directory for them.
bool NeedsFiles(RouteId route);
bool IsAboutBatches(RouteId route);

// Whether a path would change, in Ollama's API, which models there are. No route has it.
bool ChangesModels(std::string_view path);

// Whether llama-server's API has this method and path, and this server never will: what saves slots
// or changes what the server was started with.
bool ChangesServer(std::string_view method, std::string_view path);

// Also of paths that no route has. `is_anthropics`: the request has Anthropic's header.
ApiStyle ApiStyleOf(std::string_view path, bool is_anthropics);

}  // namespace weft
