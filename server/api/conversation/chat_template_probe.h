// What a chat template takes, found out by rendering small conversations. Include from .cc files
// only, but for the traits.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "model/tokenizer/chat_template.h"

namespace weft {

// What the content of a role's messages may be.
struct ContentForms {
  bool text = true;    // otherwise a string becomes a part
  bool parts = false;  // otherwise parts are joined with line ends
};

// How the calls of a conversation are told to a template.
enum class CallShape {
  kAsTheyAre,
  kOneByOne,  // one a message, each with its answers behind it
  kText,      // spelled out in the content
};

// What templates differ in. The defaults are those of a template that nothing could be found out
// of.
struct ChatTemplateTraits {
  std::string fault;                  // why it cannot render a plain chat; empty: it can
  bool has_generation_prompt = true;  // what add_generation_prompt asks for
  std::string generation_prompt;      // that, if it comes behind all else
  bool takes_null_tools = true;       // where there are no tools; otherwise they are undefined
  bool lists_tools = false;           // otherwise the tools are described in a message
  bool takes_bare_tools = true;       // otherwise description and parameters are filled in
  bool takes_system = false;          // a message of the role system
  bool knows_developer = false;       // otherwise such a message becomes one of the role system
  bool takes_null_content = false;    // in a message that calls tools; otherwise it becomes ""
  bool wants_json_text = false;       // arguments of calls as text; otherwise they are objects
  CallShape calls = CallShape::kText;
  bool names_calls_by_id = false;  // prints a call's id, which must have the function's name
  bool text_hides_calls = false;   // of the same message; text becomes a message of its own
  bool takes_tool_role = false;    // otherwise an answer becomes a user's message
  std::map<std::string, ContentForms, std::less<>> content;  // by role

  ContentForms ContentOf(std::string_view role) const {
    const auto found = content.find(role);
    return found == content.end() ? ContentForms() : found->second;
  }
};

// Of requests with tools, or without any. `variables` are those that every rendering has. Renders
// some thirty times, each within the limits of `options`.
ChatTemplateTraits ProbeChatTemplate(const ChatTemplate& chat_template,
                                     const nlohmann::ordered_json& variables,
                                     const ChatTemplate::Options& options, bool with_tools);

}  // namespace weft
