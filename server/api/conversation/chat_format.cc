#include "server/api/conversation/chat_format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/check.h"
#include "base/format_bytes.h"
#include "proto/chat/chat_request.h"
#include "server/api/conversation/chat_calls.h"
#include "server/api/conversation/chat_messages.h"
#include "server/api/conversation/final_message.h"
#include "server/api/conversation/tool_fault.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

size_t TextBytes(const ordered_json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  size_t size_bytes = 0;
  for (const ordered_json& member : value) {
    if (member.is_string() || member.is_structured()) size_bytes += TextBytes(member);
  }
  return size_bytes;
}

// What a failed rendering of `messages` means to the client.
ApiError ConversationRefusal(const Error& error, const std::string& path,
                             const ordered_json& messages, const jinja::RenderLimits& limits) {
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

// Where the template asks for an answer, near the end: in the words that are known of it, or in the
// first half of them at least, since variables may change what follows. Otherwise the end.
size_t SharedBytes(const ChatTemplateTraits& traits, std::string_view text) {
  constexpr size_t kMostBytes = 512;
  const std::string_view asking = traits.generation_prompt;
  const size_t first = text.size() - std::min(text.size(), kMostBytes);
  for (size_t length = asking.size(); 2 * length > asking.size(); --length) {
    const size_t place = text.substr(first).rfind(asking.substr(0, length));
    if (place != std::string_view::npos) return first + place;
  }
  return text.size();
}

// Where the template has put what this message says, if it does so as it is, but for space around
// it; before the first `end` bytes end. 0: nowhere.
size_t FindMessage(const ordered_json& message, std::string_view text, size_t end) {
  const std::string said = JoinedText(message.value("content", ordered_json()));
  const std::string_view words = Trimmed(said, kAsciiSpace);
  if (words.empty()) return 0;
  const size_t place = text.substr(0, end).rfind(words);
  return place == std::string_view::npos ? 0 : place;
}

// What templates of Llama's kin read besides, as llama-server gives it to them: otherwise they say
// a day of their own, long ago. `functions` would be text about tools; see DescribeTools.
ordered_json DefaultVariables() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm day{};
  localtime_r(&now, &day);
  const auto text = [&day](const char* format) {
    std::array<char, 16> buffer{};
    return std::string(buffer.data(), std::strftime(buffer.data(), buffer.size(), format, &day));
  };
  return {{"date_string", text("%d %b %Y")}, {"datetime", text("%b %d %Y")}, {"functions", ""}};
}

// Of all that is rendered to find out what a template takes: half a second, where known templates
// need some milliseconds.
constexpr int64_t kProbeSteps = 10'000'000;

}  // namespace

Result<std::shared_ptr<const ChatFormat>> ChatFormat::Create(const ChatTemplateSources& sources,
                                                             const Tokenizer& tokenizer,
                                                             const jinja::RenderLimits& limits) {
  std::shared_ptr<ChatFormat> format(new ChatFormat(limits));
  // A model may bring the one for tools alone.
  const bool has_standard = !sources.standard.empty();
  WEFT_ASSIGN_OR_RETURN(ChatTemplate standard, ChatTemplate::Parse(sources.For(!has_standard)));
  format->source_ = sources.For(!has_standard);
  format->template_ = std::make_shared<const ChatTemplate>(std::move(standard));
  format->tool_template_ = format->template_;
  if (!sources.tool_use.empty()) {
    WEFT_ASSIGN_OR_RETURN(ChatTemplate tool_use, ChatTemplate::Parse(sources.tool_use));
    format->tool_template_ = std::make_shared<const ChatTemplate>(std::move(tool_use));
  }
  format->bos_text_ = TextOf(tokenizer, tokenizer.bos());
  format->eos_text_ = TextOf(tokenizer, tokenizer.eos());
  ordered_json variables = DefaultVariables();
  variables.update(format->OwnVariables());
  int64_t probe_steps_left = kProbeSteps;
  ChatTemplate::Options options = format->render_options_;
  options.steps_left = &probe_steps_left;
  format->traits_ = ProbeChatTemplate(*format->template_, variables, options, false);
  format->tool_traits_ = ProbeChatTemplate(*format->tool_template_, variables, options, true);
  if (probe_steps_left == 0) {
    return Fail(ErrorCode::kResourceExhausted,
                "chat template: takes more than {} steps to render the few small conversations "
                "that show what it takes",
                kProbeSteps);
  }
  format->reply_format_ = ReplyFormatOf(sources.For(true));
  if (!format->lists_tools()) {
    format->traits_.calls = CallShape::kText;
    format->traits_.takes_tool_role = false;
    format->reply_format_.calls = CallFormat::kPlainJson;
  }
  format->tags_ = FindVisibleTokens(format->reply_format_, false, tokenizer);
  format->tags_with_calls_ = FindVisibleTokens(format->reply_format_, true, tokenizer);
  return std::shared_ptr<const ChatFormat>(std::move(format));
}

