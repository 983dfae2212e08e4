// A model's chat template: where it stands, and what it makes of a conversation.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/tokenizer/jinja/limits.h"

namespace weft {

namespace jinja {
struct Template;
}

// A Jinja template, rendered as Hugging Face transformers does it: trim_blocks and lstrip_blocks,
// loop controls, {% generation %}, the immutable sandbox, transformers' own tojson, raise_exception
// and strftime_now. Nothing outside the variables can be reached, and steps, depth, memory and
// output are bounded. Integers have 64 bits; where Python's would be larger there is an error.
// Immutable: any number of threads may render at once.
class ChatTemplate {
 public:
  struct Options {
    std::optional<std::tm> now;  // what strftime_now sees; by default the local time
    jinja::RenderLimits limits;
    // Of several renderings together, which have no more than is left here: each takes off what it
    // needed. Not null for one thread alone.
    int64_t* steps_left = nullptr;
  };

  // Errors: ErrorCode::kCorrupt, with the line, what was found and what was expected.
  static Result<ChatTemplate> Parse(std::string_view source);

  // `variables` is an object: messages, tools, add_generation_prompt, bos_token, eos_token and
  // whatever else the caller merged into it. Errors:
  //   kInvalidArgument    the template refused the conversation (raise_exception): exactly its
  //   message,
  //                       meant for the client
  //   kInternal           the template cannot take this conversation: a fault in it, or a
  //                       conversation that it was not made for ("line N: ...")
  //   kResourceExhausted  a limit was exceeded ("line N: ...")
  Result<std::string> Render(const nlohmann::ordered_json& variables) const {
    return Render(variables, {});
  }
  Result<std::string> Render(const nlohmann::ordered_json& variables, const Options& options) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const jinja::Template> parsed);

  std::shared_ptr<const jinja::Template> template_;
};

// The templates that a model brings; empty if it has none.
struct ChatTemplateSources {
  std::string standard;  // the only one, or the one named "default"
  std::string tool_use;  // the one named "tool_use"

  // As transformers chooses: `tool_use` where tools are offered, if there is one.
  const std::string& For(bool has_tools) const {
    return has_tools && !tool_use.empty() ? tool_use : standard;
  }
};

// Of a Hugging Face directory: chat_template.jinja (with
// additional_chat_templates/tool_use.jinja), or tokenizer_config.json's chat_template (a string, or
// a list of named ones). Errors name the file.
Result<ChatTemplateSources> ReadHfChatTemplates(const std::string& directory);
// The standard one alone.
Result<std::string> ReadHfChatTemplate(const std::string& directory);

}  // namespace weft
