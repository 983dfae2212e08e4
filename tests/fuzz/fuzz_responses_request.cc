// Bodies of /v1/responses: whatever comes, a validated request or an error object. What items
// become is a chat that could have been sent as one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/chat/chat_messages.h"
#include "proto/responses/compaction.h"
#include "proto/responses/response_items.h"
#include "proto/responses/responses_request.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Every refusal can be sent, and says something.
void CheckRefusal(const weft::ApiError& error) {
  Require(!error.message.empty() && !weft::ToJson(error).empty());
}

bool HasReference(const nlohmann::ordered_json& input) {
  for (const auto& item : input) {
    if (item["type"] == "item_reference") return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view body{reinterpret_cast<const char*>(data), size_bytes};
  if (const auto message = weft::ParseSocketRequest(body); !message) CheckRefusal(message.error());
  if (const auto compaction = weft::ParseCompactionRequest(body); !compaction) {
    CheckRefusal(compaction.error());
  }
  auto request = weft::ParseResponsesRequest(body);
  if (!request) {
    CheckRefusal(request.error());
    return 0;
  }
  std::set<std::string> names;
  for (const nlohmann::ordered_json& tool : request->chat.tools) {
    Require(names.insert(tool["function"]["name"].get<std::string>()).second);
  }
  Require(!(request->background && request->chat.stream));
  if (HasReference(request->input)) return 0;  // the server's to resolve
  const std::vector<nlohmann::ordered_json> items(request->input.begin(), request->input.end());
  auto messages = weft::MessagesOfItems(items, 0, request->instructions, request->tools);
  if (messages) {
    Require(weft::CheckMessages(*messages).has_value());
  } else {
    CheckRefusal(messages.error());
  }
  return 0;
}
