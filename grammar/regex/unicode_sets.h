// Sets of code points that regular expressions name: general categories, scripts and other
// properties of Unicode 17; case without regard to language (simple case folding, Unicode 14).
#pragma once

#include <optional>
#include <string_view>

#include "grammar/regex/symbol_set.h"

namespace weft {

// What \p{name} or \p{name=value} stands for: a general category or, without `value`, a script or
// another property (UTS 18: case, spaces, `_` and `-` do not count). nullopt: not known.
std::optional<SymbolSet> UnicodeSet(std::string_view name, std::string_view value = {});

// With every code point those that differ from it in case alone.
SymbolSet WithOtherCases(const SymbolSet& set);

}  // namespace weft
