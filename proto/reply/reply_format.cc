#include "proto/reply/reply_format.h"

#include <array>
#include <functional>

#include "proto/reply/call_syntax.h"

namespace weft {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What a format's templates have and no other's; the first that is found counts.
struct CallMark {
  std::string_view text;
  CallFormat format;
};
constexpr auto kCallMarks = std::to_array<CallMark>({
    {"<|channel|>", CallFormat::kHarmony},
    {"<|tool_call:begin|>", CallFormat::kSolar},
    {"<|tool_call_begin|>", CallFormat::kKimi},
    {"<seed:tool_call>", CallFormat::kSeedXml},
    {"<minimax:tool_call>", CallFormat::kMiniMax},
    {"<|tool_call>", CallFormat::kGemma},
    {"<start_function_call>", CallFormat::kFunctionGemma},
    {"<arg_key>", CallFormat::kGlm},
    {"<|observation|>", CallFormat::kGlm4},
    {"<|tools_prefix|>", CallFormat::kApertus},
    {"<|START_ACTION|>", CallFormat::kCommandR},
    {"<|tool_call_start|>", CallFormat::kLfm2},
    {"List of tools: [", CallFormat::kLfm2},  // LFM2.5's shows the tools and no call
    {"<function_calls>", CallFormat::kOlmo},
    {"<tool_call>", CallFormat::kHermes},
    {"<tool_calls>", CallFormat::kHunyuan},
    {"<TOOLCALL>", CallFormat::kNemotron},
    {"<toolcall>", CallFormat::kNemotronMini},
    {"<|tool_call|>", CallFormat::kGranite},
    {"<|python_tag|>", CallFormat::kLlama},
    {"<|python_start|>", CallFormat::kLlama},
});

CallFormat CallFormatOf(std::string_view source) {
  if (Has(source, "<｜tool▁call▁begin｜>")) {
    return Has(source, "```json") ? CallFormat::kDeepSeekV3 : CallFormat::kDeepSeekV31;
  }
  if (Has(source, "<function=") && Has(source, "<parameter=") && !Has(source, "<seed:")) {
    return CallFormat::kQwenXml;
  }
  if (Has(source, "[TOOL_CALLS]")) {
    return Has(source, "[ARGS]") ? CallFormat::kMistralNamed : CallFormat::kMistral;
  }
  for (const CallMark& mark : kCallMarks) {
    if (Has(source, mark.text)) return mark.format;
  }
  if (Has(source, "Action:") && Has(source, "```json") && Has(source, "tool_name")) {
    return CallFormat::kCommandAction;
  }
  const bool is_llama = Has(source, "<|start_header_id|>") || Has(source, "<|header_start|>");
  if (is_llama && Has(source, "\"parameters\"")) return CallFormat::kLlama;
  return CallFormat::kPlainJson;
}

struct ReasoningTags {
  std::string_view open;
  std::string_view close;
};
constexpr auto kReasoningTags = std::to_array<ReasoningTags>({
    {"[THINK]", "[/THINK]"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<seed:think>", "</seed:think>"},
    {"<thought>", "</thought>"},
    {"<|inner_prefix|>", "<|inner_suffix|>"},
    {"<|channel>thought", "<channel|>"},
    {"Here is my thought process:", "Here is my response:"},  // Granite 3.2
});

}  // namespace

ReplyFormat ReplyFormatOf(std::string_view template_source) {
  ReplyFormat format;
  format.calls = CallFormatOf(template_source);
  format.reasons = Has(template_source, format.reasoning_close) || HasMessages(format.calls);
  for (const ReasoningTags& tags : kReasoningTags) {
    // The closing tag alone: some templates open in the prompt, some cut old reasoning away.
    if (!Has(template_source, tags.close)) continue;
    format.reasons = true;
    format.reasoning_open = tags.open;
    format.reasoning_close = tags.close;
  }
  if (HasMessages(format.calls)) {
    format.reasoning_open.clear();
    format.reasoning_close.clear();
  } else if (Has(template_source, "<|START_RESPONSE|>")) {
    format.answer_open = "<|START_RESPONSE|>";
    format.answer_close = "<|END_RESPONSE|>";
  } else if (Has(template_source, "<|START_TEXT|>")) {
    format.answer_open = "<|START_TEXT|>";
    format.answer_close = "<|END_TEXT|>";
  } else if (Has(template_source, "<response></response>")) {  // Granite 3, after its thoughts
    format.answer_open = "<response>";
    format.answer_close = "</response>";
  } else if (Has(template_source, "<answer>") && Has(template_source, "</answer>") &&
             Has(template_source, "</think>")) {  // Hunyuan, after its thoughts
    format.answer_open = "<answer>";
    format.answer_close = "</answer>";
  }
  return format;
}

std::vector<std::string_view> CallTagsOf(CallFormat format) {
  if (const auto* listed = FindSyntax(kJsonCallSyntaxes, format)) {
    if (format == CallFormat::kCommandAction) return {};  // text, which may stand for itself
    return {listed->open, listed->close};
  }
  if (const auto* xml = FindSyntax(kXmlCallSyntaxes, format)) {
    std::vector<std::string_view> tags;
    for (const std::string_view tag :
         {xml->wrap_open, xml->wrap_close, xml->call_close, xml->value_open, xml->value_close}) {
      if (!tag.empty()) tags.push_back(tag);
    }
    if (format != CallFormat::kGlm) return tags;
    tags.insert(tags.end(), {xml->call_open, xml->key_open, xml->key_close});
    return tags;
  }
  if (const auto* dict = FindSyntax(kDictCallSyntaxes, format)) {
    return {dict->open, dict->close, dict->quote};
  }
  if (const auto* python = FindSyntax(kPythonCallSyntaxes, format)) {
    return {python->open, python->close};
  }
  switch (format) {
    case CallFormat::kLlama:
      return {"<|python_tag|>", "<|python_start|>", "<|python_end|>"};
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
    case CallFormat::kHarmony:
      return {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
              "<|end|>",   "<|call|>",    "<|return|>"};
    case CallFormat::kSolar:
      return {"<|begin|>",
              "<|think|>",
              "<|content|>",
              "<|tool_calls|>",
              "<|tool_call:begin|>",
              "<|tool_call:name|>",
              "<|tool_call:args|>",
              "<|tool_call:end|>",
              "<|calls|>",
              "<|flush|>",
              "<|end|>"};
    default:
      return {};
  }
}

std::vector<std::string_view> TagsOf(const ReplyFormat& format, bool with_calls) {
  std::vector<std::string_view> tags;
  if (with_calls || HasMessages(format.calls)) tags = CallTagsOf(format.calls);
  for (const std::string& tag :
       {std::cref(format.reasoning_open), std::cref(format.reasoning_close),
        std::cref(format.answer_open), std::cref(format.answer_close)}) {
    if (!tag.empty()) tags.push_back(tag);
  }
  // Gemma 4's has a token and a word.
  if (format.reasoning_open.starts_with("<|channel>")) tags.push_back("<|channel>");
  return tags;
}

bool BeginsInReasoning(const ReplyFormat& format, std::string_view prompt) {
  if (format.reasoning_open.empty()) return false;
  const size_t end = prompt.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return false;
  return prompt.substr(0, end + 1).ends_with(format.reasoning_open);
}

}  // namespace weft
