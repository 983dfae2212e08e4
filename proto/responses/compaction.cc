#include "proto/responses/compaction.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/json_checks.h"
#include "proto/json_dump.h"
#include "proto/json_reader.h"
#include "proto/responses/responses_response.h"
#include "proto/responses/sealed_text.h"

namespace weft {

using nlohmann::ordered_json;

ApiResult<ResponsesRequest> ParseCompactionRequest(std::string_view text,
                                                   const RequestRules& rules) {
  ApiResult<ordered_json> body = ParseOrderedBody(text);
  if (!body) return tl::unexpected(std::move(body).error());
  ordered_json conversation = ordered_json::object();  // null has no fields
  for (const char* const name : {"model", "input", "instructions", "previous_response_id",
                                 "prompt_cache_key", "prompt_cache_retention", "service_tier"}) {
    if (body->contains(name)) conversation[name] = std::move((*body)[name]);
  }
  const auto unread_count = static_cast<int32_t>(body->size() - conversation.size());
  ApiResult<ResponsesRequest> request = ReadResponsesRequest(std::move(conversation), rules);
  if (!request) return request;
  if (!request->chat.model)
    return RefuseMissing("model", "it says who is to read the conversation");
  request->chat.unknown_field_count += unread_count;
  return request;
}

std::string ToJson(const CompactedConversation& compacted) {
  ordered_json head;
  head["id"] = compacted.id;
  head["object"] = "response.compaction";
  head["created_at"] = compacted.created_at;
  std::string items;
  for (const std::string& item : compacted.kept) items += item + ',';
  items += DumpJson(ordered_json{{"id", compacted.item_id},
                                 {"type", "compaction"},
                                 {"encrypted_content", SealText(compacted.summary)}});
  const ordered_json tail = {{"usage", ResponsesUsageJson(compacted.usage)}};
  std::string text = DumpJson(head);
  text.back() = ',';
  return text + R"("output":[)" + items + "]," + DumpJson(tail).substr(1);
}

std::string InputTokensJson(int64_t count) {
  return DumpJson(ordered_json{{"object", "response.input_tokens"}, {"input_tokens", count}});
}

}  // namespace weft
