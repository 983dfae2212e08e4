#include "server/chat_format.h"

#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/format_bytes.h"
#include "proto/chat_request.h"
#include "server/chat_messages.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

size_t TextBytes(const ordered_json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  size_t size_bytes = 0;
  for (const ordered_json& member : value) {
    if (member.is_string() || member.is_structured()) size_bytes += TextBytes(member);
  }
  return size_bytes;
}

// What a failed rendering of `messages` means to the client.
ApiError RefusalOf(const Error& error, const std::string& path, const ordered_json& messages,
                   const jinja::RenderLimits& limits) {
  if (error.code == ErrorCode::kInvalidArgument) return InvalidField(path, error.message);
  // Templates make some copies of what they are given: from here on it is not the template's fault.
  constexpr size_t kCopies = 8;
  if (error.code == ErrorCode::kResourceExhausted &&
      TextBytes(messages) > limits.memory_bytes / kCopies) {
    ApiError refusal = InvalidField(
        path, fmt::format("the conversation is longer than what this server has memory for, {} "
                          "while it is rendered; shorten the messages",
                          FormatBytes(limits.memory_bytes)));
    refusal.code = "context_length_exceeded";
    return refusal;
  }
  ApiError refusal = InvalidField(
      path,
      fmt::format("the model's chat template cannot take this conversation: {}", error.message));
  refusal.code = "template_error";
  return refusal;
}

// Cuts off what the template has put behind the last message, as transformers does: the message's
// text is looked for from the end.
ApiResult<std::string> CutAfterFinalMessage(std::string prompt, const ordered_json& message) {
  const ordered_json& content = message["content"];
  const std::string text = content.is_string() ? content.get<std::string>()
                                               : content.back().value("text", std::string());
  const std::string_view trimmed = Trimmed(text, kAsciiSpace);
  const size_t found = trimmed.empty() ? std::string::npos : prompt.rfind(trimmed);
  if (found == std::string::npos) {
    return tl::unexpected(InvalidField(
        "continue_final_message",
        "'continue_final_message' finds nothing to continue: the last message is empty, or the "
        "model's chat template does not print it as it is"));
  }
  const std::string_view with_space = TrimmedLeft(text, kAsciiSpace);
  const bool keeps_space = prompt.compare(found, with_space.size(), with_space) == 0;
  prompt.resize(found + (keeps_space ? with_space : trimmed).size());
  return prompt;
}

std::shared_ptr<const VisibleTokens> FindVisibleTokens(const ReplyFormat& format, bool with_calls,
                                                       const Tokenizer& tokenizer) {
  VisibleTokens tokens;
  for (const std::string_view tag : TagsOf(format, with_calls)) {
    const std::optional<TokenId> token = tokenizer.TokenOf(tag);
    if (token && tokenizer.TokenBytes(*token).empty()) tokens.emplace(*token, tag);
  }
  return std::make_shared<const VisibleTokens>(std::move(tokens));
}

std::string TextOf(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  return token ? std::string(tokenizer.TokenText(*token)) : std::string();
}

// Names that no template has by itself.
constexpr std::string_view kProbeTools =
    R"([{"type":"function","function":{"name":"weft_probe_tool","description":"A probe.",
        "parameters":{"type":"object","properties":{}}}}])";
constexpr std::string_view kUser = R"({"role":"user","content":"weft probe user"})";

// A call of the probe tool with these arguments and content (JSON), and its answer.
std::string CallConversation(std::string_view arguments, std::string_view content) {
  return fmt::format(
      R"([{},{{"role":"assistant","content":{},"tool_calls":[{{"id":"probe0001","type":"function",
          "function":{{"name":"weft_probe_tool","arguments":{}}}}}]}},
          {{"role":"tool","tool_call_id":"probe0001","name":"weft_probe_tool","content":"x"}}])",
      kUser, content, arguments);
}

}  // namespace

