#include "proto/llama_server/llama_response.h"

#include <array>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/prompt_progress_json.h"
#include "proto/timings_json.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr int32_t kNoSlot = -1;  // sequences have no slots of their own

ordered_json LlamaProbJson(const LlamaProb& prob) {
  ordered_json value;
  value["id"] = prob.id;
  value["token"] = prob.token;
  ordered_json& bytes = value["bytes"] = ordered_json::array();
  for (const char byte : prob.bytes) bytes.push_back(static_cast<unsigned char>(byte));
  value["logprob"] = prob.logprob;
  return value;
}

void AddProbs(const std::vector<LlamaProbs>& probs, ordered_json& body) {
  if (probs.empty()) return;
  ordered_json& list = body["completion_probabilities"] = ordered_json::array();
  for (const LlamaProbs& chosen : probs) {
    ordered_json entry = LlamaProbJson(chosen);
    ordered_json& top = entry["top_logprobs"] = ordered_json::array();
    for (const LlamaProb& candidate : chosen.top) top.push_back(LlamaProbJson(candidate));
    list.push_back(std::move(entry));
  }
}

ordered_json BeginJson(const LlamaPiece& piece, bool is_last) {
  ordered_json body;
  body["index"] = piece.index;
  body["content"] = piece.content;
  body["tokens"] = piece.tokens;
  body["id_slot"] = kNoSlot;
  body["stop"] = is_last;
  body["tokens_predicted"] = piece.predicted_tokens;
  body["tokens_evaluated"] = piece.prompt_tokens;
  return body;
}

// nullptr: there is nothing there.
const ordered_json* FindPath(const ordered_json& body, std::string_view path) {
  const ordered_json* found = &body;
  while (true) {
    const size_t slash = path.find('/');
    const auto member = found->is_object() ? found->find(path.substr(0, slash)) : found->end();
    if (!found->is_object() || member == found->end()) return nullptr;
    found = &*member;
    if (slash == std::string_view::npos) return found;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::string LlamaSettingsJson(const LlamaRequest& request, const LlamaSettings& settings) {
  const SamplingFields& sampling = request.sampling;
  ordered_json values;
  values["seed"] = sampling.seed.value_or(std::numeric_limits<uint32_t>::max());
  values.update(SamplingJson(sampling));
  values["dry_sequence_breakers"] = sampling.dry_sequence_breakers;
  values["adaptive_target"] = -1;  // what has no place in a chain here, switched off
  values["adaptive_decay"] = 0.9;
  values["stop"] = sampling.stop;
  values["max_tokens"] = request.max_tokens.value_or(-1);
  values["n_predict"] = request.max_tokens.value_or(-1);
  values["n_keep"] = 0;
  values["n_discard"] = 0;
  values["ignore_eos"] = sampling.ignore_eos;
  values["stream"] = request.stream;
  ordered_json& biases = values["logit_bias"] = ordered_json::array();
  for (const auto& [token, bias] : settings.logit_bias) {
    biases.push_back(
        {{"bias", bias == kNeverBias ? ordered_json() : ordered_json(bias)}, {"token", token}});
  }
  values["n_probs"] = request.n_probs;
  values["min_keep"] = 0;
  values["grammar"] =
      request.output.kind == OutputKind::kGrammar ? request.output.text : std::string();
  ordered_json& samplers = values["samplers"] = ordered_json::array();
  if (sampling.samplers) {
    samplers = *sampling.samplers;
  } else {
    for (const std::string_view name : SamplerNames()) samplers.push_back(name);
  }
  values["timings_per_token"] = request.timings_per_token;
  values["post_sampling_probs"] = false;
  values["lora"] = ordered_json::array();
  return DumpJson(values);
}

std::string ToJson(const LlamaPiece& piece) {
  ordered_json body = BeginJson(piece, false);
  AddProbs(piece.probs, body);
  if (piece.timings) body["timings"] = TimingsJson(*piece.timings);
  if (piece.progress) body["prompt_progress"] = ProgressJson(*piece.progress);
  return DumpJson(body);
}

std::string ToJson(const LlamaPiece& piece, const LlamaEnd& end,
                   const std::vector<std::string>& fields) {
  ordered_json body = BeginJson(piece, true);
  body["model"] = end.model;
  body["generation_settings"] = ordered_json::parse(end.settings);
  body["prompt"] = end.prompt;
  body["has_new_line"] = end.has_new_line;
  body["truncated"] = end.is_truncated;
  body["stop_type"] = end.stop_type;
  body["stopping_word"] = end.stopping_word;
  body["tokens_cached"] = piece.prompt_tokens + piece.predicted_tokens;
  if (piece.timings) body["timings"] = TimingsJson(*piece.timings);
  AddProbs(piece.probs, body);
  if (fields.empty()) return DumpJson(body);
  ordered_json chosen = ordered_json::object();
  for (const std::string& path : fields) {
    if (const ordered_json* value = FindPath(body, path)) chosen[path] = *value;
  }
  return DumpJson(chosen);
}

std::string LlamaSlotsJson(int32_t total, int32_t busy, int64_t context) {
  ordered_json slots = ordered_json::array();
  for (int32_t id = 0; id < total; ++id) {
    ordered_json slot;
    slot["id"] = id;
    slot["n_ctx"] = context;
    slot["speculative"] = false;
    slot["is_processing"] = id < busy;
    slots.push_back(std::move(slot));
  }
  return DumpJson(slots);
}

}  // namespace weft
