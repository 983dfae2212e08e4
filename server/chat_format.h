// How a served model holds conversations: its chat template, what the template takes, and how the
// model's replies are written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/api_error.h"
#include "proto/reply/reply_format.h"

namespace weft {

struct ChatRequest;

// What templates differ in, found out by rendering small conversations.
struct ChatTemplateTraits {
  bool lists_tools = false;        // otherwise the tools are described in a message
  bool takes_system = false;       // a message of the role system
  bool takes_developer = false;    // otherwise such a message becomes one of the role system
  bool takes_null_content = true;  // in a message that calls tools; otherwise it becomes ""
  bool wants_parts = false;        // content as a list of parts; otherwise it is a string
  bool wants_json_text = false;    // arguments of calls as text; otherwise they are objects
};

// Immutable; any thread.
class ChatFormat {
 public:
  // Errors: the template is not one.
  static Result<std::shared_ptr<const ChatFormat>> Create(const ChatTemplateSources& sources,
                                                          const Tokenizer& tokenizer,
                                                          const jinja::RenderLimits& limits = {});

  // The text that the model goes on with. `offers_tools`: whether the request's tools are told to
  // the model. Errors are 400: the template refuses the conversation, or cannot take it.
  ApiResult<std::string> RenderPrompt(const ChatRequest& request, bool offers_tools) const;

  const ChatTemplateTraits& traits() const { return traits_; }
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
  ChatTemplateTraits Probe(std::string_view source) const;
  // Empty if the template refuses.
  std::string TryRender(std::string_view messages_json, bool with_tool) const;

  ChatTemplate::Options render_options_;
  std::shared_ptr<const ChatTemplate> template_;
  std::shared_ptr<const ChatTemplate> tool_template_;  // for requests with tools
  std::string bos_text_;
  std::string eos_text_;
  ChatTemplateTraits traits_;
  ReplyFormat reply_format_;
  std::shared_ptr<const VisibleTokens> tags_;
  std::shared_ptr<const VisibleTokens> tags_with_calls_;
};

}  // namespace weft
