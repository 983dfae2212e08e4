// What an OutputFormat says, as a language of texts. Include from .cc files only.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "grammar/cfg/grammar.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/cfg/grammar_text.h"
#include "grammar/schema/json_schema.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/api_error.h"
#include "proto/output_format.h"

namespace weft {

// The special tokens of a vocabulary, by their texts and ids. The tokenizer outlives it.
SpecialTokenLookup SpecialTokensOf(const Tokenizer& tokenizer);

// What a schema that cannot be enforced is answered with: 400, `param` is the field's path and the
// JSON pointer of the keyword behind it, the code "invalid_schema", "unsupported_schema" or
// "schema_too_large".
ApiError RefuseSchema(const std::string& path, const SchemaError& error);

ApiResult<JsonSchema> CompileSchema(const nlohmann::ordered_json& schema, const std::string& path);

JsonMachineOptions MachineOptionsOf(const OutputFormat& format);

// Who makes recognizers of the texts that `format`, which is not kText, allows. Errors are 400 and
// name the field.
ApiResult<RecognizerFactory> CompileOutput(const OutputFormat& format,
                                           const SpecialTokenLookup& tokens);

// The texts of the whole grammar, what it cannot derive or what is too large about it being the
// fault of the field at `path`.
ApiResult<RecognizerFactory> BuildGrammar(GrammarBuilder builder, GrammarExpr start,
                                          const std::string& path);

}  // namespace weft
