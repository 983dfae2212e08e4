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
std::string DigestTextOf(const ServedModel& model) {
  const std::string text = fmt::format("{} {}", model.id, model.facts.file_bytes);
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

OllamaModel DescriptionOf(const ServedModel& model) {
  const bool has_tag = model.id.find(':') != std::string::npos;
  return {.name = has_tag ? model.id : fmt::format("{}{}", model.id, kLatest),
          .created = model.created,
          .size_bytes = model.facts.file_bytes,
          .digest = DigestTextOf(model),
          .format = model.facts.file_format,
          .family = model.facts.architecture,
          .weight_type = model.facts.weight_type,
          .parameter_count = model.facts.parameter_count,
          .context = model.engine->options().max_context,
          .embedding_size = model.embedding_size,
          .layer_count = model.facts.layer_count,
          .chat_template = model.chat == nullptr ? "" : model.chat->source(),
          .capabilities = CapabilitiesOf(model)};
}

std::vector<OllamaModel> DescriptionsOf(const std::vector<ModelLease>& models) {
  std::vector<OllamaModel> descriptions;
  for (const ModelLease& model : models) descriptions.push_back(DescriptionOf(*model));
  return descriptions;
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

std::string OllamaTags(const std::vector<ModelLease>& models) {
  return ToJson(DescriptionsOf(models), false);
}

std::string OllamaRunning(const std::vector<ModelLease>& models) {
  return ToJson(DescriptionsOf(models), true);
}

std::string OllamaVersion() { return R"({"version":"0.13.0"})"; }

ApiResult<PostAnswer> AnswerOllamaShow(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(const OllamaShowRequest request, ParseOllamaShowRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        FindModel(OllamaModelId(request.model, context.models), context.models));
  return PostAnswer{.body = OllamaShowJson(DescriptionOf(*model)),
                    .unknown_field_count = request.unknown_field_count};
}

}  // namespace weft