ordered_json ChatFormat::OwnVariables() const {
  return {{"documents", nullptr},
          {"continue_final_message", false},
          {"bos_token", bos_text_},
          {"eos_token", eos_text_}};
}

ApiError ChatFormat::RefusalOf(const Error& error, const ChatRequest& request,
                               const ordered_json& variables, bool lists_tools) const {
  if (lists_tools) {
    ordered_json plain = variables;
    plain["messages"] = ordered_json::array({{{"role", "user"}, {"content", "x"}}});
    WEFT_CHECK(ShapeMessages(tool_traits_, "messages", plain["messages"]).has_value());
    std::optional<ApiError> refusal =
        FindToolAtFault(*tool_template_, render_options_, std::move(plain), request.tool_paths);
    if (refusal) return *std::move(refusal);
  }
  return ConversationRefusal(error, request.messages_path, variables["messages"],
                             render_options_.limits);
}

ApiResult<RenderedPrompt> ChatFormat::RenderPrompt(const ChatRequest& request,
                                                   bool offers_tools) const {
  const bool lists = offers_tools && lists_tools();
  const ChatTemplateTraits& traits = this->traits(lists);
  ordered_json variables = DefaultVariables();
  variables.update(request.template_variables);
  variables.update(OwnVariables());
  // Growing, it would copy what it has.
  auto& members = variables.get_ref<ordered_json::object_t&>();
  members.reserve(members.size() + 5);
  ordered_json& messages = variables["messages"] = request.messages;
  bool continues = request.continue_final_message;
  // Nothing to go on with: a new message, if the template can begin one.
  const bool begins = continues && traits.has_generation_prompt && messages.size() > 1 &&
                      IsEmptyMessage(messages.back());
  if (begins) {
    messages.erase(messages.size() - 1);
    continues = false;
  }
  WEFT_RETURN_IF_ERROR(ShapeMessages(traits, request.messages_path, messages));
  if (offers_tools && !lists) DescribeTools(traits, request.tools, messages);
  std::optional<std::string> continued;
  std::string end;
  if (continues) {
    continued = JoinedText(messages.back()["content"]);
    end = MarkEnd(messages.back());
  }
  if (lists) {
    variables["tools"] = traits.takes_bare_tools ? request.tools : FilledTools(request.tools);
  } else if (traits.takes_null_tools) {
    variables["tools"] = nullptr;
  }
  variables["documents"] = request.documents;
  variables["add_generation_prompt"] = request.add_generation_prompt || begins;
  variables["continue_final_message"] = continues;
  Result<std::string> prompt = TemplateFor(lists).Render(variables, render_options_);
  if (!prompt) return tl::unexpected(RefusalOf(prompt.error(), request, variables, lists));
  RenderedPrompt rendered{.text = *std::move(prompt), .continued = std::move(continued)};
  if (rendered.continued) {
    WEFT_ASSIGN_OR_RETURN(rendered.text, CutAtMark(std::move(rendered.text), end));
  }
  rendered.shared_bytes = SharedBytes(traits, rendered.text);
  if (!rendered.continued && !messages.empty()) {
    rendered.last_message_at = FindMessage(messages.back(), rendered.text, rendered.shared_bytes);
  }
  return rendered;
}

}  // namespace weft
