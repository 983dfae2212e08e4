// How calls are written, format by format: the tables that readers, scanner and openings share.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "proto/reply/reply_format.h"

namespace weft {

// JSON between two tags.
struct JsonCallSyntax {
  CallFormat format;
  std::string_view open;
  std::string_view close;
  std::string_view name_key = "name";
  std::string_view arguments_key = "arguments";
};
inline constexpr auto kJsonCallSyntaxes = std::to_array<JsonCallSyntax>({
    {CallFormat::kHermes, "<tool_call>", "</tool_call>"},
    {CallFormat::kGranite, "<|tool_call|>", "<|/tool_call|>"},
    {CallFormat::kCommandR, "<|START_ACTION|>", "<|END_ACTION|>", "tool_name", "parameters"},
    {CallFormat::kCommandAction, "Action:\n```json", "```", "tool_name", "parameters"},
    {CallFormat::kHunyuan, "<tool_calls>", "</tool_calls>"},
    {CallFormat::kNemotron, "<TOOLCALL>", "</TOOLCALL>"},
    {CallFormat::kNemotronMini, "<toolcall>", "</toolcall>"},
    {CallFormat::kApertus, "<|tools_prefix|>", "<|tools_suffix|>"},
});

// Parameters between tags, without quotes.
struct XmlCallSyntax {
  CallFormat format;
  std::string_view wrap_open;  // around calls; empty: nothing is
  std::string_view wrap_close;
  std::string_view call_open;   // before the name
  std::string_view name_close;  // behind it; empty: a line end, or the next tag
  std::string_view call_close;
  std::string_view key_open;
  std::string_view key_close;
  std::string_view value_open;  // empty: the value follows at once
  std::string_view value_close;
  bool on_lines;  // a value may stand on lines of its own
};
inline constexpr auto kXmlCallSyntaxes = std::to_array<XmlCallSyntax>({
    {CallFormat::kQwenXml, "<tool_call>", "</tool_call>", "<function=", ">", "</function>",
     "<parameter=", ">", "", "</parameter>", true},
    {CallFormat::kSeedXml, "<seed:tool_call>", "</seed:tool_call>", "<function=", ">",
     "</function>", "<parameter=", ">", "", "</parameter>", true},
    {CallFormat::kMiniMax, "<minimax:tool_call>", "</minimax:tool_call>", "<invoke name=\"", "\">",
     "</invoke>", "<parameter name=\"", "\">", "", "</parameter>", true},
    {CallFormat::kGlm, "", "", "<tool_call>", "", "</tool_call>", "<arg_key>", "</arg_key>",
     "<arg_value>", "</arg_value>", false},
});

// call:f{a:1,s:"text"} between two tags, with another quote than JSON's.
struct DictCallSyntax {
  CallFormat format;
  std::string_view open;
  std::string_view close;
  std::string_view quote;
};
inline constexpr auto kDictCallSyntaxes = std::to_array<DictCallSyntax>({
    {CallFormat::kGemma, "<|tool_call>", "<tool_call|>", "<|\"|>"},
    {CallFormat::kFunctionGemma, "<start_function_call>", "<end_function_call>", "<escape>"},
});
inline constexpr std::string_view kDictCallBegin = "call:";

// Python's f(a=1, b="x") between two tags, perhaps in a list.
struct PythonCallSyntax {
  CallFormat format;
  std::string_view open;
  std::string_view close;
};
inline constexpr auto kPythonCallSyntaxes = std::to_array<PythonCallSyntax>({
    {CallFormat::kOlmo, "<function_calls>", "</function_calls>"},
    {CallFormat::kLfm2, "<|tool_call_start|>", "<|tool_call_end|>"},
});

// nullptr: the format is none of these.
template <typename Table>
constexpr const typename Table::value_type* FindSyntax(const Table& table, CallFormat format) {
  const auto found = std::ranges::find(table, format, &Table::value_type::format);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace weft
