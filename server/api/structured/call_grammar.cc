#include "server/api/structured/call_grammar.h"

#include <functional>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"
#include "grammar/regex/pattern.h"
#include "proto/reply/call_syntax.h"
#include "server/api/structured/input_grammar.h"
#include "server/api/structured/output_grammar.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

enum class ArgumentSyntax { kJson, kXml, kDict, kPython };

// What a format has around the name and the arguments of one call.
class CallWriter {
 public:
  CallWriter(TagWriter* tags, CallFormat format, const std::vector<CallableTool>& tools)
      : tags_(*tags),
        builder_(tags->builder()),
        format_(format),
        tools_(tools),
        arguments_(tags, {}) {}

  ApiResult<CallGrammar> Write();

 private:
  // Around a tool's arguments.
  using Frame = std::function<GrammarExpr(const CallableTool&, GrammarExpr arguments)>;

  // Of a tool whose input is a text of a language.
  ApiResult<GrammarExpr> Input(const CallableTool& tool, ArgumentSyntax syntax);
  SchemaResult<GrammarExpr> Strict(const CallableTool& tool, ArgumentSyntax syntax);
  GrammarExpr Loose(const CallableTool& tool, ArgumentSyntax syntax);
  ApiResult<GrammarExpr> Arguments(const CallableTool& tool, ArgumentSyntax syntax);
  // One call of any tool.
  ApiResult<GrammarExpr> AnyCall(ArgumentSyntax syntax, const Frame& frame);

  GrammarExpr Literal(std::string_view text) { return builder_.Literal(text); }
  GrammarExpr Space() { return tags_.Space(); }
  GrammarExpr Pattern(std::string_view pattern) {
    return builder_.Regex(ParsePattern(&builder_.regexes(), pattern, PatternDialect::kRe2)
                              .value_or(RegexArena::Nothing()));
  }
  // body (separator body)*
  GrammarExpr Row(GrammarExpr body, GrammarExpr separator) {
    return builder_.Sequence(
        {body, builder_.Repeat(builder_.Sequence({separator, body}), 0, std::nullopt)});
  }
  GrammarExpr CommaRow(GrammarExpr body) {
    return Row(body, builder_.Sequence({Space(), Literal(","), Space()}));
  }
  GrammarExpr Bracketed(GrammarExpr body) {
    return builder_.Sequence({Literal("["), Space(), body, Space(), Literal("]")});
  }
  // {"name": "f", "arguments": ...}
  GrammarExpr JsonObject(const CallableTool& tool, GrammarExpr arguments, std::string_view name_key,
                         std::string_view arguments_key);
  GrammarExpr JsonMember(std::string_view key);

  ApiResult<CallGrammar> WriteListed(const JsonCallSyntax& syntax);
  ApiResult<CallGrammar> WriteXml(const XmlCallSyntax& syntax);
  ApiResult<CallGrammar> WriteDict(const DictCallSyntax& syntax);
  ApiResult<CallGrammar> WritePython(const PythonCallSyntax& syntax);
  GrammarExpr PythonCall(const CallableTool& tool, GrammarExpr arguments);
  ApiResult<CallGrammar> WriteMistral();
  ApiResult<CallGrammar> WriteDeepSeek();
  ApiResult<CallGrammar> WriteKimi();
  ApiResult<CallGrammar> WritePlainJson();
  ApiResult<CallGrammar> WriteLlama();
  ApiResult<CallGrammar> WriteGlm4();
  ApiResult<CallGrammar> WriteMessages();
  // Calls in a section that may be left out.
  CallGrammar Sectioned(GrammarExpr call, std::string_view open, std::string_view close,
                        std::string_view call_open);

  TagWriter& tags_;
  GrammarBuilder& builder_;
  const CallFormat format_;
  const std::vector<CallableTool>& tools_;
  ArgumentWriter arguments_;
  int32_t loose_tool_count_ = 0;
};

const XmlCallSyntax& XmlSyntaxOf(CallFormat format) {
  return *FindSyntax(kXmlCallSyntaxes, format);
}

std::string_view QuoteOf(CallFormat format) { return FindSyntax(kDictCallSyntaxes, format)->quote; }

std::string_view PythonOpenOf(CallFormat format) {
  const PythonCallSyntax* const syntax = FindSyntax(kPythonCallSyntaxes, format);
  return syntax == nullptr ? std::string_view() : syntax->open;
}

