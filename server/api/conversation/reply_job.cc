#include "server/api/conversation/reply_job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "engine/engine.h"
#include "server/api/conversation/chat_format.h"
#include "server/api/prompt_tokens.h"
#include "server/api/sampling_mapping.h"
#include "server/api/structured/job_constraint.h"
#include "server/api/structured/reply_grammar.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ApiError NoTemplate(const ChatRequest& request, const ServedModel& model) {
  ApiError error = InvalidField(
      request.messages_path,
      fmt::format("the chat template of the model '{}' does not compile; start the server with "
                  "--chat-template FILE, or use /v1/completions",
                  model.id));
  error.code = "no_chat_template";
  return error;
}

// Whether a parameter's schema says that it is a string, and nothing else.
bool IsString(const ordered_json& schema) {
  return schema.is_object() && schema.contains("type") && schema["type"] == "string";
}

ToolSignature SignatureOf(const ordered_json& tool) {
  const ordered_json& function = tool["function"];
  ToolSignature signature;
  signature.name = function["name"];
  const ordered_json parameters = function.value("parameters", ordered_json());
  if (!parameters.is_object() || !parameters.contains("properties")) return signature;
  const ordered_json& properties = parameters["properties"];
  if (!properties.is_object()) return signature;
  for (const auto& [name, schema] : properties.items()) {
    signature.parameter_is_string.emplace(name, IsString(schema));
  }
  return signature;
}

// Whether a message of this text breaks off inside reasoning that it has opened itself.
bool EndsInReasoning(const ReplyFormat& format, std::string_view text) {
  if (format.reasoning_open.empty()) return false;
  const size_t open = text.rfind(format.reasoning_open);
  const size_t close = text.rfind(format.reasoning_close);
  return open != std::string_view::npos && (close == std::string_view::npos || close < open);
}

bool OffersTools(const ChatRequest& request) {
  return request.tool_choice.kind != ToolChoiceKind::kNone;
}

// What the parser of the replies has to know.
ReplySetup ReplySetupOf(const ChatRequest& request, const ChatFormat& format,
                        const RenderedPrompt& prompt) {
  ReplySetup setup;
  setup.shared_bytes = prompt.shared_bytes;
  setup.last_message_at = prompt.last_message_at;
  setup.is_continued = prompt.continued.has_value();
  ReplyOptions& reply = setup.options;
  reply.format = format.reply_format();
  const ToolChoice& choice = request.tool_choice;
  reply.begins_in_reasoning = prompt.continued ? EndsInReasoning(reply.format, *prompt.continued)
                                               : BeginsInReasoning(reply.format, prompt.text);
  reply.parses_calls = choice.kind != ToolChoiceKind::kNone;
  if (!reply.parses_calls) return setup;
  for (const ordered_json& tool : request.tools) reply.tools.push_back(SignatureOf(tool));
  if (!request.parallel_tool_calls || choice.kind == ToolChoiceKind::kFunction) reply.max_calls = 1;
  return setup;
}

// Those that may be called.
std::vector<CallableTool> CallableToolsOf(const ChatRequest& request) {
  std::vector<CallableTool> tools;
  const ToolChoice& choice = request.tool_choice;
  for (size_t i = 0; i < request.tools.size(); ++i) {
    static const ordered_json kAnyObject;
    const ordered_json& function = request.tools[i]["function"];
    const std::string name = function["name"];
    if (choice.kind == ToolChoiceKind::kFunction && name != choice.function) continue;
    const auto parameters = function.find("parameters");
    const auto input = request.inputs.find(name);
    tools.push_back({.name = name,
                     .parameters = parameters == function.end() ? &kAnyObject : &*parameters,
                     .input = input == request.inputs.end() ? nullptr : &input->second,
                     .strict = function.contains("strict") && function["strict"] == true,
                     .path = fmt::format("{}.{}", request.tool_paths.FunctionOf(i),
                                         request.tool_paths.parameters)});
  }
  return tools;
}

