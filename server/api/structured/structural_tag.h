// vLLM's structural tags: text in which what is between certain words is under a schema
// (https://xgrammar.mlc.ai/docs/tutorials/structural_tag.html). Include from .cc files only.
#pragma once

#include "grammar/cfg/grammar.h"
#include "grammar/cfg/grammar_text.h"
#include "proto/api_error.h"
#include "proto/output_format.h"

namespace weft {

// Both forms: {"structures": [{"begin", "schema", "end"}], "triggers": [...]} and {"format": ...}
// with const_string, json_schema, regex, grammar, any_text, sequence, or, tag, triggered_tags and
// tags_with_separator. Words that are special tokens are these tokens.
ApiResult<RecognizerFactory> CompileStructuralTag(const OutputFormat& format,
                                                  const SpecialTokenLookup& tokens);

}  // namespace weft