SchemaResult<GrammarExpr> CallWriter::Strict(const CallableTool& tool, ArgumentSyntax syntax) {
  switch (syntax) {
    case ArgumentSyntax::kXml:
      return arguments_.Xml(XmlSyntaxOf(format_), *tool.parameters);
    case ArgumentSyntax::kDict:
      return arguments_.Dict(QuoteOf(format_), *tool.parameters);
    case ArgumentSyntax::kPython:
      return arguments_.Python(PythonOpenOf(format_), *tool.parameters);
    default:
      return arguments_.Json(*tool.parameters);
  }
}

GrammarExpr CallWriter::Loose(const CallableTool& tool, ArgumentSyntax syntax) {
  switch (syntax) {
    case ArgumentSyntax::kXml:
      return arguments_.AnyXml(XmlSyntaxOf(format_), *tool.parameters);
    case ArgumentSyntax::kDict:
      return arguments_.AnyDict(QuoteOf(format_), *tool.parameters);
    case ArgumentSyntax::kPython:
      return arguments_.AnyPython(PythonOpenOf(format_), *tool.parameters);
    default:
      return arguments_.AnyJson();
  }
}

ApiResult<GrammarExpr> CallWriter::Input(const CallableTool& tool, ArgumentSyntax syntax) {
  // No text has special tokens in it.
  const SpecialTokenLookup none = {
      .by_name = [](std::string_view) -> std::optional<int32_t> { return std::nullopt; },
      .by_id = [](int64_t) -> std::optional<int32_t> { return std::nullopt; }};
  ApiResult<RecognizerFactory> texts = CompileOutput(*tool.input, none);
  if (!texts) return tl::unexpected(std::move(texts).error());
  const std::string name = (*tool.parameters)["properties"].begin().key();
  switch (syntax) {
    case ArgumentSyntax::kXml:
      return WriteXmlInput(&tags_, XmlSyntaxOf(format_), name, *std::move(texts));
    case ArgumentSyntax::kDict:
      return WriteDictInput(&tags_, QuoteOf(format_), name, *std::move(texts));
    case ArgumentSyntax::kPython:
      return WritePythonInput(&tags_, PythonOpenOf(format_), name, *std::move(texts));
    default:
      return WriteJsonInput(&tags_, name, *std::move(texts));
  }
}

ApiResult<GrammarExpr> CallWriter::Arguments(const CallableTool& tool, ArgumentSyntax syntax) {
  if (tool.input != nullptr) return Input(tool, syntax);
  const SchemaResult<GrammarExpr> strict = Strict(tool, syntax);
  if (strict) return *strict;
  if (tool.strict) return tl::unexpected(RefuseSchema(tool.path, strict.error()));
  ++loose_tool_count_;
  Log(LogLevel::kInfo, "the arguments of the tool '{}' are not held to its schema: {}", tool.name,
      ToError(strict.error()).message);
  return Loose(tool, syntax);
}

ApiResult<GrammarExpr> CallWriter::AnyCall(ArgumentSyntax syntax, const Frame& frame) {
  std::vector<GrammarExpr> calls;
  for (const CallableTool& tool : tools_) {
    const ApiResult<GrammarExpr> arguments = Arguments(tool, syntax);
    if (!arguments) return arguments;
    calls.push_back(frame(tool, *arguments));
  }
  return builder_.Choice(calls);
}

GrammarExpr CallWriter::JsonMember(std::string_view key) {
  return builder_.Sequence({Literal(fmt::format("\"{}\"", key)), Space(), Literal(":"), Space()});
}

GrammarExpr CallWriter::JsonObject(const CallableTool& tool, GrammarExpr arguments,
                                   std::string_view name_key, std::string_view arguments_key) {
  std::vector<GrammarExpr> parts = {Literal("{"), Space()};
  const auto add_first = [&](const char* pattern) {
    parts.push_back(builder_.Optional(Pattern(pattern)));
  };
  if (format_ == CallFormat::kLlama) add_first(R"("type": ?"function", ?)");
  if (format_ == CallFormat::kCommandR || format_ == CallFormat::kCommandAction)
    add_first(R"("tool_call_id": ?"[0-9]{1,3}",[ \n]{0,16})");
  parts.insert(parts.end(), {JsonMember(name_key), Literal(ordered_json(tool.name).dump()), Space(),
                             Literal(","), Space(), JsonMember(arguments_key), arguments});
  if (format_ == CallFormat::kMistral) {
    parts.push_back(builder_.Optional(Pattern(R"(, ?"id": ?"[0-9A-Za-z]{9}")")));
  }
  parts.insert(parts.end(), {Space(), Literal("}")});
  return builder_.Sequence(parts);
}

