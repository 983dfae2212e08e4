// How a served model holds conversations: its chat template, what the template takes, and how the
// model's replies are written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "engine/request.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/api_error.h"
#include "proto/reply/reply_format.h"
#include "server/api/conversation/chat_template_probe.h"

namespace weft {

struct ChatRequest;

// The text that the model goes on with.
struct RenderedPrompt {
  std::string text;
  // What the last message says, where the reply continues it; nullopt: the reply is a new message.
  std::optional<std::string> continued;
  // So much of it stands before the template asks for an answer, and will be there again in the
  // next request of the conversation, whatever becomes of the answer; as far as one can tell.
  size_t shared_bytes = 0;
  // Where in it the last message begins to say something; 0: that is not known.
  size_t last_message_at = 0;
};

// Immutable; any thread.
class ChatFormat {
 public:
  // Errors: the template is not one.
  static Result<std::shared_ptr<const ChatFormat>> Create(const ChatTemplateSources& sources,
                                                          const Tokenizer& tokenizer,
                                                          const jinja::RenderLimits& limits = {});

  // `offers_tools`: whether the request's tools are told to the model. Errors are 400: the template
  // refuses the conversation, or cannot take it.
  ApiResult<RenderedPrompt> RenderPrompt(const ChatRequest& request, bool offers_tools) const;

  // The template's text, of conversations without tools if there are two.
  const std::string& source() const { return source_; }
  // Of requests whose tools the template lists, or of all others.
  const ChatTemplateTraits& traits(bool with_tools = false) const {
    return with_tools ? tool_traits_ : traits_;
  }
  bool lists_tools() const { return tool_traits_.lists_tools; }
  const ReplyFormat& reply_format() const { return reply_format_; }
  // Control tokens that are tags of replies; see Request::visible_tokens.
  const std::shared_ptr<const VisibleTokens>& visible_tokens(bool with_calls) const {
    return with_calls ? tags_with_calls_ : tags_;
  }

 private:
  explicit ChatFormat(const jinja::RenderLimits& limits) { render_options_.limits = limits; }
  const ChatTemplate& TemplateFor(bool has_tools) const {
    return has_tools ? *tool_template_ : *template_;
  }
  // The variables that every rendering has.
  nlohmann::ordered_json OwnVariables() const;
  // Whose fault it is that `variables` could not be rendered.
  ApiError RefusalOf(const Error& error, const ChatRequest& request,
                     const nlohmann::ordered_json& variables, bool lists_tools) const;

  ChatTemplate::Options render_options_;
  std::string source_;
  std::shared_ptr<const ChatTemplate> template_;
  std::shared_ptr<const ChatTemplate> tool_template_;  // for requests with tools
  std::string bos_text_;
  std::string eos_text_;
  ChatTemplateTraits traits_;
  ChatTemplateTraits tool_traits_;
  ReplyFormat reply_format_;
  std::shared_ptr<const VisibleTokens> tags_;
  std::shared_ptr<const VisibleTokens> tags_with_calls_;
};

}  // namespace weft
