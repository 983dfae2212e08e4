#include "model/tokenizer/jinja/filters.h"

#include <algorithm>
#include <iterator>

namespace weft::jinja {
namespace {

// By name. Jinja's random, pprint, urlize, wordwrap and xmlattr have no place in prompts.
constexpr Builtin kFilters[] = {
    {"abs", FilterAbs},
    {"attr", FilterAttr, "name", 1},
    {"batch", FilterBatch, "linecount fill_with", 1},
    {"capitalize", FilterCapitalize},
    {"center", FilterCenter, "width"},
    {"count", FilterLength},
    {"d", FilterDefault, "default_value boolean"},
    {"default", FilterDefault, "default_value boolean"},
    {"dictsort", FilterDictSort, "case_sensitive by reverse"},
    {"e", FilterEscape},
    {"escape", FilterEscape},
    {"filesizeformat", FilterFileSize, "binary"},
    {"first", FilterFirst},
    {"float", FilterFloat, "default"},
    {"forceescape", FilterForceEscape},
    {"format", FilterFormat, "*"},
    {"groupby", FilterGroupBy, "attribute default case_sensitive", 1},
    {"indent", FilterIndent, "width first blank"},
    {"int", FilterInt, "default base"},
    {"items", FilterItems},
    {"join", FilterJoin, "d attribute"},
    {"last", FilterLast},
    {"length", FilterLength},
    {"list", FilterList},
    {"lower", FilterLower},
    {"map", FilterMap, "*"},
    {"max", FilterMax, "case_sensitive attribute"},
    {"min", FilterMin, "case_sensitive attribute"},
    {"reject", FilterReject, "*"},
    {"rejectattr", FilterRejectAttr, "*"},
    {"replace", FilterReplace, "old new count", 2},
    {"reverse", FilterReverse},
    {"round", FilterRound, "precision method"},
    {"safe", FilterSafe},
    {"select", FilterSelect, "*"},
    {"selectattr", FilterSelectAttr, "*"},
    {"slice", FilterSlice, "slices fill_with", 1},
    {"sort", FilterSort, "reverse case_sensitive attribute"},
    {"string", FilterString},
    {"striptags", FilterStripTags},
    {"sum", FilterSum, "attribute start"},
    {"title", FilterTitle},
    {"tojson", FilterToJson, "ensure_ascii indent separators sort_keys"},
    {"trim", FilterTrim, "chars"},
    {"truncate", FilterTruncate, "length killwords end leeway"},
    {"unique", FilterUnique, "case_sensitive attribute"},
    {"upper", FilterUpper},
    {"urlencode", FilterUrlEncode},
    {"wordcount", FilterWordCount},
};

}  // namespace

const Builtin* FindFilter(std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(kFilters), std::end(kFilters), name,
                       [](const Builtin& filter, std::string_view n) { return filter.name < n; });
  return found != std::end(kFilters) && found->name == name ? found : nullptr;
}

}  // namespace weft::jinja