CallUse CallUseOf(const ToolChoice& choice) {
  if (choice.kind == ToolChoiceKind::kNone) return CallUse::kNone;
  return choice.kind == ToolChoiceKind::kAuto ? CallUse::kMay : CallUse::kMust;
}

// All that the grammar of a reply depends on, but the model.
ordered_json ContentOf(const ReplyGrammarRequest& grammar) {
  ordered_json tools = ordered_json::array();
  for (const CallableTool& tool : grammar.tools)
    tools.push_back({tool.name, *tool.parameters, tool.strict, tool.path,
                     tool.input == nullptr ? ordered_json() : ContentOf(*tool.input)});
  return {{"begins_in_reasoning", grammar.reply.begins_in_reasoning},
          {"is_continued", grammar.is_continued},
          {"max_calls", grammar.reply.max_calls},
          {"calls", grammar.calls},
          {"tools", std::move(tools)},
          {"output", ContentOf(grammar.output)}};
}

ApiResult<void> SetReplyConstraint(const ChatRequest& request, const PrepareContext& context,
                                   const ReplySetup& setup, GenerationJob& job) {
  const ReplyGrammarRequest grammar{.reply = setup.options,
                                    .is_continued = setup.is_continued,
                                    .calls = CallUseOf(request.tool_choice),
                                    .tools = CallableToolsOf(request),
                                    .output = request.output,
                                    .tools_path = "tools"};
  if (!NeedsGrammar(grammar)) return {};
  const auto compile = [&] {
    return CompileReply(grammar, *job.model->tokenizer, job.model->engine->options().end_tokens);
  };
  return SetConstraint(ContentOf(grammar), request, context, compile, job);
}

// The one prompt, tokenised as transformers does: control tokens by their text, nothing added.
ApiResult<std::vector<TokenId>> Tokenize(const ChatRequest& request, std::string_view prompt,
                                         const Tokenizer& tokenizer) {
  WEFT_ASSIGN_OR_RETURN(
      std::vector<TokenId> tokens,
      EncodeText(tokenizer, prompt, {.add_special_tokens = false, .parse_special_tokens = true},
                 request.messages_path));
  if (!tokens.empty()) return tokens;
  return tl::unexpected(InvalidField(
      request.messages_path, "the chat template makes an empty prompt of this conversation"));
}

// Of the prompt's tokens, how many its first bytes have; nearly, where a token has both sides.
int32_t CountTokensBefore(const Tokenizer& tokenizer, std::string_view prompt, size_t size_bytes,
                          size_t token_count) {
  const bool counts_rest = size_bytes > prompt.size() / 2;  // what is shorter
  const Result<std::vector<TokenId>> tokens =
      tokenizer.Encode(counts_rest ? prompt.substr(size_bytes) : prompt.substr(0, size_bytes),
                       {.add_special_tokens = false, .parse_special_tokens = true});
  if (!tokens) return 0;
  const size_t count = std::min(tokens->size(), token_count);
  return static_cast<int32_t>(counts_rest ? token_count - count : count);
}

SharedCounts CountShared(const ReplySetup& setup, const Tokenizer& tokenizer,
                         std::string_view prompt, size_t token_count) {
  // To compute so little again is cheaper than a state.
  constexpr int32_t kLeastMessage = 64;
  SharedCounts counts;
  counts.prompt = CountTokensBefore(tokenizer, prompt, setup.shared_bytes, token_count);
  counts.before_message = CountTokensBefore(tokenizer, prompt, setup.last_message_at, token_count);
  if (counts.prompt - counts.before_message < kLeastMessage) counts.before_message = 0;
  return counts;
}