ApiResult<CallGrammar> CallWriter::WriteListed(const JsonCallSyntax& syntax) {
  const bool is_keyed = format_ == CallFormat::kApertus;
  const bool is_single = format_ == CallFormat::kHermes || format_ == CallFormat::kNemotronMini;
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        if (is_keyed) {
          return builder_.Sequence(
              {Literal("{"), Space(), JsonMember(tool.name), arguments, Space(), Literal("}")});
        }
        const GrammarExpr object =
            JsonObject(tool, arguments, syntax.name_key, syntax.arguments_key);
        if (format_ != CallFormat::kNemotronMini) return object;
        const GrammarExpr wrapped = builder_.Sequence(
            {Pattern(R"(\{ ?"type": ?"function", ?"function": ?)"), object, Literal("}")});
        return builder_.Choice({object, wrapped});
      }));
  CallGrammar calls;
  calls.openings = {syntax.open};
  // Granite's models leave the closing tag out, and end.
  calls.ends = format_ == CallFormat::kGranite || tags_.EndsReply(syntax.close);
  GrammarExpr close = tags_.Close(syntax.close);
  if (format_ == CallFormat::kGranite) close = builder_.Optional(close);
  const auto block = [&](GrammarExpr body) {
    return builder_.Sequence({tags_.Text(syntax.open), Space(), body, Space(), close});
  };
  if (is_single) {
    calls.one = block(call);
    calls.some = calls.ends ? calls.one : Row(calls.one, Space());
  } else {
    calls.one = block(Bracketed(call));
    calls.some = block(Bracketed(CommaRow(call)));
  }
  return calls;
}

ApiResult<CallGrammar> CallWriter::WriteXml(const XmlCallSyntax& syntax) {
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kXml, [&](const CallableTool& tool, GrammarExpr arguments) {
        return builder_.Sequence({tags_.Text(syntax.call_open), Literal(tool.name),
                                  tags_.Text(syntax.name_close), arguments,
                                  tags_.Text(syntax.call_close)});
      }));
  CallGrammar calls{.one = call, .some = Row(call, Space())};
  calls.openings = {syntax.call_open};
  if (syntax.wrap_open.empty()) return calls;
  calls.openings.push_back(syntax.wrap_open);
  calls.ends = tags_.EndsReply(syntax.wrap_close);
  const auto wrapped = [&](GrammarExpr body) {
    return builder_.Sequence(
        {tags_.Text(syntax.wrap_open), Space(), body, Space(), tags_.Close(syntax.wrap_close)});
  };
  // Models forget what is around calls.
  const GrammarExpr block = wrapped(calls.some);
  calls.some = calls.ends ? builder_.Choice({block, calls.some})
                          : Row(builder_.Choice({block, call}), Space());
  calls.one = builder_.Choice({wrapped(call), call});
  return calls;
}

ApiResult<CallGrammar> CallWriter::WriteDict(const DictCallSyntax& syntax) {
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kDict, [&](const CallableTool& tool, GrammarExpr arguments) {
        return builder_.Sequence({tags_.Text(syntax.open),
                                  Literal(fmt::format("{}{}", kDictCallBegin, tool.name)),
                                  arguments, tags_.Close(syntax.close)});
      }));
  CallGrammar calls{.one = call, .some = Row(call, Space())};
  calls.ends = tags_.EndsReply(syntax.close);
  calls.openings = {syntax.open};
  return calls;
}

GrammarExpr CallWriter::PythonCall(const CallableTool& tool, GrammarExpr arguments) {
  return builder_.Sequence({Literal(tool.name + "("), arguments, Literal(")")});
}

ApiResult<CallGrammar> CallWriter::WritePython(const PythonCallSyntax& syntax) {
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kPython, [&](const CallableTool& tool, GrammarExpr arguments) {
        return PythonCall(tool, arguments);
      }));
  const bool is_list = format_ == CallFormat::kLfm2;
  const auto block = [&](GrammarExpr body) {
    return builder_.Sequence(
        {tags_.Text(syntax.open), Space(), body, Space(), tags_.Close(syntax.close)});
  };
  CallGrammar calls;
  calls.ends = tags_.EndsReply(syntax.close);
  calls.openings = {syntax.open};
  calls.one = block(is_list ? Bracketed(call) : call);
  calls.some = block(is_list ? Bracketed(CommaRow(call)) : Row(call, Pattern(R"(\n{1,2})")));
  return calls;
}

