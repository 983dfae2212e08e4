#include "proto/completions/completion_response.h"

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/timings_json.h"
#include "proto/usage_json.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json LogprobsJson(const CompletionLogprobs& logprobs) {
  ordered_json value;
  value["tokens"] = logprobs.tokens;
  ordered_json& token_logprobs = value["token_logprobs"] = ordered_json::array();
  for (const std::optional<float>& logprob : logprobs.token_logprobs) {
    token_logprobs.push_back(logprob ? ordered_json(*logprob) : ordered_json());
  }
  ordered_json& top_logprobs = value["top_logprobs"] = ordered_json::array();
  for (const auto& candidates : logprobs.top_logprobs) {
    ordered_json entry;  // null
    // Two tokens may have one text: the likelier one, which comes first, keeps the name.
    for (const auto& [token, logprob] : candidates) {
      if (!entry.contains(token)) entry[token] = logprob;
    }
    top_logprobs.push_back(std::move(entry));
  }
  value["text_offset"] = logprobs.text_offset;
  return value;
}

ordered_json PromptLogprobsJson(const std::vector<std::vector<PromptLogprob>>& entries) {
  ordered_json list = ordered_json::array();
  for (const std::vector<PromptLogprob>& candidates : entries) {
    ordered_json entry;  // null
    for (const PromptLogprob& candidate : candidates) {
      entry[std::to_string(candidate.token)] = {{"logprob", candidate.logprob},
                                                {"rank", candidate.rank},
                                                {"decoded_token", candidate.decoded_token}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json ChoiceJson(const CompletionChoice& choice) {
  ordered_json value;
  value["index"] = choice.index;
  value["text"] = choice.text;
  value["logprobs"] = choice.logprobs ? LogprobsJson(*choice.logprobs) : ordered_json();
  value["finish_reason"] =
      choice.finish_reason.empty() ? ordered_json() : ordered_json(choice.finish_reason);
  if (choice.prompt_logprobs)
    value["prompt_logprobs"] = PromptLogprobsJson(*choice.prompt_logprobs);
  return value;
}

ordered_json CompletionUsageJson(const Usage& usage) {
  ordered_json value = UsageCountsJson(usage.prompt_tokens, usage.completion_tokens);
  value["prompt_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  return value;
}

}  // namespace

std::string ToJson(const CompletionResponse& response) {
  ordered_json body;
  body["id"] = response.id;
  body["object"] = "text_completion";
  body["created"] = response.created;
  body["model"] = response.model;
  body["system_fingerprint"] = response.system_fingerprint;
  ordered_json& choices = body["choices"] = ordered_json::array();
  for (const CompletionChoice& choice : response.choices) choices.push_back(ChoiceJson(choice));
  if (response.usage_field == UsageField::kNull) body["usage"] = nullptr;
  if (response.usage_field == UsageField::kSoFar) {
    body["usage"] = UsageCountsJson(response.usage_so_far.prompt_tokens,
                                    response.usage_so_far.completion_tokens);
  }
  if (response.usage_field == UsageField::kPresent)
    body["usage"] = CompletionUsageJson(response.usage);
  if (response.timings) body["timings"] = TimingsJson(*response.timings);
  return DumpJson(body);
}

}  // namespace weft
