#include "model/tokenizer/role_messages.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

std::string TextOf(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  return token ? std::string(tokenizer.TokenText(*token)) : std::string();
}

}  // namespace

Result<std::string> RenderRoles(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                std::span<const RoleText> messages, bool in_parts) {
  auto list = nlohmann::ordered_json::array();
  for (const RoleText& message : messages) {
    nlohmann::ordered_json content = message.text;
    if (in_parts) {
      content = nlohmann::ordered_json::array({{{"type", "text"}, {"text", message.text}}});
    }
    list.push_back({{"role", message.role}, {"content", std::move(content)}});
  }
  return chat_template.Render({{"messages", std::move(list)},
                               {"add_generation_prompt", true},
                               {"bos_token", TextOf(tokenizer, tokenizer.bos())},
                               {"eos_token", TextOf(tokenizer, tokenizer.eos())}});
}

}  // namespace weft
