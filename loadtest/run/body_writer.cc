#include "loadtest/run/body_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "loadtest/plan/random.h"
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
  for (const char* name : {"model", "prompt", "messages", "input", "query", "documents",
                           "max_tokens", "stream", "temperature", "ignore_eos"}) {
    if (extra.contains(name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--extra-body: '{}' is the load test's own; it has an option", name);
    }
  }
  return extra;
}

// What every body ends with.
Json CommonMembers(const RunOptions& options, ServerKind server) {
  // Which a client reads at a fraction of what numbers cost it.
  if (options.endpoint == Endpoint::kEmbeddings) return {{"encoding_format", "base64"}};
  if (options.endpoint == Endpoint::kRerank) return Json::object();
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
  const bool is_ranking = options.endpoint == Endpoint::kRerank;
  if ((is_chat || is_ranking) && plan.vocabulary_size > 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} text: prompts of token ids need --endpoint completions or embeddings",
                is_chat ? "a chat's messages are" : "queries and documents are");
  }
  const bool has_conversations =
      std::any_of(plan.requests.begin(), plan.requests.end(),
                  [](const PlannedRequest& request) { return request.previous_turn >= 0; });
  if (plan.vocabulary_size > 0 && has_conversations) {
    return Fail(ErrorCode::kInvalidArgument,
                "conversations continue texts: their prompts cannot be token ids");
  }
  if (has_conversations && !Generates(options.endpoint)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--turns: nobody converses with embeddings and rankings");
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

Result<void> CheckTextCounts(const RunOptions& options) {
  if (options.texts_per_request && options.endpoint != Endpoint::kEmbeddings) {
    return Fail(ErrorCode::kInvalidArgument,
                "--texts-per-request: expected --endpoint embeddings beside it");
  }
  if (options.documents_per_request && options.endpoint != Endpoint::kRerank) {
    return Fail(ErrorCode::kInvalidArgument,
                "--documents-per-request: expected --endpoint rerank beside it");
  }
  if (options.ignore_eos && !Generates(options.endpoint)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--ignore-eos: expected an --endpoint that generates beside it");
  }
  return {};
}

// The text of that number among the `count` of a request, of which the request's own is number 0.
// Generated ones have as many tokens each. Of given prompts, a request has the next `count`.
PlannedRequest TextOf(const LoadPlan& plan, const PlannedRequest& request, int32_t number,
                      int32_t count) {
  PlannedRequest text = request;
  if (request.given_prompt >= 0) {
    const int64_t index = int64_t{request.given_prompt} * count + number;
    text.given_prompt = static_cast<int32_t>(index % std::ssize(plan.given_prompts));
  } else if (number > 0 && !text.segments.empty()) {
    // What is shared between requests stays at the beginning.
    uint64_t& seed = text.segments.back().seed;
    seed = MixSeed(seed, static_cast<uint64_t>(number));
  }
  return text;
}

void AppendMessage(std::string_view role, std::string_view content, std::string& body) {
  if (body.back() != '[') body += ',';
  body += "{\"role\":";
  AppendJsonString(role, body);
  body += ",\"content\":";
  AppendJsonString(content, body);
  body += '}';
}

void AppendMaxTokens(int32_t max_tokens, std::string& body) {
  body += ",\"max_tokens\":";
  std::array<char, 12> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), max_tokens);
  body.append(digits.data(), written.ptr);
}

// What its texts are a member of.
std::string_view NameOfTexts(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kCompletions:
      return "\"prompt\":";
    case Endpoint::kChat:
      return "\"messages\":";
    case Endpoint::kEmbeddings:
      return "\"input\":";
    case Endpoint::kRerank:
      return "\"query\":\"q\",\"documents\":";
  }
  return "";
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
  WEFT_RETURN_IF_ERROR(CheckTextCounts(options));
  WEFT_ASSIGN_OR_RETURN(const Json extra, ExtraBody(options));
  Json members = CommonMembers(options, server.kind);
  members.update(extra);
  BodyWriter writer;
  writer.endpoint_ = options.endpoint;
  writer.text_count_ = TextsPerRequest(options);
  writer.begin_ = "{\"model\":";
  AppendJsonString(server.model, writer.begin_);
  writer.begin_ += ',';
  writer.end_ = DumpJson(members);
  if (!members.empty()) writer.end_.front() = ',';
  if (members.empty()) writer.end_ = "}";
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
  switch (endpoint_) {
    case Endpoint::kChat:
      WriteMessages(plan, request, answers, body);
      break;
    case Endpoint::kCompletions:
      WritePrompt(plan, request, answers, body);
      break;
    case Endpoint::kEmbeddings:
      WriteInput(plan, planned, body);
      break;
    case Endpoint::kRerank:
      WriteRanking(plan, planned, body);
      break;
  }
  if (Generates(endpoint_)) AppendMaxTokens(planned.max_tokens, body);
  body += end_;
}

void BodyWriter::WriteInput(const LoadPlan& plan, const PlannedRequest& request,
                            std::string& body) const {
  body += "\"input\":[";
  for (int32_t i = 0; i < text_count_; ++i) {
    if (i > 0) body += ',';
    const PlannedRequest text = TextOf(plan, request, i, text_count_);
    if (plan.vocabulary_size > 0) {
      body += RenderPromptIds(plan, text);
    } else {
      AppendJsonString(RenderPrompt(plan, text), body);
    }
  }
  body += ']';
}

// Generated queries are short.
void BodyWriter::WriteRanking(const LoadPlan& plan, const PlannedRequest& request,
                              std::string& body) const {
  constexpr int32_t kQueryTokens = 16;
  const int32_t count = text_count_ + 1;
  PlannedRequest query = TextOf(plan, request, 0, count);
  if (!query.segments.empty()) {
    query.segments = {{.seed = query.segments.back().seed, .token_count = kQueryTokens}};
  }
  body += "\"query\":";
  AppendJsonString(RenderPrompt(plan, query), body);
  body += ",\"documents\":[";
  for (int32_t i = 1; i < count; ++i) {
    if (i > 1) body += ',';
    AppendJsonString(RenderPrompt(plan, TextOf(plan, request, i, count)), body);
  }
  body += ']';
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
  const std::string name(NameOfTexts(endpoint_));
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
