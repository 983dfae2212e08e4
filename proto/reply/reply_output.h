// Where a parser puts what it has read: joins neighbours, and drops white space beside tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/reply/reply_parser.h"

namespace weft {

class ReplyOutput {
 public:
  // Content or reasoning. White space waits until something that is none follows.
  void Add(ReplyDeltaKind kind, char byte);
  void Add(ReplyDeltaKind kind, std::string_view text) {
    for (const char byte : text) Add(kind, byte);
  }
  // A tag was here: white space before and after it goes.
  void EndText();
  // A part of this kind begins: on a new line, if there is text of the kind already.
  void BeginPart(ReplyDeltaKind kind);

  // EndText, and a call.
  void BeginCall(std::string_view name, std::string_view id);
  void AddArguments(std::string_view json);

  // Nothing from now on.
  void Close() { closed_ = true; }
  // Content other than white space, or a call, has come.
  bool has_answer() const { return has_content_ || call_count_ > 0; }
  int32_t call_count() const { return call_count_; }

  // What came since the last call; with `all`, white space that waits too.
  std::vector<ReplyDelta> Take(bool all);

 private:
  void Append(ReplyDeltaKind kind, std::string_view text);

  std::vector<ReplyDelta> deltas_;
  std::string space_;  // waits
  ReplyDeltaKind space_kind_ = ReplyDeltaKind::kContent;
  bool after_tag_ = false;
  bool has_content_ = false;
  bool has_reasoning_ = false;
  bool closed_ = false;
  int32_t call_count_ = 0;
};

}  // namespace weft