ApiResult<CallGrammar> CallWriter::WriteMistral() {
  constexpr std::string_view kOpen = "[TOOL_CALLS]";
  CallGrammar calls;
  calls.openings = {kOpen};
  const bool is_named = format_ == CallFormat::kMistralNamed;
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        if (!is_named) return JsonObject(tool, arguments, "name", "arguments");
        const GrammarExpr id =
            builder_.Sequence({tags_.Text("[CALL_ID]"), Pattern("[0-9A-Za-z]{9}")});
        return builder_.Sequence({tags_.Text(kOpen), Literal(tool.name), builder_.Optional(id),
                                  tags_.Text("[ARGS]"), arguments});
      }));
  if (is_named) {
    calls.one = call;
    calls.some = Row(call, Literal(""));
  } else {
    calls.one = builder_.Sequence({tags_.Text(kOpen), Space(), Bracketed(call)});
    calls.some = builder_.Sequence({tags_.Text(kOpen), Space(), Bracketed(CommaRow(call))});
  }
  return calls;
}

CallGrammar CallWriter::Sectioned(GrammarExpr call, std::string_view open, std::string_view close,
                                  std::string_view call_open) {
  const auto section = [&](GrammarExpr body) {
    return builder_.Sequence({tags_.Text(open), body, Space(), tags_.Close(close)});
  };
  CallGrammar calls;
  calls.openings = {open, call_open};
  calls.ends = tags_.EndsReply(close);
  calls.one = section(call);
  calls.some = section(Row(call, Space()));
  return calls;
}

ApiResult<CallGrammar> CallWriter::WriteDeepSeek() {
  constexpr std::string_view kOpen = "<｜tool▁call▁begin｜>";
  constexpr std::string_view kNameEnd = "<｜tool▁sep｜>";
  constexpr std::string_view kClose = "<｜tool▁call▁end｜>";
  const bool is_fenced = format_ == CallFormat::kDeepSeekV3;
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        if (!is_fenced) {
          return builder_.Sequence({tags_.Text(kOpen), Literal(tool.name), tags_.Text(kNameEnd),
                                    arguments, tags_.Text(kClose)});
        }
        return builder_.Sequence({tags_.Text(kOpen), Literal("function"), tags_.Text(kNameEnd),
                                  Literal(tool.name + "\n```json\n"), arguments, Literal("\n```"),
                                  tags_.Text(kClose)});
      }));
  return Sectioned(call, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", kOpen);
}

ApiResult<CallGrammar> CallWriter::WriteKimi() {
  constexpr std::string_view kOpen = "<|tool_call_begin|>";
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        return builder_.Sequence({tags_.Text(kOpen), Literal("functions." + tool.name),
                                  Pattern(":[0-9]{1,3}"),
                                  tags_.Text("<|tool_call_argument_begin|>"), arguments,
                                  tags_.Text("<|tool_call_end|>")});
      }));
  return Sectioned(call, "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", kOpen);
}

ApiResult<CallGrammar> CallWriter::WritePlainJson() {
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        return JsonObject(tool, arguments, "name", "arguments");
      }));
  return CallGrammar{
      .one = call, .some = builder_.Choice({call, Bracketed(CommaRow(call))}), .ends = true};
}

ApiResult<CallGrammar> CallWriter::WriteLlama() {
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr object,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        return JsonObject(tool, arguments, "name", "parameters");
      }));
  std::vector<GrammarExpr> python_calls;  // where Python can say it
  for (const CallableTool& tool : tools_) {
    if (tool.input != nullptr) {
      WEFT_ASSIGN_OR_RETURN(const GrammarExpr input, Input(tool, ArgumentSyntax::kPython));
      python_calls.push_back(PythonCall(tool, input));
      continue;
    }
    const SchemaResult<GrammarExpr> arguments = Strict(tool, ArgumentSyntax::kPython);
    if (arguments) python_calls.push_back(PythonCall(tool, *arguments));
  }
  const GrammarExpr python = builder_.Choice(python_calls);
  const GrammarExpr tag = builder_.Optional(tags_.Text("<|python_tag|>"));
  const auto listed = [&](GrammarExpr body) {
    return builder_.Sequence({builder_.Optional(tags_.Text("<|python_start|>")), Literal("["), body,
                              Literal("]"), builder_.Optional(tags_.Close("<|python_end|>"))});
  };
  CallGrammar calls;
  calls.openings = {"<|python_tag|>", "<|python_start|>"};
  calls.ends = true;
  const GrammarExpr separator = builder_.Sequence({Space(), Literal(";"), Space()});
  calls.one = builder_.Choice({builder_.Sequence({tag, object}), listed(python)});
  calls.some = builder_.Choice({builder_.Sequence({tag, Row(object, separator)}),
                                listed(Row(python, builder_.Sequence({Literal(","), Space()})))});
  return calls;
}

