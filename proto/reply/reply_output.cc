#include "proto/reply/reply_output.h"

#include <utility>

#include "base/ascii.h"

namespace weft {

void ReplyOutput::Append(ReplyDeltaKind kind, std::string_view text) {
  if (closed_ || text.empty()) return;
  if (deltas_.empty() || deltas_.back().kind != kind) deltas_.push_back({.kind = kind});
  deltas_.back().text += text;
  if (kind == ReplyDeltaKind::kCallArguments) deltas_.back().call_index = call_count_ - 1;
}

void ReplyOutput::Add(ReplyDeltaKind kind, char byte) {
  const bool is_space = IsJsonSpace(byte);
  if (is_space && after_tag_) return;
  if (is_space) {
    space_ += byte;
    space_kind_ = kind;
    return;
  }
  after_tag_ = false;
  (kind == ReplyDeltaKind::kReasoning ? has_reasoning_ : has_content_) = true;
  Append(space_kind_, std::exchange(space_, {}));
  Append(kind, {&byte, 1});
}

void ReplyOutput::EndText() {
  space_.clear();
  after_tag_ = true;
}

void ReplyOutput::BeginPart(ReplyDeltaKind kind) {
  EndText();
  const bool has_text = kind == ReplyDeltaKind::kReasoning ? has_reasoning_ : has_content_;
  if (!has_text) return;
  space_ = "\n";
  space_kind_ = kind;
}

void ReplyOutput::BeginCall(std::string_view name, std::string_view id) {
  EndText();
  if (closed_) return;
  deltas_.push_back({.kind = ReplyDeltaKind::kCallBegun,
                     .text = std::string(name),
                     .call_index = call_count_,
                     .call_id = std::string(id)});
  ++call_count_;
}

void ReplyOutput::AddArguments(std::string_view json) {
  Append(ReplyDeltaKind::kCallArguments, json);
}

std::vector<ReplyDelta> ReplyOutput::Take(bool all) {
  if (all) Append(space_kind_, std::exchange(space_, {}));
  return std::exchange(deltas_, {});
}

}  // namespace weft
