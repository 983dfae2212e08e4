#include "server/api/structured/output_grammar.h"

#include <memory>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "grammar/cfg/earley_recognizer.h"
#include "grammar/cfg/gbnf.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/cfg/lark.h"
#include "grammar/regex/pattern.h"
#include "grammar/regex/text_recognizer.h"
#include "proto/json_reader.h"
#include "server/api/structured/structural_tag.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

std::string CodeOf(ErrorCode code, std::string_view thing) {
  switch (code) {
    case ErrorCode::kUnsupported:
      return fmt::format("unsupported_{}", thing);
    case ErrorCode::kResourceExhausted:
      return fmt::format("{}_too_large", thing);
    default:
      return fmt::format("invalid_{}", thing);
  }
}

ApiError RefuseText(const std::string& path, std::string_view thing, const Error& error) {
  ApiError refusal = InvalidField(path, fmt::format("'{}': {}", path, error.message));
  refusal.code = CodeOf(error.code, thing);
  return refusal;
}

RecognizerFactory MachineFactory(JsonSchema schema, const JsonMachineOptions& options) {
  return [schema = std::move(schema), options] { return schema.NewMachine(options); };
}

ApiResult<RecognizerFactory> CompileSchemaOutput(const OutputFormat& format) {
  const bool is_object = format.kind == OutputKind::kJsonObject;
  ApiResult<JsonSchema> schema =
      CompileSchema(is_object ? ordered_json{{"type", "object"}} : format.schema, format.path);
  if (!schema) return tl::unexpected(std::move(schema).error());
  return MachineFactory(*std::move(schema), MachineOptionsOf(format));
}

// The texts of `texts`, of which there must be some.
ApiResult<RecognizerFactory> TextFactory(RegexArena arena, RegexId texts, const std::string& path) {
  const bool is_empty = arena.IsEmpty(texts);
  if (const Result<void> status = arena.status(); !status)
    return tl::unexpected(RefuseText(path, "regex", status.error()));
  if (is_empty) {
    return tl::unexpected(RefuseText(
        path, "regex", Error{ErrorCode::kInvalidArgument, "there is no text that matches it"}));
  }
  return [arena = std::make_shared<const RegexArena>(std::move(arena)), texts] {
    return std::make_unique<TextRecognizer>(*arena, texts);
  };
}

ApiResult<RecognizerFactory> CompileRegexOutput(const OutputFormat& format) {
  RegexArena arena;
  const Result<RegexId> texts = ParsePattern(&arena, format.text, PatternDialect::kRe2);
  if (!texts) return tl::unexpected(RefuseText(format.path, "regex", texts.error()));
  return TextFactory(std::move(arena), *texts, format.path);
}

ApiResult<RecognizerFactory> CompileChoiceOutput(const OutputFormat& format) {
  RegexArena arena;
  const RegexId texts = arena.Words(format.choices);
  return TextFactory(std::move(arena), texts, format.path);
}

ApiResult<RecognizerFactory> CompileGrammarOutput(const OutputFormat& format,
                                                  const SpecialTokenLookup& tokens) {
  // Lark's notation has no such sign.
  const bool is_gbnf = format.text.find("::=") != std::string::npos;
  GrammarBuilder builder;
  const JsonTerminal json = [&](std::string_view text) -> Result<RecognizerFactory> {
    const ApiResult<ordered_json> schema = ParseOrderedJson(text);
    if (!schema) return Fail(ErrorCode::kInvalidArgument, "%json: {}", schema.error().message);
    SchemaResult<JsonSchema> compiled = JsonSchema::Compile(*schema);
    if (!compiled) return tl::unexpected(ToError(compiled.error()));
    return MachineFactory(*std::move(compiled), MachineOptionsOf(format));
  };
  const Result<GrammarExpr> start =
      is_gbnf ? ReadGbnf(&builder, format.text, tokens)
              : ReadLark(&builder, format.text, {.tokens = tokens, .json = json});
  if (!start) return tl::unexpected(RefuseText(format.path, "grammar", start.error()));
  return BuildGrammar(std::move(builder), *start, format.path);
}

}  // namespace

SpecialTokenLookup SpecialTokensOf(const Tokenizer& tokenizer) {
  return {.by_name = [&tokenizer](std::string_view name) -> std::optional<int32_t> {
            const std::optional<TokenId> token = tokenizer.TokenOf(name);
            if (!token || !tokenizer.IsControl(*token)) return std::nullopt;
            return *token;
          },
          .by_id = [&tokenizer](int64_t id) -> std::optional<int32_t> {
            if (id < 0 || id >= tokenizer.vocab_size()) return std::nullopt;
            const auto token = static_cast<TokenId>(id);
            return tokenizer.IsControl(token) ? std::optional<int32_t>(token) : std::nullopt;
          }};
}

ApiError RefuseSchema(const std::string& path, const SchemaError& error) {
  const std::string place = path + error.pointer;
  std::string text = fmt::format("'{}': ", place);
  if (!error.keyword.empty()) text += fmt::format("'{}': ", error.keyword);
  ApiError refusal = InvalidField(place, text + error.message);
  refusal.code = CodeOf(error.code, "schema");
  return refusal;
}

ApiResult<JsonSchema> CompileSchema(const ordered_json& schema, const std::string& path) {
  SchemaResult<JsonSchema> compiled = JsonSchema::Compile(schema);
  if (!compiled) return tl::unexpected(RefuseSchema(path, compiled.error()));
  return *std::move(compiled);
}

JsonMachineOptions MachineOptionsOf(const OutputFormat& format) {
  JsonMachineOptions options;
  options.any_order = format.any_order;
  options.plain_integers = true;
  switch (format.space) {
    case OutputSpace::kAfterSeparators:
      options.space = JsonSpace::kAfterSeparators;
      break;
    case OutputSpace::kNone:
      options.space = JsonSpace::kNone;
      break;
    case OutputSpace::kAny:
      options.space = JsonSpace::kAny;
      break;
  }
  return options;
}

ApiResult<RecognizerFactory> BuildGrammar(GrammarBuilder builder, GrammarExpr start,
                                          const std::string& path) {
  Result<Grammar> grammar = builder.Build(start);
  if (!grammar) return tl::unexpected(RefuseText(path, "grammar", grammar.error()));
  return [grammar = std::make_shared<const Grammar>(*std::move(grammar))] {
    return std::make_unique<EarleyRecognizer>(grammar);
  };
}

ApiResult<RecognizerFactory> CompileOutput(const OutputFormat& format,
                                           const SpecialTokenLookup& tokens) {
  switch (format.kind) {
    case OutputKind::kRegex:
      return CompileRegexOutput(format);
    case OutputKind::kChoice:
      return CompileChoiceOutput(format);
    case OutputKind::kGrammar:
      return CompileGrammarOutput(format, tokens);
    case OutputKind::kStructuralTag:
      return CompileStructuralTag(format, tokens);
    default:
      return CompileSchemaOutput(format);
  }
}

}  // namespace weft
