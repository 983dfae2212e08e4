// How a model writes its replies: which tags part reasoning from the answer, and how it calls
// tools. Chosen from the source of its chat template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// An example of each call: name f, argument a = 1.
enum class CallFormat {
  kPlainJson,  // {"name": "f", "arguments": {"a": 1}}, and nothing else in the reply
  kLlama,      // the same with "parameters", perhaps after <|python_tag|>, parted by ;
               // or [f(a=1)]
  kGlm4,       // f\n{"a": 1}, and nothing else in the reply; or as kPlainJson
  kHermes,     // <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>
  kQwenXml,    // <tool_call><function=f><parameter=a>1</parameter></function></tool_call>
  kSeedXml,    // the same in <seed:tool_call>
  kMiniMax,    // <minimax:tool_call><invoke name="f"><parameter name="a">1</parameter></invoke>...
  kGlm,        // <tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>
  kMistral,    // [TOOL_CALLS][{"name": "f", ...}]
  kMistralNamed,  // [TOOL_CALLS]f[ARGS]{"a": 1}; replies in either form are understood
  kDeepSeekV3,    // <｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a":
                  // 1}\n```<｜tool▁call▁end｜>
  kDeepSeekV31,   // <｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>
  kKimi,  // <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>
  kGranite,        // <|tool_call|>[{"name": "f", ...}]
  kHunyuan,        // <tool_calls>[{"name": "f", ...}]</tool_calls>
  kNemotron,       // <TOOLCALL>[{"name": "f", ...}]</TOOLCALL>
  kNemotronMini,   // <toolcall> {"type": "function", "function": {"name": "f", ...}} </toolcall>
  kCommandR,       // <|START_ACTION|>[{"tool_name": "f", "parameters": {"a": 1}}]<|END_ACTION|>
  kCommandAction,  // Action:\n```json\n[{"tool_name": "f", "parameters": {"a": 1}}]```
  kApertus,        // <|tools_prefix|>[{"f": {"a": 1}}]<|tools_suffix|>
  kGemma,          // <|tool_call>call:f{a:1}<tool_call|>
  kFunctionGemma,  // <start_function_call>call:f{a:1}<end_function_call>
  kOlmo,           // <function_calls>\nf(a=1)\n</function_calls>
  kLfm2,           // <|tool_call_start|>[f(a=1)]<|tool_call_end|>
  kHarmony,  // <|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>
  kSolar,    // <|tool_calls|><|tool_call:begin|>ID<|tool_call:name|>f<|tool_call:args|>{"a": 1}...
};

// Whether calls are the whole reply, told from other text by the names of tools alone.
constexpr bool IsUntagged(CallFormat format) {
  return format == CallFormat::kPlainJson || format == CallFormat::kLlama ||
         format == CallFormat::kGlm4;
}

// Whether replies are messages with a header each, in which reasoning and calls have their own.
constexpr bool HasMessages(CallFormat format) {
  return format == CallFormat::kHarmony || format == CallFormat::kSolar;
}

struct ReplyFormat {
  CallFormat calls = CallFormat::kPlainJson;
  // Around reasoning, at the beginning of a reply. Empty where replies have messages instead.
  std::string reasoning_open = "<think>";
  std::string reasoning_close = "</think>";
  bool reasons = false;  // the template knows reasoning
  // Around the answer, if the model wraps it: dropped. Empty: it does not.
  std::string answer_open = {};
  std::string answer_close = {};
};

// A pure function of the template's text.
ReplyFormat ReplyFormatOf(std::string_view template_source);

// The tags of calls.
std::vector<std::string_view> CallTagsOf(CallFormat format);

// Every tag that a reply in this format may have, those of calls only on request. A vocabulary may
// have them as control tokens, whose text is needed to understand the reply.
std::vector<std::string_view> TagsOf(const ReplyFormat& format, bool with_calls);

// Whether a reply that follows this prompt begins inside reasoning, because the template has opened
// it.
bool BeginsInReasoning(const ReplyFormat& format, std::string_view prompt);

}  // namespace weft
