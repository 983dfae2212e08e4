// A conversation of texts alone, for templates that tell texts apart by roles of their own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

struct RoleText {
  std::string_view role;
  std::string_view text;
};

// Rendered with a generation prompt; `in_parts`: each content is a list with one part of text.
// Errors: ChatTemplate::Render's.
Result<std::string> RenderRoles(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                std::span<const RoleText> messages, bool in_parts);

}  // namespace weft
