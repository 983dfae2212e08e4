#include "server/api/ollama/ollama_models.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/sha.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/ollama/ollama_request.h"
#include "proto/ollama/ollama_response.h"
#include "server/api/completions/infill.h"
#include "server/api/conversation/chat_format.h"
#include "server/api/generation_job.h"

namespace weft {
namespace {

constexpr std::string_view kLatest = ":latest";

// Of the name and the size: to tell models apart, not to check their files.
std::string DigestTextOf(const ModelStatus& model) {
  const std::string text = fmt::format("{} {}", model.id, model.file_bytes);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::vector<std::string> CapabilitiesOf(const ServedModel& model) {
  const EngineOptions& engine = model.engine->options();
  std::vector<std::string> capabilities;
  if (!engine.is_encoder && !engine.reads_sources) capabilities.emplace_back("completion");
  if (model.chat != nullptr) capabilities.emplace_back("tools");
  if (Thinks(model)) capabilities.emplace_back("thinking");
  if (FindInfillTokens(*model.tokenizer)) capabilities.emplace_back("insert");
  if (!engine.reads_sources) capabilities.emplace_back("embedding");
  return capabilities;
}

// Of one that is not loaded, what the names of its files tell.
OllamaModel DescriptionOf(const ModelStatus& status) {
  constexpr std::string_view kGguf = "GGUF";
  const bool has_tag = status.id.find(':') != std::string::npos;
  OllamaModel model{.name = has_tag ? status.id : fmt::format("{}{}", status.id, kLatest),
                    .created = status.created,
                    .size_bytes = status.file_bytes,
                    .digest = DigestTextOf(status),
                    .expires_at = status.expires_at};
  if (status.lease == nullptr) {
    const bool is_gguf = status.kind.starts_with(kGguf);
    model.format = is_gguf ? "gguf" : status.kind;
    if (is_gguf && status.kind.size() > kGguf.size()) {
      model.weight_type = status.kind.substr(kGguf.size() + 1);
    }
    return model;
  }
  const ServedModel& served = *status.lease;
  model.format = served.facts.file_format;
  model.family = served.facts.architecture;
  model.weight_type = served.facts.weight_type;
  model.parameter_count = served.facts.parameter_count;
  model.context = served.engine->options().max_context;
  model.embedding_size = served.embedding_size;
  model.layer_count = served.facts.layer_count;
  model.chat_template = served.chat == nullptr ? "" : served.chat->source();
  model.capabilities = CapabilitiesOf(served);
  return model;
}

}  // namespace

std::optional<std::string> OllamaModelId(const std::optional<std::string>& name,
                                         const RequestModels& models) {
  if (!name || name->empty()) return std::nullopt;
  if (models.Has(*name) || !name->ends_with(kLatest)) return name;
  return name->substr(0, name->size() - kLatest.size());
}

bool Thinks(const ServedModel& model) {
  return model.chat != nullptr && model.chat->reply_format().reasons;
}

std::string OllamaTags(const std::vector<ModelStatus>& models) {
  std::vector<OllamaModel> descriptions;
  for (const ModelStatus& model : models) descriptions.push_back(DescriptionOf(model));
  return ToJson(descriptions, false);
}

std::string OllamaRunning(const std::vector<ModelStatus>& models) {
  std::vector<OllamaModel> descriptions;
  for (const ModelStatus& model : models) {
    if (model.lease != nullptr) descriptions.push_back(DescriptionOf(model));
  }
  return ToJson(descriptions, true);
}

std::string OllamaVersion() { return R"({"version":"0.13.0"})"; }

ApiResult<PostAnswer> AnswerOllamaShow(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(const OllamaShowRequest request, ParseOllamaShowRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ModelStatus model,
                        context.models.Look(OllamaModelId(request.model, context.models)));
  return PostAnswer{.body = OllamaShowJson(DescriptionOf(model)),
                    .unknown_field_count = request.unknown_field_count};
}

}  // namespace weft
