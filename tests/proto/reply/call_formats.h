// Every way in which replies write calls.
#pragma once

#include <string>
#include <string_view>

#include "proto/reply/reply_format.h"

namespace weft {

inline constexpr CallFormat kAllCallFormats[] = {
    CallFormat::kPlainJson,    CallFormat::kLlama,       CallFormat::kHermes,
    CallFormat::kQwenXml,      CallFormat::kSeedXml,     CallFormat::kMiniMax,
    CallFormat::kGlm,          CallFormat::kMistral,     CallFormat::kMistralNamed,
    CallFormat::kDeepSeekV3,   CallFormat::kDeepSeekV31, CallFormat::kKimi,
    CallFormat::kGranite,      CallFormat::kHunyuan,     CallFormat::kNemotron,
    CallFormat::kNemotronMini, CallFormat::kCommandR,    CallFormat::kCommandAction,
    CallFormat::kApertus,      CallFormat::kGemma,       CallFormat::kFunctionGemma,
    CallFormat::kOlmo,         CallFormat::kLfm2,        CallFormat::kHarmony,
    CallFormat::kSolar,        CallFormat::kGlm4};

// A call of `name` with the argument a = 1, as the format's description has it, without a tag that
// ends the text.
inline std::string CallExample(CallFormat format, std::string_view name = "f") {
  const std::string text = [format]() -> std::string {
    switch (format) {
      case CallFormat::kPlainJson:
        return R"({"name": "NAME", "arguments": {"a": 1}})";
      case CallFormat::kLlama:
        return R"({"name": "NAME", "parameters": {"a": 1}})";
      case CallFormat::kGlm4:
        return "NAME\n{\"a\": 1}";
      case CallFormat::kHermes:
        return "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"a\": 1}}\n</tool_call>";
      case CallFormat::kQwenXml:
        return "<tool_call>\n<function=NAME>\n<parameter=a>\n1\n</parameter>\n</function>\n</"
               "tool_call>";
      case CallFormat::kSeedXml:
        return "<seed:tool_call><function=NAME><parameter=a>1</parameter></function></"
               "seed:tool_call>";
      case CallFormat::kMiniMax:
        return "<minimax:tool_call>\n<invoke name=\"NAME\">\n<parameter name=\"a\">1</parameter>\n"
               "</invoke>\n</minimax:tool_call>";
      case CallFormat::kGlm:
        return "<tool_call>NAME\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>";
      case CallFormat::kMistral:
        return R"([TOOL_CALLS][{"name": "NAME", "arguments": {"a": 1}}])";
      case CallFormat::kMistralNamed:
        return R"([TOOL_CALLS]NAME[ARGS]{"a": 1})";
      case CallFormat::kDeepSeekV3:
        return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n"
               "{\"a\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
      case CallFormat::kDeepSeekV31:
        return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{\"a\": 1}"
               "<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
      case CallFormat::kKimi:
        return "<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0"
               "<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>";
      case CallFormat::kGranite:
        return R"(<|tool_call|>[{"name": "NAME", "arguments": {"a": 1}}])";
      case CallFormat::kHunyuan:
        return R"(<tool_calls>[{"name": "NAME", "arguments": {"a": 1}}]</tool_calls>)";
      case CallFormat::kNemotron:
        return R"(<TOOLCALL>[{"name": "NAME", "arguments": {"a": 1}}]</TOOLCALL>)";
      case CallFormat::kNemotronMini:
        return R"(<toolcall> {"type": "function", "function": {"name": "NAME", "arguments": )"
               R"({"a": 1}}} </toolcall>)";
      case CallFormat::kCommandR:
        return "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"NAME\", "
               "\"parameters\": {\"a\": 1}}\n]<|END_ACTION|>";
      case CallFormat::kCommandAction:
        return "Action:\n```json\n[\n    {\n        \"tool_name\": \"NAME\",\n        "
               "\"parameters\": {\"a\": 1}\n    }\n]```";
      case CallFormat::kApertus:
        return R"(<|tools_prefix|>[{"NAME": {"a": 1}}]<|tools_suffix|>)";
      case CallFormat::kGemma:
        return "<|tool_call>call:NAME{a:1}<tool_call|>";
      case CallFormat::kFunctionGemma:
        return "<start_function_call>call:NAME{a:1}<end_function_call>";
      case CallFormat::kOlmo:
        return "<function_calls>\nNAME(a=1)\n</function_calls>";
      case CallFormat::kLfm2:
        return "<|tool_call_start|>[NAME(a=1)]<|tool_call_end|>";
      case CallFormat::kHarmony:
        return "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{\"a\": "
               "1}";
      case CallFormat::kSolar:
        return "<|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>NAME<|tool_call:args|>"
               "{\"a\": 1}<|tool_call:end|>";
    }
    return {};
  }();
  std::string example;  // NAME is where the name stands
  for (size_t begin = 0; begin < text.size();) {
    const size_t place = text.find("NAME", begin);
    example += text.substr(begin, place - begin);
    if (place == std::string::npos) break;
    example += name;
    begin = place + 4;
  }
  return example;
}

}  // namespace weft
