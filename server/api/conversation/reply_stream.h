// One reply of a model while it is generated: the engine's bytes become characters, the characters
// reasoning, answer and tool calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/chat/chat_response.h"
#include "proto/reply/reply_parser.h"
#include "proto/usage.h"

namespace weft {

// How the replies to a request are read.
struct ReplySetup {
  ReplyOptions options;
  bool is_continued = false;   // they go on with the last message
  size_t shared_bytes = 0;     // RenderedPrompt's
  size_t last_message_at = 0;  // RenderedPrompt's
};

// One thread.
class ReplyStream {
 public:
  explicit ReplyStream(const ReplySetup& setup) : parser_(setup.options) {}

  // `usage` gets the tokens of reasoning, those of its tags included.
  std::vector<ReplyDelta> Push(const TokensEvent& event, Usage& usage);
  // The text has ended.
  std::vector<ReplyDelta> Finish();

  int32_t call_count() const { return parser_.call_count(); }
  bool in_reasoning() const { return parser_.in_reasoning(); }

 private:
  IncrementalDecoder decoder_;
  ReplyParser parser_;
};

// FNV-1a, 64 bits.
uint64_t HashOf(std::string_view text);

// The same letters and figures for the same request, choice and call; as long as the format's
// templates take them.
std::string MakeCallId(std::string_view request_id, int32_t choice, int32_t call,
                       CallFormat format);

ChatLogprob ChatLogprobOf(const Tokenizer& tokenizer, const TokenLogprob& entry);

}  // namespace weft
