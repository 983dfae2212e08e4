#include "proto/reply/reply_format.h"

#include <array>
#include <functional>

#include <fmt/core.h>

namespace weft {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

CallFormat CallFormatOf(std::string_view source) {
  if (Has(source, "<|channel|>")) return CallFormat::kHarmony;
  if (Has(source, "<｜tool▁call▁begin｜>")) {
    return Has(source, "```json") ? CallFormat::kDeepSeekV3 : CallFormat::kDeepSeekV31;
  }
  if (Has(source, "<|tool_call_begin|>")) return CallFormat::kKimi;
  if (Has(source, "<function=") && Has(source, "<parameter=")) return CallFormat::kQwenXml;
  if (Has(source, "<arg_key>")) return CallFormat::kGlm;
  if (Has(source, "[TOOL_CALLS]")) {
    return Has(source, "[ARGS]") ? CallFormat::kMistralNamed : CallFormat::kMistral;
  }
  if (Has(source, "<|START_ACTION|>")) return CallFormat::kCommandR;
  if (Has(source, "<tool_call>")) return CallFormat::kHermes;
  if (Has(source, "<|tool_call|>")) return CallFormat::kGranite;
  if (Has(source, "<|python_tag|>") ||
      (Has(source, "<|start_header_id|>") && Has(source, "\"parameters\""))) {
    return CallFormat::kLlama;
  }
  return CallFormat::kPlainJson;
}

struct ReasoningTags {
  std::string_view open;
  std::string_view close;
};
constexpr std::array<ReasoningTags, 4> kReasoningTags = {{
    {"[THINK]", "[/THINK]"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<seed:think>", "</seed:think>"},
    {"<thought>", "</thought>"},
}};

}  // namespace

ReplyFormat ReplyFormatOf(std::string_view template_source) {
  ReplyFormat format;
  format.calls = CallFormatOf(template_source);
  for (const ReasoningTags& tags : kReasoningTags) {
    // The closing tag alone: some templates open in the prompt, some cut old reasoning away.
    if (!Has(template_source, tags.close)) continue;
    format.reasoning_open = tags.open;
    format.reasoning_close = tags.close;
  }
  if (format.calls == CallFormat::kHarmony) {
    format.reasoning_open.clear();
    format.reasoning_close.clear();
  } else if (Has(template_source, "<|START_RESPONSE|>")) {
    format.answer_open = "<|START_RESPONSE|>";
    format.answer_close = "<|END_RESPONSE|>";
  } else if (Has(template_source, "<response></response>")) {  // Granite 3, after its thoughts
    format.answer_open = "<response>";
    format.answer_close = "</response>";
  }
  return format;
}

std::vector<std::string_view> CallTagsOf(CallFormat format) {
  switch (format) {
    case CallFormat::kPlainJson:
      return {};
    case CallFormat::kLlama:
      return {"<|python_tag|>"};
    case CallFormat::kHermes:
      return {"<tool_call>", "</tool_call>"};
    case CallFormat::kQwenXml:
      return {"<tool_call>", "</tool_call>", "</function>", "</parameter>"};
    case CallFormat::kGlm:
      return {"<tool_call>", "</tool_call>", "<arg_key>",
              "</arg_key>",  "<arg_value>",  "</arg_value>"};
    case CallFormat::kMistral:
    case CallFormat::kMistralNamed:
      return {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};
    case CallFormat::kDeepSeekV3:
    case CallFormat::kDeepSeekV31:
      return {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
              "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"};
    case CallFormat::kKimi:
      return {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
              "<|tool_call_end|>", "<|tool_calls_section_end|>"};
    case CallFormat::kGranite:
      return {"<|tool_call|>", "<|/tool_call|>"};
    case CallFormat::kCommandR:
      return {"<|START_ACTION|>", "<|END_ACTION|>"};
    case CallFormat::kHarmony:
      return {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
              "<|end|>",   "<|call|>",    "<|return|>"};
  }
  return {};
}

std::vector<std::string_view> TagsOf(const ReplyFormat& format, bool with_calls) {
  std::vector<std::string_view> tags;
  if (with_calls || format.calls == CallFormat::kHarmony) tags = CallTagsOf(format.calls);
  for (const std::string& tag :
       {std::cref(format.reasoning_open), std::cref(format.reasoning_close),
        std::cref(format.answer_open), std::cref(format.answer_close)}) {
    if (!tag.empty()) tags.push_back(tag);
  }
  return tags;
}

std::string CallOpening(const ReplyFormat& format, std::string_view function) {
  // Without the space after the last colon: vocabularies have it in one token with the brace.
  const auto json = [&](std::string_view before, std::string_view name_key,
                        std::string_view arguments_key) {
    const std::string opening = fmt::format("{}{{\"{}\": \"", before, name_key);
    return function.empty() ? opening
                            : fmt::format("{}{}\", \"{}\":", opening, function, arguments_key);
  };
  const auto named = [&](std::string_view before, std::string_view after) {
    return function.empty() ? std::string(before) : fmt::format("{}{}{}", before, function, after);
  };
  switch (format.calls) {
    case CallFormat::kPlainJson:
      return json("", "name", "arguments");
    case CallFormat::kLlama:
      return json("", "name", "parameters");
    case CallFormat::kHermes:
      return json("<tool_call>\n", "name", "arguments");
    case CallFormat::kQwenXml:
      return named("<tool_call>\n<function=", ">\n");
    case CallFormat::kGlm:
      return named("<tool_call>", "\n");
    case CallFormat::kMistral:
      return json("[TOOL_CALLS][", "name", "arguments");
    case CallFormat::kMistralNamed:
      return named("[TOOL_CALLS]", "[ARGS]");
    case CallFormat::kDeepSeekV3:
      return named("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                   "\n```json\n");
    case CallFormat::kDeepSeekV31:
      return named("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁sep｜>");
    case CallFormat::kKimi:
      return named("<|tool_calls_section_begin|><|tool_call_begin|>functions.",
                   ":0<|tool_call_argument_begin|>");
    case CallFormat::kGranite:
      return json("<|tool_call|>[", "name", "arguments");
    case CallFormat::kCommandR:
      return json("<|START_ACTION|>[\n    ", "tool_name", "parameters");
    case CallFormat::kHarmony:
      return named("<|channel|>commentary to=functions.", " <|constrain|>json<|message|>");
  }
  return {};
}

bool BeginsInReasoning(const ReplyFormat& format, std::string_view prompt) {
  if (format.reasoning_open.empty()) return false;
  const size_t end = prompt.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return false;
  return prompt.substr(0, end + 1).ends_with(format.reasoning_open);
}

}  // namespace weft