ApiResult<CallGrammar> CallWriter::WriteGlm4() {
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        return builder_.Sequence({Literal(tool.name + "\n"), arguments});
      }));
  return CallGrammar{
      .one = call, .some = Row(call, builder_.Sequence({Literal("\n")})), .ends = true};
}

// The first header may have the recipient in front of the channel: behind "assistant".
ApiResult<CallGrammar> CallWriter::WriteMessages() {
  const bool is_harmony = format_ == CallFormat::kHarmony;
  WEFT_ASSIGN_OR_RETURN(
      const GrammarExpr call,
      AnyCall(ArgumentSyntax::kJson, [&](const CallableTool& tool, GrammarExpr arguments) {
        if (!is_harmony) {
          return builder_.Sequence({tags_.Text("<|tool_call:begin|>"), Pattern("[0-9a-z]{10}"),
                                    tags_.Text("<|tool_call:name|>"), Literal(tool.name),
                                    tags_.Text("<|tool_call:args|>"), arguments,
                                    tags_.Text("<|tool_call:end|>")});
        }
        const GrammarExpr recipient = Literal(" to=functions." + tool.name);
        const GrammarExpr channel = tags_.Text("<|channel|>commentary");
        const GrammarExpr header = builder_.Choice(
            {builder_.Sequence({channel, recipient}), builder_.Sequence({recipient, channel})});
        const GrammarExpr type = builder_.Sequence(
            {Literal(" "), builder_.Optional(tags_.Text("<|constrain|>")), Literal("json")});
        return builder_.Sequence({header, builder_.Optional(type), tags_.Text("<|message|>"),
                                  arguments, builder_.Optional(tags_.Close("<|call|>"))});
      }));
  CallGrammar calls;
  calls.ends = true;
  if (is_harmony) {
    calls.one = calls.some = call;
    return calls;
  }
  const auto message = [&](GrammarExpr body) {
    return builder_.Sequence(
        {tags_.Text("<|tool_calls|>"), body, builder_.Optional(tags_.Close("<|calls|>"))});
  };
  calls.one = message(call);
  calls.some = message(Row(call, Space()));
  return calls;
}

ApiResult<CallGrammar> CallWriter::Write() {
  ApiResult<CallGrammar> calls = [&]() -> ApiResult<CallGrammar> {
    if (const auto* listed = FindSyntax(kJsonCallSyntaxes, format_)) return WriteListed(*listed);
    if (const auto* xml = FindSyntax(kXmlCallSyntaxes, format_)) return WriteXml(*xml);
    if (const auto* dict = FindSyntax(kDictCallSyntaxes, format_)) return WriteDict(*dict);
    if (const auto* python = FindSyntax(kPythonCallSyntaxes, format_)) return WritePython(*python);
    switch (format_) {
      case CallFormat::kHarmony:
      case CallFormat::kSolar:
        return WriteMessages();
      case CallFormat::kMistral:
      case CallFormat::kMistralNamed:
        return WriteMistral();
      case CallFormat::kDeepSeekV3:
      case CallFormat::kDeepSeekV31:
        return WriteDeepSeek();
      case CallFormat::kKimi:
        return WriteKimi();
      case CallFormat::kLlama:
        return WriteLlama();
      case CallFormat::kGlm4:
        return WriteGlm4();
      default:
        return WritePlainJson();
    }
  }();
  if (calls) calls->loose_tool_count = loose_tool_count_;
  return calls;
}

}  // namespace

ApiResult<CallGrammar> WriteCalls(TagWriter* tags, CallFormat format,
                                  const std::vector<CallableTool>& tools) {
  return CallWriter(tags, format, tools).Write();
}

}  // namespace weft
