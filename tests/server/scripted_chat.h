// A model that holds conversations by a script.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tests/server/test_model.h"

namespace weft {

// Makes every prompt 256 bytes long, so that the model's script begins where the reply does.
inline constexpr int32_t kPromptBytes = 256;
inline constexpr std::string_view kTemplate =
    "{#- <tool_call> -#}"
    "{%- set ns = namespace(text='') -%}"
    "{%- for m in messages -%}"
    "{%- if m.role == 'user' and m.content == 'refuse' -%}"
    "{{- raise_exception('this model does not talk to you') -}}{%- endif -%}"
    "{%- set ns.text = ns.text ~ '<' ~ m.role ~ '>' ~ (m.content or '') -%}"
    "{%- for call in m.tool_calls or [] -%}"
    "{%- set ns.text = ns.text ~ call.function.name ~ call.function.arguments | tojson -%}"
    "{%- endfor -%}{%- endfor -%}"
    "{%- for tool in tools or [] -%}{%- set ns.text = ns.text ~ tool.function.name -%}"
    "{%- endfor -%}"
    "{{- ns.text -}}"
    "{%- if add_generation_prompt -%}{{- '.' * (250 - ns.text | length) -}}<asst>{%- endif -%}";

// Replies so.
inline TestModelOptions Saying(std::string reply) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  options.reply = std::move(reply);
  options.reply_position = kPromptBytes;
  options.max_context = 1024;
  return options;
}

}  // namespace weft