Result<std::shared_ptr<const ChatFormat>> ChatFormat::Create(const ChatTemplateSources& sources,
                                                             const Tokenizer& tokenizer,
                                                             const jinja::RenderLimits& limits) {
  std::shared_ptr<ChatFormat> format(new ChatFormat(limits));
  WEFT_ASSIGN_OR_RETURN(ChatTemplate standard, ChatTemplate::Parse(sources.For(false)));
  format->template_ = std::make_shared<const ChatTemplate>(std::move(standard));
  format->tool_template_ = format->template_;
  if (!sources.tool_use.empty()) {
    WEFT_ASSIGN_OR_RETURN(ChatTemplate tool_use, ChatTemplate::Parse(sources.tool_use));
    format->tool_template_ = std::make_shared<const ChatTemplate>(std::move(tool_use));
  }
  format->bos_text_ = TextOf(tokenizer, tokenizer.bos());
  format->eos_text_ = TextOf(tokenizer, tokenizer.eos());
  format->traits_ = format->Probe(sources.For(true));
  format->reply_format_ = ReplyFormatOf(sources.For(true));
  if (!format->traits_.lists_tools) format->reply_format_.calls = CallFormat::kPlainJson;
  format->tags_ = FindVisibleTokens(format->reply_format_, false, tokenizer);
  format->tags_with_calls_ = FindVisibleTokens(format->reply_format_, true, tokenizer);
  return std::shared_ptr<const ChatFormat>(std::move(format));
}

std::string ChatFormat::TryRender(std::string_view messages_json, bool with_tool) const {
  ordered_json variables;
  variables["messages"] = ordered_json::parse(messages_json);
  variables["tools"] = with_tool ? ordered_json::parse(kProbeTools) : ordered_json();
  variables["add_generation_prompt"] = true;
  variables["bos_token"] = bos_text_;
  variables["eos_token"] = eos_text_;
  return TemplateFor(with_tool).Render(variables, render_options_).value_or("");
}

ChatTemplateTraits ChatFormat::Probe(std::string_view source) const {
  ChatTemplateTraits traits;
  traits.lists_tools = Has(TryRender(fmt::format("[{}]", kUser), true), "weft_probe_tool");
  const std::string with_system = TryRender(
      fmt::format(R"([{{"role":"system","content":"weft probe system"}},{}])", kUser), false);
  traits.takes_system = Has(with_system, "weft probe system");
  traits.takes_developer = Has(source, "developer");
  const std::string as_text = TryRender(fmt::format("[{}]", kUser), false);
  const std::string as_parts =
      TryRender(R"([{"role":"user","content":[{"type":"text","text":"weft probe user"}]}])", false);
  traits.wants_parts = !Has(as_text, "weft probe user") && Has(as_parts, "weft probe user") &&
                       !Has(as_parts, "'weft probe user'");

  constexpr std::string_view kObject = R"({"weft_probe_key":"x"})";
  constexpr std::string_view kText = R"("{\"weft_probe_key\":\"x\"}")";
  const auto prints = [&](std::string_view arguments, std::string_view content) {
    const std::string prompt = TryRender(CallConversation(arguments, content), true);
    return Has(prompt, "weft_probe_key") && !Has(prompt, "'weft_probe_key'") &&
           !Has(prompt, "\\\"weft_probe_key") && !Has(prompt, "None");
  };
  const bool prints_object = prints(kObject, "null") || prints(kObject, "\"\"");
  traits.wants_json_text = !prints_object && (prints(kText, "null") || prints(kText, "\"\""));
  traits.takes_null_content = prints(traits.wants_json_text ? kText : kObject, "null");
  return traits;
}

ApiResult<std::string> ChatFormat::RenderPrompt(const ChatRequest& request,
                                                bool offers_tools) const {
  ordered_json variables = request.template_variables;
  ordered_json& messages = variables["messages"] = request.messages;
  ShapeMessages(traits_, messages);
  const bool lists_tools = offers_tools && traits_.lists_tools;
  if (offers_tools && !lists_tools) DescribeTools(traits_, request.tools, messages);
  variables["tools"] = lists_tools ? request.tools : ordered_json();
  variables["documents"] = request.documents;
  variables["add_generation_prompt"] = request.add_generation_prompt;
  variables["continue_final_message"] = request.continue_final_message;
  variables["bos_token"] = bos_text_;
  variables["eos_token"] = eos_text_;
  Result<std::string> prompt = TemplateFor(lists_tools).Render(variables, render_options_);
  if (!prompt) {
    return tl::unexpected(RefusalOf(prompt.error(), request.messages_path, variables["messages"],
                                    render_options_.limits));
  }
  if (!request.continue_final_message) return *std::move(prompt);
  return CutAfterFinalMessage(*std::move(prompt), variables["messages"].back());
}

}  // namespace weft
