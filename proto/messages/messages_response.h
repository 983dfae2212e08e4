// What Anthropic's /v1/messages answers: the whole, or the events of a stream; and count_tokens.
// One line of JSON each; bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/usage.h"

namespace weft {

enum class MessagesBlockKind { kText, kThinking, kToolUse };

// A block of content.
struct MessagesBlock {
  MessagesBlockKind kind = MessagesBlockKind::kText;
  std::string text;  // or the thinking, or the JSON text of a call's input
  std::string id;    // of a call
  std::string name;  // of the tool that it calls
};

struct MessagesResponse {
  std::string id;  // "msg_..."
  std::string model;
  std::vector<MessagesBlock> content;
  std::string stop_reason;    // "end_turn", "max_tokens", "stop_sequence", "tool_use"; empty: null
  std::string stop_sequence;  // the one that was met; empty: null
  std::string context_management;  // JSON, known from the beginning; empty: there is no such member
};

// A call's input that broke off, so that it is no JSON, becomes {}.
std::string ToJson(const MessagesResponse& response, const Usage& usage);

// The events of a stream, each by its name. The first, with no content yet:
std::string MessageStartJson(const MessagesResponse& response, const Usage& usage);
// Without the block's text: that comes in deltas.
std::string ContentBlockStartJson(int32_t index, const MessagesBlock& block);
std::string ContentBlockDeltaJson(int32_t index, MessagesBlockKind kind, std::string_view text);
// What ends a block of thinking; clients keep it and send it back. It is empty: nothing is signed.
std::string SignatureDeltaJson(int32_t index);
std::string ContentBlockStopJson(int32_t index);
std::string MessageDeltaJson(const MessagesResponse& response, const Usage& usage);
std::string MessageStopJson();
std::string PingJson();

// `original_count`: before `context_management` was carried out; absent: the request has none.
std::string CountTokensJson(int64_t token_count, std::optional<int64_t> original_count);

}  // namespace weft
