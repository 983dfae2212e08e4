// Parts a model's text, while it arrives, into reasoning, answer and tool calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/reply/reply_format.h"

namespace weft {

// What a parser needs to know of a tool.
struct ToolSignature {
  std::string name;
  // Parameters that the schema knows: whether they are strings. Formats without quotes need it.
  std::map<std::string, bool, std::less<>> parameter_is_string;
};

struct ReplyOptions {
  ReplyFormat format;
  bool begins_in_reasoning = false;
  bool parses_calls = false;         // otherwise calls are content like any other text
  std::vector<ToolSignature> tools;  // a call names one of them; otherwise it is content
  int32_t max_calls = 0;             // what follows that many is dropped; 0: any number
};

enum class ReplyDeltaKind { kContent, kReasoning, kCallBegun, kCallArguments };

struct ReplyDelta {
  ReplyDeltaKind kind = ReplyDeltaKind::kContent;
  // Content, reasoning, the function's name, or a piece of its arguments: the pieces make JSON
  // text unless the model's was cut off.
  std::string text = {};
  int32_t call_index = 0;    // of kCallBegun and kCallArguments, from 0
  std::string call_id = {};  // kCallBegun: the model's own, if it gave one
  bool operator==(const ReplyDelta&) const = default;
};

// One reply; one thread. However the text is cut into pieces, the deltas joined are the same.
// Nothing is lost: what begins like a tag is held back until it is one or cannot be one; what
// begins like a call and is none becomes content, what follows a call that has broken off too. Only
// tags go, and white space beside them: once a call has been read, also tags of calls that belong
// to none.
class ReplyParser {
 public:
  explicit ReplyParser(ReplyOptions options);
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // Neighbours of one kind and call come as one delta; none is empty but a kCallBegun's call_id.
  std::vector<ReplyDelta> Push(std::string_view text);
  // The text has ended: what was held back.
  std::vector<ReplyDelta> Finish();

  int32_t call_count() const;  // begun so far
  bool in_reasoning() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace weft
