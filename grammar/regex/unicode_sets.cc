#include "grammar/regex/unicode_sets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

struct NamedValue {
  std::string_view name;
  uint32_t value;
};

// The categories, but for code points where they are not what the property says.
struct DerivedProperty {
  std::string_view name;
  std::string_view categories;  // separated by spaces
  std::span<const SymbolRange> different;
};

// Code points from `first` to `last`, each `step`th, become those at `distance`.
struct Folding {
  Symbol first;
  Symbol last;
  Symbol step;
  int32_t distance;
};

#include "grammar/regex/unicode_categories.inc"
#include "grammar/regex/unicode_properties.inc"
#include "grammar/regex/unicode_scripts.inc"

// In the order of the numbers in kCategoryRuns.
constexpr std::array<std::string_view, 29> kCategories = {
    "LU", "LL", "LT", "LM", "LO", "MN", "MC", "ME", "ND", "NL", "NO", "PC", "PD", "PS", "PE",
    "PI", "PF", "PO", "SM", "SC", "SK", "SO", "ZS", "ZL", "ZP", "CC", "CF", "CN", "CO"};

struct LongName {
  std::string_view name;
  std::string_view category;
};
constexpr auto kLongNames = std::to_array<LongName>({
    {"LETTER", "L"},
    {"UPPERCASELETTER", "LU"},
    {"LOWERCASELETTER", "LL"},
    {"TITLECASELETTER", "LT"},
    {"CASEDLETTER", "LC"},
    {"MODIFIERLETTER", "LM"},
    {"OTHERLETTER", "LO"},
    {"MARK", "M"},
    {"COMBININGMARK", "M"},
    {"NONSPACINGMARK", "MN"},
    {"SPACINGMARK", "MC"},
    {"ENCLOSINGMARK", "ME"},
    {"NUMBER", "N"},
    {"DECIMALNUMBER", "ND"},
    {"DIGIT", "ND"},
    {"LETTERNUMBER", "NL"},
    {"OTHERNUMBER", "NO"},
    {"PUNCTUATION", "P"},
    {"PUNCT", "P"},
    {"CONNECTORPUNCTUATION", "PC"},
    {"DASHPUNCTUATION", "PD"},
    {"OPENPUNCTUATION", "PS"},
    {"CLOSEPUNCTUATION", "PE"},
    {"INITIALPUNCTUATION", "PI"},
    {"FINALPUNCTUATION", "PF"},
    {"OTHERPUNCTUATION", "PO"},
    {"SYMBOL", "S"},
    {"MATHSYMBOL", "SM"},
    {"CURRENCYSYMBOL", "SC"},
    {"MODIFIERSYMBOL", "SK"},
    {"OTHERSYMBOL", "SO"},
    {"SEPARATOR", "Z"},
    {"SPACESEPARATOR", "ZS"},
    {"LINESEPARATOR", "ZL"},
    {"PARAGRAPHSEPARATOR", "ZP"},
    {"OTHER", "C"},
    {"CONTROL", "CC"},
    {"CNTRL", "CC"},
    {"FORMAT", "CF"},
    {"UNASSIGNED", "CN"},
    {"PRIVATEUSE", "CO"},
});

std::string LooseName(std::string_view name) {
  std::string loose;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    loose += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return loose;
}

// The runs whose value, in the low 8 bits, is wanted.
template <typename Wanted>
SymbolSet RunsWith(std::span<const uint32_t> runs, const Wanted& wanted) {
  std::vector<SymbolRange> ranges;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!wanted(runs[i] & 0xFFU)) continue;
    const Symbol end = i + 1 < runs.size() ? runs[i + 1] >> 8U : kLastCodePoint + 1;
    ranges.push_back({runs[i] >> 8U, end - 1});
  }
  return SymbolSet(std::move(ranges)).Intersection(SymbolSet::AllCodePoints());
}

std::optional<SymbolSet> CategorySet(std::string_view name) {
  for (const LongName& known : kLongNames) {
    if (known.name == name) name = known.category;
  }
  const auto is_in = [&](std::string_view category) {
    if (name == "LC") return category == "LU" || category == "LL" || category == "LT";
    return category == name || (name.size() == 1 && category.front() == name.front());
  };
  if (std::ranges::none_of(kCategories, is_in)) return std::nullopt;
  return RunsWith(kCategoryRuns, [&](uint32_t value) { return is_in(kCategories[value]); });
}

std::optional<SymbolSet> ScriptSet(std::string_view name) {
  const auto* const known = std::ranges::find(kScriptNames, name, &NamedValue::name);
  if (known == kScriptNames.end()) return std::nullopt;
  return RunsWith(kScriptRuns, [&](uint32_t value) { return value == known->value; });
}

SymbolSet DifferentIn(const SymbolSet& set, const SymbolSet& where) {
  const SymbolSet both = set.Intersection(where);
  return set.Union(where).Intersection(both.Complement());
}

std::optional<SymbolSet> PropertySet(std::string_view name) {
  if (name == "ANY") return SymbolSet::AllCodePoints();
  if (name == "ASCII") return SymbolSet({{0, 0x7F}});
  if (name == "ASSIGNED") return CategorySet("CN")->Complement();
  if (name == "ASCIIHEXDIGIT") return SymbolSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  if (name == "SPACE") name = "WHITESPACE";
  const auto* const known = std::ranges::find(kDerivedProperties, name, &DerivedProperty::name);
  if (known == kDerivedProperties.end()) return std::nullopt;
  SymbolSet set;
  std::string_view categories = known->categories;
  while (!categories.empty()) {
    const size_t length = std::min(categories.find(' '), categories.size());
    set = set.Union(*CategorySet(LooseName(categories.substr(0, length))));
    categories.remove_prefix(std::min(length + 1, categories.size()));
  }
  const std::vector<SymbolRange> different(known->different.begin(), known->different.end());
  return DifferentIn(set, SymbolSet(different));
}

}  // namespace

std::optional<SymbolSet> UnicodeSet(std::string_view name, std::string_view value) {
  const std::string key = LooseName(name);
  if (value.empty()) {
    if (std::optional<SymbolSet> set = CategorySet(key)) return set;
    if (std::optional<SymbolSet> set = PropertySet(key)) return set;
    return ScriptSet(key);
  }
  if (key == "GC" || key == "GENERALCATEGORY") return CategorySet(LooseName(value));
  if (key == "SC" || key == "SCRIPT") return ScriptSet(LooseName(value));
  return std::nullopt;
}

SymbolSet WithOtherCases(const SymbolSet& set) {
  const auto moved = [](Symbol symbol, int32_t distance) {
    return static_cast<Symbol>(static_cast<int32_t>(symbol) + distance);
  };
  std::vector<SymbolRange> folded(set.ranges().begin(), set.ranges().end());
  for (const Folding& it : kFoldings) {
    for (Symbol c = it.first; c <= it.last; c += it.step) {
      if (set.Contains(c)) folded.push_back({moved(c, it.distance), moved(c, it.distance)});
    }
  }
  const SymbolSet foldings(folded);
  for (const Folding& it : kFoldings) {
    for (Symbol c = it.first; c <= it.last; c += it.step) {
      if (foldings.Contains(moved(c, it.distance))) folded.push_back({c, c});
    }
  }
  return SymbolSet(std::move(folded));
}

}  // namespace weft