ApiResult<int32_t> MaxTokensOf(const ChatRequest& request, const GenerationJob& job,
                               const RequestRules& rules, ContextWords words) {
  LengthRequest length;
  length.prompt_tokens = static_cast<int64_t>(job.prompts.front().size());
  length.prompt_path = request.messages_path;
  length.asked = request.max_tokens;
  length.max_tokens_path = request.max_tokens_path;
  length.min_tokens = request.sampling.min_tokens;
  length.default_tokens = std::numeric_limits<int32_t>::max();
  length.clamps = rules.clamps_max_tokens || request.max_tokens_is_bound;
  length.words = words;
  return FitMaxTokens(*job.model, length);
}

ApiResult<void> SetSampling(const ChatRequest& request, const RequestRules& rules,
                            ContextWords words, GenerationJob& job) {
  WEFT_RETURN_IF_ERROR(SetGeneration(request, job));
  const ApiResult<int32_t> max_tokens = MaxTokensOf(request, job, rules, words);
  if (!max_tokens) return tl::unexpected(max_tokens.error());
  job.sampling.max_tokens = *max_tokens;
  WEFT_RETURN_IF_ERROR(SetFinish(request, request.max_tokens_path, job));
  SetReplyLogprobs(request, job);
  return {};
}

}  // namespace

void SetReplyLogprobs(const ChatRequest& request, GenerationJob& job) {
  if (!request.logprobs) return;
  job.sampling.logprobs = request.top_logprobs;
  job.logprobs.bytes_each = kChatLogprobBytes;
  job.logprobs.path = request.top_logprobs > 0 ? "top_logprobs" : "logprobs";
  if (!request.max_tokens || request.stream) return;
  job.logprobs.asked_count =
      int64_t{job.sampling.max_tokens} * request.n * (1 + request.top_logprobs);
}

ApiResult<std::string> RenderReplyPrompt(const ChatRequest& request, const ServedModel& model,
                                         ReplySetup& setup) {
  if (model.chat == nullptr) return tl::unexpected(NoTemplate(request, model));
  WEFT_ASSIGN_OR_RETURN(RenderedPrompt prompt,
                        model.chat->RenderPrompt(request, OffersTools(request)));
  setup = ReplySetupOf(request, *model.chat, prompt);
  return std::move(prompt.text);
}

ApiResult<int64_t> CountReplyPrompt(const ChatRequest& request, const ServedModel& model) {
  ReplySetup setup;
  WEFT_ASSIGN_OR_RETURN(const std::string prompt, RenderReplyPrompt(request, model, setup));
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> tokens,
                        Tokenize(request, prompt, *model.tokenizer));
  return std::ssize(tokens);
}

ApiResult<GenerationJob> PrepareReply(const ChatRequest& request, const PrepareContext& context,
                                      ReplySetup& setup, ContextWords words) {
  const ApiResult<const ServedModel*> model = FindGenerator(request.model, context.models);
  if (!model) return tl::unexpected(model.error());
  WEFT_RETURN_IF_ERROR(CheckChoiceCount(**model, request.n));
  const ApiResult<std::string> prompt = RenderReplyPrompt(request, **model, setup);
  if (!prompt) return tl::unexpected(prompt.error());
  GenerationJob job;
  job.model = *model;
  job.dropped_tools = request.dropped_tools;
  WEFT_RETURN_IF_ERROR(SetReplyConstraint(request, context, setup, job));
  if (job.excess_bytes > 0) return job;
  ApiResult<std::vector<TokenId>> tokens = Tokenize(request, *prompt, *(*model)->tokenizer);
  if (!tokens) return tl::unexpected(std::move(tokens).error());

  job.choice_count = request.n;
  if (job.model->engine->options().keeps_states) {
    job.shared_counts = CountShared(setup, *job.model->tokenizer, *prompt, tokens->size());
  }
  job.prompts.push_back(*std::move(tokens));
  job.visible_tokens = job.model->chat->visible_tokens(OffersTools(request));
  WEFT_RETURN_IF_ERROR(SetSampling(request, context.rules, words, job));
  return job;
}

}  // namespace weft
