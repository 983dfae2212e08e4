#include "loadtest/run/body_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "loadtest/plan/render_prompt.h"
#include "proto/json_dump.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> ExtraBody(const RunOptions& options) {
  if (options.extra_body.empty()) return Json::object();
  Json extra = Json::parse(options.extra_body, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!extra.is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "--extra-body '{}': expected a JSON object",
                options.extra_body);
  }
  for (const char* name :
       {"model", "prompt", "messages", "max_tokens", "stream", "temperature", "ignore_eos"}) {
    if (extra.contains(name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--extra-body: '{}' is the load test's own; it has an option", name);
    }
  }
  return extra;
}

// What every body ends with.
Json CommonMembers(const RunOptions& options, ServerKind server) {
  Json members = {{"temperature", options.temperature}};
  if (options.ignore_eos) members["ignore_eos"] = true;
  if (server == ServerKind::kWeft) members["timings"] = true;  // llama.cpp sends them unasked
  if (options.stream) {
    members["stream"] = true;
    members["stream_options"] = {{"include_usage", true}};
    if (server == ServerKind::kVllm || server == ServerKind::kWeft) {
      members["stream_options"]["continuous_usage_stats"] = true;
    }
  }
  return members;
}

Result<void> CheckPrompts(const LoadPlan& plan, const RunOptions& options) {
  const bool is_chat = options.endpoint == Endpoint::kChat;
  if (is_chat && plan.vocabulary_size > 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "a chat's messages are text: prompts of token ids need --endpoint completions");
  }
  const bool has_conversations =
      std::any_of(plan.requests.begin(), plan.requests.end(),
                  [](const PlannedRequest& request) { return request.previous_turn >= 0; });
  if (plan.vocabulary_size > 0 && has_conversations) {
    return Fail(ErrorCode::kInvalidArgument,
                "conversations continue texts: their prompts cannot be token ids");
  }
  const bool has_messages =
      std::any_of(plan.given_prompts.begin(), plan.given_prompts.end(),
                  [](const GivenPrompt& prompt) { return !prompt.messages.empty(); });
  if (!is_chat && has_messages) {
    return Fail(ErrorCode::kInvalidArgument,
                "the prompts have messages: they need --endpoint chat");
  }
  return {};
}

void AppendMessage(std::string_view role, std::string_view content, std::string& body) {
  if (body.back() != '[') body += ',';
  body += "{\"role\":";
  AppendJsonString(role, body);
  body += ",\"content\":";
  AppendJsonString(content, body);
  body += '}';
}

// The conversation up to this turn: the indices of its requests.
std::vector<int32_t> TurnsUpTo(const LoadPlan& plan, int32_t request) {
  std::vector<int32_t> turns;
  for (int32_t turn = request; turn >= 0;
       turn = plan.requests[static_cast<size_t>(turn)].previous_turn) {
    turns.push_back(turn);
  }
  std::reverse(turns.begin(), turns.end());
  return turns;
}

}  // namespace

Result<BodyWriter> BodyWriter::Make(const LoadPlan& plan, const RunOptions& options,
                                    const ServerInfo& server) {
  WEFT_RETURN_IF_ERROR(CheckPrompts(plan, options));
  WEFT_ASSIGN_OR_RETURN(const Json extra, ExtraBody(options));
  Json members = CommonMembers(options, server.kind);
  members.update(extra);
  BodyWriter writer;
  writer.is_chat_ = options.endpoint == Endpoint::kChat;
  writer.begin_ = "{\"model\":";
  AppendJsonString(server.model, writer.begin_);
  writer.begin_ += ',';
  writer.end_ = DumpJson(members);
  writer.end_.front() = ',';
  return writer;
}

void BodyWriter::Write(const LoadPlan& plan, int32_t request, std::span<const Answer> answers,
                       std::string& body) const {
  const PlannedRequest& planned = plan.requests[static_cast<size_t>(request)];
  if (planned.behaviour == Behaviour::kMalformed) {
    WriteMalformed(request, body);
    return;
  }
  body = begin_;
  if (is_chat_) {
    WriteMessages(plan, request, answers, body);
  } else {
    WritePrompt(plan, request, answers, body);
  }
  body += ",\"max_tokens\":";
  std::array<char, 12> digits{};
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), planned.max_tokens);
  body.append(digits.data(), written.ptr);
  body += end_;
}

void BodyWriter::WriteMessages(const LoadPlan& plan, int32_t request,
                               std::span<const Answer> answers, std::string& body) const {
  body += "\"messages\":[";
  for (const int32_t turn : TurnsUpTo(plan, request)) {
    const PlannedRequest& planned = plan.requests[static_cast<size_t>(turn)];
    const GivenPrompt* given = planned.given_prompt < 0
                                   ? nullptr
                                   : &plan.given_prompts[static_cast<size_t>(planned.given_prompt)];
    if (given != nullptr && !given->messages.empty()) {
      for (const auto& message : given->messages) {
        AppendMessage(message.role, message.content, body);
      }
    } else {
      AppendMessage("user", RenderPrompt(plan, planned), body);
    }
    if (turn != request) AppendMessage("assistant", answers[static_cast<size_t>(turn)].text, body);
  }
  body += ']';
}

// A conversation without a chat is its text so far.
void BodyWriter::WritePrompt(const LoadPlan& plan, int32_t request, std::span<const Answer> answers,
                             std::string& body) const {
  body += "\"prompt\":";
  const PlannedRequest& planned = plan.requests[static_cast<size_t>(request)];
  if (plan.vocabulary_size > 0) {
    body += RenderPromptIds(plan, planned);
    return;
  }
  if (planned.previous_turn < 0) {
    AppendJsonString(RenderPrompt(plan, planned), body);
    return;
  }
  std::string text;
  for (const int32_t turn : TurnsUpTo(plan, request)) {
    text += RenderPrompt(plan, plan.requests[static_cast<size_t>(turn)]);
    if (turn != request) text += answers[static_cast<size_t>(turn)].text + "\n";
  }
  AppendJsonString(text, body);
}

// What no server may accept, and none may fall over.
void BodyWriter::WriteMalformed(int32_t request, std::string& body) const {
  constexpr int kKinds = 6;
  constexpr size_t kNesting = 10'000;
  const std::string name = is_chat_ ? "\"messages\":" : "\"prompt\":";
  body.clear();
  switch (request % kKinds) {
    case 0:  // no body at all
      return;
    case 1:  // cut short
      body = begin_ + name;
      return;
    case 2:  // not an object
      body = "[]";
      return;
    case 3:  // of the wrong type
      body = begin_ + name + "{\"text\":1}}";
      return;
    case 4:  // not UTF-8
      body = begin_ + name + "\"\xff\xfe\"}";
      return;
    default:  // deeper than a parser's stack
      body = begin_ + name + std::string(kNesting, '[');
  }
}

}  // namespace weft
