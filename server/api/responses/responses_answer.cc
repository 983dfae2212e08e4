#include "server/api/responses/responses_answer.h"

#include <ctime>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "proto/sse.h"

namespace weft {
namespace {

void SetFailure(const ApiError& error, ResponseObject& response) {
  response.status = "failed";
  response.error_code = error.code;
  response.error_message = error.message;
}

std::shared_ptr<const StoredItem> StoredOf(const ResponseItem& item) {
  return std::make_shared<const StoredItem>(StoredItem{.id = item.id, .json = ToJson(item)});
}

}  // namespace

std::string MakeItemId(std::string_view type, std::string_view response_id, size_t index) {
  const std::string_view prefix = type == "message"            ? "msg"
                                  : type == "reasoning"        ? "rs"
                                  : type == "function_call"    ? "fc"
                                  : type == "custom_tool_call" ? "ctc"
                                  : type == "compaction"       ? "cmp"
                                                               : "fco";
  return fmt::format("{}_{}{:04x}", prefix, response_id.substr(kResponseIdPrefix.size()), index);
}

ResponsesAnswer::ResponsesAnswer(ResponsesAnswerOptions options)
    : GenerationAnswer(1), options_(std::move(options)), reply_(options_.reply) {
  response_.id = options_.id;
  response_.model = options_.model->id;
  response_.echo = std::move(options_.echo);
}

void ResponsesAnswer::Begin(std::string_view, int64_t created) {
  response_.created_at = created;
  if (options_.background) response_.status = "queued";
  if (!options_.stream) return;
  events_.AddResponse("response.created", response_);
  events_.AddResponse("response.in_progress", response_);
}

std::string ResponsesAnswer::TakeStreamText() {
  std::string text;
  for (const std::string& event : events_.Take()) text += event;
  if (finished()) text += kSseDone;
  return text;
}

std::string ResponsesAnswer::WholeBody() { return ToJson(response_); }

std::string ResponsesAnswer::StreamError(const ApiError& error) const {
  ResponseEvents events = events_;
  ResponseObject failed = response_;
  SetFailure(error, failed);
  events.AddError(error);
  events.AddResponse("response.failed", failed);
  std::string text;
  for (const std::string& event : events.Take()) text += event;
  return text;
}

void ResponsesAnswer::OnPromptLogprobs(int32_t, const PromptLogprobs&) {}  // nobody asks for them

void ResponsesAnswer::OnTokens(int32_t, const TokensEvent& event) {
  response_.status = "in_progress";
  if (!options_.generates) return;
  for (const TokenLogprob& entry : event.logprobs) {
    logprobs_.push_back(ChatLogprobOf(*options_.model->tokenizer, entry));
  }
  const bool reasoned = reply_.in_reasoning();
  for (ReplyDelta& delta : reply_.Push(event, mutable_usage())) AddDelta(std::move(delta));
  if (reasoned) logprobs_.clear();  // of a tag that ends it
}

void ResponsesAnswer::OnFinish(int32_t, const FinishEvent& event) {
  for (ReplyDelta& delta : reply_.Finish()) AddDelta(std::move(delta));
  const bool complete = event.reason != FinishReason::kLength || !options_.generates;
  // A reply without any text is an empty one; with calls alone, there is none.
  if (complete && options_.generates && !HasAnswer()) OpenItem(ItemKind::kMessage);
  EndItem(complete ? "completed" : "incomplete");
  response_.status = complete ? "completed" : "incomplete";
  if (complete) {
    response_.completed_at = static_cast<int64_t>(std::time(nullptr));
  } else {
    response_.incomplete_reason = "max_output_tokens";
  }
  response_.usage = usage();
  if (options_.store != nullptr && !Store(true)) response_.echo["store"] = false;
  if (options_.socket != nullptr) options_.socket->last = ToStored(true);
  if (options_.stream) events_.AddResponse("response." + response_.status, response_);
}

bool ResponsesAnswer::HasAnswer() const {
  return !response_.output.empty() && response_.output.back().kind != ItemKind::kReasoning;
}

void ResponsesAnswer::AddDelta(ReplyDelta delta) {
  // Those of other tokens belong to no text.
  std::vector<ChatLogprob> logprobs;
  if (delta.kind != ReplyDeltaKind::kCallBegun) logprobs = std::exchange(logprobs_, {});
  switch (delta.kind) {
    case ReplyDeltaKind::kCallBegun:
      return BeginCall(std::move(delta));
    case ReplyDeltaKind::kCallArguments:
      return AddArguments(delta.text);
    case ReplyDeltaKind::kReasoning:
      OpenItem(ItemKind::kReasoning);
      return AddText(delta.text, {});
    case ReplyDeltaKind::kContent:
      OpenItem(ItemKind::kMessage);
      return AddText(delta.text, std::move(logprobs));
  }
}

void ResponsesAnswer::BeginCall(ReplyDelta delta) {
  const auto found = options_.tools.find(delta.text);
  ResponseItem call;
  call.kind = ItemKind::kFunctionCall;
  call.call_id = delta.call_id.empty() ? MakeCallId(options_.id, 0, delta.call_index,
                                                    options_.reply.options.format.calls)
                                       : std::move(delta.call_id);
  call.name = std::move(delta.text);
  if (found != options_.tools.end()) {
    call.space = found->second.space;
    call.name = found->second.name;
    if (found->second.is_custom) call.kind = ItemKind::kCustomToolCall;
  }
  BeginItem(std::move(call));
  input_reader_ = {};
}

void ResponsesAnswer::AddArguments(const std::string& text) {
  const bool is_custom = response_.output.back().kind == ItemKind::kCustomToolCall;
  const std::string more = is_custom ? input_reader_.Push(text) : text;
  if (!more.empty()) AddText(more, {});
}

void ResponsesAnswer::AddText(const std::string& text, std::vector<ChatLogprob> logprobs) {
  ResponseItem& item = response_.output.back();
  item.text += text;
  if (options_.stream) events_.AddDelta(response_.output.size() - 1, item, text, logprobs);
  item.logprobs.insert(item.logprobs.end(), std::make_move_iterator(logprobs.begin()),
                       std::make_move_iterator(logprobs.end()));
}

ResponseItem& ResponsesAnswer::OpenItem(ItemKind kind) {
  const bool is_open = !response_.output.empty() && response_.output.back().kind == kind &&
                       response_.output.back().status == "in_progress";
  if (!is_open) {
    ResponseItem item;
    item.kind = kind;
    item.is_sealed = options_.seals_reasoning;
    BeginItem(std::move(item));
  }
  return response_.output.back();
}

void ResponsesAnswer::BeginItem(ResponseItem item) {
  EndItem("completed");
  const size_t index = response_.output.size();
  item.id = MakeItemId(TypeOf(item.kind), options_.id, options_.input.size() + index);
  response_.output.push_back(std::move(item));
  if (options_.stream) events_.BeginItem(index, response_.output.back());
}

// Of the one that is under way, if one is.
void ResponsesAnswer::EndItem(std::string_view status) {
  if (response_.output.empty() || response_.output.back().status != "in_progress") return;
  ResponseItem& item = response_.output.back();
  if (item.kind == ItemKind::kCustomToolCall) {
    if (const std::string rest = input_reader_.Finish(); !rest.empty()) AddText(rest, {});
  }
  item.status = status;
  if (options_.stream) events_.EndItem(response_.output.size() - 1, item);
}

std::shared_ptr<const StoredResponse> ResponsesAnswer::ToStored(bool finished) const {
  auto stored = std::make_shared<StoredResponse>();
  stored->owner = options_.owner;
  stored->id = options_.id;
  stored->background = options_.background;
  stored->finished = finished;
  stored->history = options_.history;
  stored->input = options_.input;
  for (const ResponseItem& item : response_.output) stored->output.push_back(StoredOf(item));
  stored->body = ToJson(response_);
  return stored;
}

// A response in the background has its place in the store from its beginning, until it is deleted.
bool ResponsesAnswer::Store(bool finished) {
  std::shared_ptr<const StoredResponse> stored = ToStored(finished);
  const bool replaces = options_.background && response_.status != "queued";
  return replaces ? options_.store->Replace(std::move(stored))
                  : options_.store->Put(std::move(stored));
}

bool ResponsesAnswer::StoreUnfinished() { return Store(false); }

void ResponsesAnswer::Fail(const ApiError& error) {
  EndItem("incomplete");
  SetFailure(error, response_);
  Store(true);
}

void ResponsesAnswer::Cancel() {
  EndItem("incomplete");
  response_.status = "cancelled";
  Store(true);
}

}  // namespace weft
