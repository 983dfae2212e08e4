// gpt-oss's replies: messages, each with a header that names a channel and perhaps a recipient.
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...<|return|>
// The prompt has ended with <|start|>assistant. The last tag is the end token, and not in the text.
#include <array>

#include "proto/reply/reply_machine.h"

namespace weft {
namespace {

constexpr size_t kMaxHeaderBytes = 1024;
constexpr std::string_view kFunctions = "functions.";

// What follows `mark` in the header, up to a space or a tag.
std::string_view WordAfter(std::string_view header, std::string_view mark) {
  const size_t found = header.find(mark);
  if (found == std::string_view::npos) return {};
  header.remove_prefix(found + mark.size());
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

}  // namespace

ParseTask<> ReplyParser::Machine::ReadHarmony() {
  bool is_first = true;
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return {};
    const bool has_header = co_await AtHarmonyHeader(is_first);
    is_first = false;
    if (!has_header) {
      co_await ReadHarmonyText(ReplyDeltaKind::kContent);
      continue;
    }
    std::string header;
    Record();
    const bool read = co_await ReadUntil("<|message|>", kMaxHeaderBytes, header);
    if (read) {
      co_await ReadHarmonyBody(header);
    } else {
      RecordToContent();
    }
  }
}

ParseTask<bool> ReplyParser::Machine::AtHarmonyHeader(bool is_first) {
  bool found = co_await At("<|start|>");
  if (!found) found = co_await At("<|channel|>");
  if (!found && is_first) found = co_await At(" to=");
  co_return found;
}

ParseTask<> ReplyParser::Machine::ReadHarmonyBody(std::string_view header) {
  std::string_view recipient = WordAfter(header, "to=");
  const bool is_call = !recipient.empty() && recipient != "user" && options_.parses_calls;
  if (is_call) {
    if (recipient.starts_with(kFunctions)) recipient.remove_prefix(kFunctions.size());
    co_await SkipSpace();
    const int byte = co_await input_.Peek();
    if (byte == '{' && BeginCall(recipient)) {
      co_await ReadArgumentsObject();
    } else {
      RecordToContent();
    }
    co_await ReadHarmonyText(ReplyDeltaKind::kContent);
    co_return {};
  }
  recording_ = false;
  const bool reasons = WordAfter(header, "<|channel|>") == "analysis";
  const ReplyDeltaKind kind = reasons ? ReplyDeltaKind::kReasoning : ReplyDeltaKind::kContent;
  output_.BeginPart(kind);
  in_reasoning_ = reasons;
  co_await ReadHarmonyText(kind);
  in_reasoning_ = false;
  co_return {};
}

// To the end of the message.
ParseTask<> ReplyParser::Machine::ReadHarmonyText(ReplyDeltaKind kind) {
  constexpr std::array<std::string_view, 3> kEndTags = {"<|end|>", "<|call|>", "<|return|>"};
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return {};
    bool ended = false;
    for (const std::string_view tag : kEndTags) {
      if (!ended && byte == '<') ended = co_await SkipText(tag);
    }
    if (!ended && byte == '<') ended = co_await At("<|start|>");
    if (ended) break;
    output_.Add(kind, static_cast<char>(byte));
    Skip();
  }
  output_.EndText();
  co_return {};
}

}  // namespace weft
