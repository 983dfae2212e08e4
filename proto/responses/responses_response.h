// What /v1/responses answers: the response object, its items, and the events of a stream. Include
// from .cc files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/chat/chat_response.h"
#include "proto/usage.h"

namespace weft {

enum class ItemKind { kMessage, kReasoning, kFunctionCall, kCustomToolCall };

// "message", "reasoning", ...
std::string_view TypeOf(ItemKind kind);

// "in_progress", "completed" or "incomplete"
struct ResponseItem {
  ItemKind kind = ItemKind::kMessage;
  std::string id;
  std::string status = "in_progress";
  std::string text;  // of the message, the reasoning, the call's arguments, or its input
  std::string call_id;
  std::string space;                  // the called tool's namespace; empty: none
  std::string name;                   // the called tool's
  bool is_sealed = false;             // reasoning: there in its closed form, too
  std::vector<ChatLogprob> logprobs;  // of the message's text
};

struct ResponseObject {
  std::string id;          // "resp_..."
  int64_t created_at = 0;  // seconds since 1970
  std::optional<int64_t> completed_at;
  std::string status = "in_progress";  // "queued", "completed", "incomplete", "failed", "cancelled"
  std::string model;
  std::vector<ResponseItem> output;
  std::optional<Usage> usage;     // once it has ended
  std::string incomplete_reason;  // "max_output_tokens"; empty: null
  std::string error_code;         // empty: null
  std::string error_message;
  nlohmann::ordered_json echo;  // see ResponsesRequest
};

nlohmann::ordered_json ResponsesUsageJson(const Usage& usage);

// One line of JSON each. Bytes that are not UTF-8 become U+FFFD.
std::string ToJson(const ResponseObject& response);
std::string ToJson(const ResponseItem& item);

// What a WebSocket says instead of a response: the event `error`, with the status that HTTP would
// have.
std::string SocketErrorJson(const ApiError& error);

// Numbers the events of one response and writes them. Each is a whole server-sent event.
class ResponseEvents {
 public:
  // "response.created", "response.completed", ...
  void AddResponse(std::string_view type, const ResponseObject& response);
  // An item has begun: it, and its part, are still empty.
  void BeginItem(size_t output_index, const ResponseItem& item);
  void AddDelta(size_t output_index, const ResponseItem& item, std::string_view delta,
                const std::vector<ChatLogprob>& logprobs);
  // An item has ended.
  void EndItem(size_t output_index, const ResponseItem& item);
  void AddError(const ApiError& error);

  // Those added since the last call.
  std::vector<std::string> Take();

 private:
  void Add(std::string_view type, const nlohmann::ordered_json& fields);

  int64_t next_sequence_number_ = 0;
  std::vector<std::string> events_;
};

}  // namespace weft
