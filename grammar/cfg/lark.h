// Lark's notation for grammars (https://lark-parser.readthedocs.io/en/stable/grammar.html), with
// what llguidance adds to it (its docs/syntax.md) and without what it leaves out.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/cfg/grammar_text.h"

namespace weft {

// Makes the terminal of a %json { ... } in a grammar, or says why there is none.
using JsonTerminal = std::function<Result<RecognizerFactory>(std::string_view schema)>;

struct LarkLookup {
  SpecialTokenLookup tokens;
  JsonTerminal json;  // none: %json is refused
};

// The texts of rule `start`.
//
// Which texts these are is what Lark's Earley parser with lexer='dynamic_complete' says: the text
// may be cut into terminals in every way that fits. (Its lexer='dynamic' takes of each terminal as
// much as matches, so that it refuses some of these texts: "abcif" for WORD "if".) What %ignore
// names may stand behind every terminal, any number of times, but not before the first.
//
// Read, but of no meaning for a set of texts: priorities, aliases, ? and ! before rules, [capture].
// Refused by name: templates, parameters, imports of other modules than common, %declare,
// %override, %extend, %regex, %llguidance with options, @grammars, rule options other than capture,
// lazy and suffix (stop would take back text that was written). Patterns are those of Rust's crate
// regex. Special tokens are <name>, <[number]> and <[number,first-last]>, where all numbers are
// those of special tokens.
//
// Errors begin with "lark:LINE:COLUMN: ", both from 1, the column in bytes.
Result<GrammarExpr> ReadLark(GrammarBuilder* builder, std::string_view text,
                             const LarkLookup& lookup = {}, const GrammarTextLimits& limits = {});

}  // namespace weft
