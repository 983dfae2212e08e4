#include "server/api/structured/input_grammar.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "grammar/avoiding_recognizer.h"
#include "grammar/quoted_recognizer.h"

namespace weft {
namespace {

RecognizerFactory InQuotes(RecognizerFactory texts) {
  return [texts = std::move(texts)]() -> std::unique_ptr<Recognizer> {
    return std::make_unique<QuotedRecognizer>(texts());
  };
}

RecognizerFactory WithoutWord(RecognizerFactory texts, std::string_view word) {
  return [texts = std::move(texts), word = std::string(word)]() -> std::unique_ptr<Recognizer> {
    const std::string_view words[] = {word};
    return std::make_unique<AvoidingRecognizer>(texts(), words);
  };
}

}  // namespace

GrammarExpr WriteJsonInput(TagWriter* tags, std::string_view name, RecognizerFactory texts) {
  GrammarBuilder& builder = tags->builder();
  return builder.Sequence({builder.Literal("{"), tags->Space(),
                           builder.Literal(fmt::format("\"{}\"", name)), tags->Space(),
                           builder.Literal(":"), tags->Space(), builder.Literal("\""),
                           builder.Terminal(InQuotes(std::move(texts))), builder.Literal("\""),
                           tags->Space(), builder.Literal("}")});
}

GrammarExpr WritePythonInput(TagWriter* tags, std::string_view open, std::string_view name,
                             RecognizerFactory texts) {
  GrammarBuilder& builder = tags->builder();
  return builder.Sequence({builder.Literal(fmt::format("{}=\"", name)),
                           builder.Terminal(WithoutWord(InQuotes(std::move(texts)), open)),
                           builder.Literal("\"")});
}

GrammarExpr WriteXmlInput(TagWriter* tags, const XmlCallSyntax& syntax, std::string_view name,
                          RecognizerFactory texts) {
  GrammarBuilder& builder = tags->builder();
  const GrammarExpr line_end = builder.Literal(syntax.on_lines ? "\n" : "");
  const GrammarExpr value_open =
      syntax.value_open.empty() ? builder.Literal("")
                                : builder.Sequence({tags->Space(), tags->Text(syntax.value_open)});
  return builder.Sequence({tags->Space(), tags->Text(syntax.key_open), builder.Literal(name),
                           tags->Text(syntax.key_close), value_open, line_end,
                           builder.Terminal(WithoutWord(std::move(texts), syntax.value_close)),
                           line_end, tags->Text(syntax.value_close), tags->Space()});
}

GrammarExpr WriteDictInput(TagWriter* tags, std::string_view quote, std::string_view name,
                           RecognizerFactory texts) {
  GrammarBuilder& builder = tags->builder();
  return builder.Sequence({builder.Literal(fmt::format("{{{}:", name)), tags->Text(quote),
                           builder.Terminal(WithoutWord(std::move(texts), quote)),
                           tags->Text(quote), builder.Literal("}")});
}

}  // namespace weft
