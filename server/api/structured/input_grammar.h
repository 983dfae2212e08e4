// The arguments of a tool that has one, whose texts are a language of their own, in the syntaxes
// that models write calls in. Include from .cc files only.
#pragma once

#include <string_view>

#include "grammar/cfg/grammar.h"
#include "proto/reply/call_syntax.h"
#include "server/api/structured/tag_writer.h"

namespace weft {

// Each is read by ReplyParser as {name: text}.

// {"name": "text"}
GrammarExpr WriteJsonInput(TagWriter* tags, std::string_view name, RecognizerFactory texts);
// name="text"; `open` does not stand in it.
GrammarExpr WritePythonInput(TagWriter* tags, std::string_view open, std::string_view name,
                             RecognizerFactory texts);
// The text as it is, without what ends it. Where the language demands that, no text can be written.
GrammarExpr WriteXmlInput(TagWriter* tags, const XmlCallSyntax& syntax, std::string_view name,
                          RecognizerFactory texts);
GrammarExpr WriteDictInput(TagWriter* tags, std::string_view quote, std::string_view name,
                           RecognizerFactory texts);

}  // namespace weft
