// GBNF, llama.cpp's notation for grammars (grammars/README.md and src/llama-grammar.cpp of the copy
// in llama-cpp-python 0.3.36).
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/cfg/grammar_text.h"

namespace weft {

// The texts of rule `root` of the grammar `text`. What llama.cpp passes over is an error: a rule
// that is defined twice, a class without characters, a range that ends before it begins, a
// character that is none, a count of more than limits.max_count (llama.cpp takes those over 2000
// for unbounded). {,n} and _ in names are read as well.
//
// `tokens` finds tokens (<think>, <[1000]>); only special tokens have a place in a grammar over
// texts. !<think> is any other token, which is no text: it is read before * and + alone, and means
// characters there, without special tokens.
//
// Errors begin with "gbnf:LINE:COLUMN: ", both from 1, the column in bytes.
Result<GrammarExpr> ReadGbnf(GrammarBuilder* builder, std::string_view text,
                             const SpecialTokenLookup& tokens = {},
                             const GrammarTextLimits& limits = {});

}  // namespace weft
