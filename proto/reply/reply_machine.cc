#include "proto/reply/reply_machine.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace weft {

namespace {

std::string_view DictQuoteOf(CallFormat format) {
  const DictCallSyntax* const syntax = FindSyntax(kDictCallSyntaxes, format);
  return syntax == nullptr ? std::string_view() : syntax->quote;
}

}  // namespace

ReplyParser::ReplyParser(ReplyOptions options)
    : machine_(std::make_unique<Machine>(std::move(options))) {}
ReplyParser::~ReplyParser() = default;

std::vector<ReplyDelta> ReplyParser::Push(std::string_view text) { return machine_->Push(text); }
std::vector<ReplyDelta> ReplyParser::Finish() { return machine_->Finish(); }
int32_t ReplyParser::call_count() const { return machine_->call_count(); }
bool ReplyParser::in_reasoning() const { return machine_->in_reasoning(); }

ReplyParser::Machine::Machine(ReplyOptions options)
    : options_(std::move(options)),
      call_tags_(CallTagsOf(options_.format.calls)),
      dict_quote_(DictQuoteOf(options_.format.calls)) {
  in_reasoning_ = options_.begins_in_reasoning;
  task_ = Read();
  task_.Start(input_);
}

std::vector<ReplyDelta> ReplyParser::Machine::Push(std::string_view text) {
  input_.Feed(text);
  return output_.Take(false);
}

std::vector<ReplyDelta> ReplyParser::Machine::Finish() {
  input_.Finish();
  return output_.Take(true);
}

ParseTask<> ReplyParser::Machine::Read() {
  if (options_.format.calls == CallFormat::kHarmony) {
    co_await ReadHarmony();
    co_return {};
  }
  if (options_.format.calls == CallFormat::kSolar) {
    co_await ReadSolar();
    co_return {};
  }
  if (options_.begins_in_reasoning) {
    output_.EndText();
    co_await ReadReasoning();
  }
  co_await ReadOpening();
  co_await ReadAnswer();
  co_return {};
}

// What may stand before the answer: reasoning, and calls that fill the whole reply.
ParseTask<> ReplyParser::Machine::ReadOpening() {
  const ReplyFormat& format = options_.format;
  while (true) {
    const int byte = co_await input_.Peek();
    if (IsJsonSpace(static_cast<char>(byte))) {
      output_.Add(ReplyDeltaKind::kContent, static_cast<char>(byte));
      Skip();
      continue;
    }
    const bool reasons = co_await SkipText(format.reasoning_open);
    if (!reasons) break;
    output_.EndText();
    co_await ReadReasoning();
  }
  if (options_.parses_calls && IsUntagged(format.calls)) {
    Record();
    const bool called = co_await ReadUntaggedCalls();
    if (!called) RecordToContent();
    recording_ = false;
  }
  co_return {};
}

// To its closing tag, which is skipped, or to the end.
ParseTask<> ReplyParser::Machine::ReadReasoning() {
  in_reasoning_ = true;
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return {};
    const bool closed = co_await SkipText(options_.format.reasoning_close);
    if (closed) break;
    output_.Add(ReplyDeltaKind::kReasoning, static_cast<char>(byte));
    Skip();
  }
  in_reasoning_ = false;
  output_.EndText();
  co_return {};
}

ParseTask<> ReplyParser::Machine::ReadAnswer() {
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return {};
    if (OpensCall(static_cast<char>(byte))) {
      const size_t before = read_byte_count_;
      Record();
      const bool called = co_await ReadCalls();
      if (!called) RecordToContent();
      recording_ = false;
      if (read_byte_count_ > before) continue;
    }
    const bool is_tag = co_await ReadAnswerTag();
    if (is_tag) continue;
    output_.Add(ReplyDeltaKind::kContent, static_cast<char>(byte));
    Skip();
  }
}

// What the model wraps its answer in.
ParseTask<bool> ReplyParser::Machine::ReadAnswerTag() {
  const ReplyFormat& format = options_.format;
  bool found = false;
  if (!output_.has_answer()) found = co_await SkipText(format.answer_open);
  if (found) {
    in_answer_ = true;
  } else if (in_answer_) {
    found = co_await SkipText(format.answer_close);
    if (found) in_answer_ = false;
  }
  if (!found && DropsStrayTags()) found = co_await SkipStrayTag();
  if (found) output_.EndText();
  co_return found;
}

ParseTask<bool> ReplyParser::Machine::SkipStrayTag() {
  for (const std::string_view tag : call_tags_) {
    const bool found = co_await SkipText(tag);
    if (found) co_return true;
  }
  co_return false;
}

// Whether the unread input begins with this; false for an empty text.
ParseTask<bool> ReplyParser::Machine::At(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const int byte = co_await input_.Peek(i);
    if (byte != static_cast<unsigned char>(text[i])) co_return false;
  }
  co_return !text.empty();
}

ParseTask<bool> ReplyParser::Machine::SkipText(std::string_view text) {
  const bool found = co_await At(text);
  if (found) Skip(text.size());
  co_return found;
}

ParseTask<> ReplyParser::Machine::SkipSpace() {
  while (true) {
    const int byte = co_await input_.Peek();
    if (!IsJsonSpace(static_cast<char>(byte))) co_return {};
    Skip();
  }
}

// Reads up to `end` and skips it. False, with everything skipped that was read: the input ended
// first, or it would have been more than `max_bytes`.
ParseTask<bool> ReplyParser::Machine::ReadUntil(std::string_view end, size_t max_bytes,
                                                std::string& text) {
  while (text.size() <= max_bytes) {
    const bool found = co_await SkipText(end);
    if (found) co_return true;
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) break;
    text += static_cast<char>(byte);
    Skip();
  }
  co_return false;
}

void ReplyParser::Machine::Skip(size_t count) {
  if (recording_) record_ += input_.unread().substr(0, count);
  input_.Skip(count);
  read_byte_count_ += count;
}

void ReplyParser::Machine::Record() {
  recording_ = true;
  record_.clear();
}

void ReplyParser::Machine::RecordToContent() {
  recording_ = false;
  std::string_view rest = record_;
  while (!rest.empty()) {
    const auto tag = std::ranges::find_if(
        call_tags_, [rest](std::string_view each) { return rest.starts_with(each); });
    if (DropsStrayTags() && tag != call_tags_.end()) {
      output_.EndText();
      rest.remove_prefix(tag->size());
    } else {
      output_.Add(ReplyDeltaKind::kContent, rest.front());
      rest.remove_prefix(1);
    }
  }
  record_.clear();
}

bool ReplyParser::Machine::Knows(std::string_view name) const {
  return std::ranges::find(options_.tools, name, &ToolSignature::name) != options_.tools.end();
}

bool ReplyParser::Machine::BeginCall(std::string_view name, std::string_view id) {
  if (!Knows(name)) return false;
  recording_ = false;
  record_.clear();
  if (options_.max_calls > 0 && output_.call_count() == options_.max_calls) output_.Close();
  output_.BeginCall(name, id);
  current_function_ = name;
  return true;
}

}  // namespace weft
