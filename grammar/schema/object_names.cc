// Which names may come next in an object.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

constexpr size_t kMostRegions = 64;

}  // namespace

// As the object can end as it is, only what the name changes can stand against it.
bool SchemaSolver::MayComeNext(const ObjectLiterals& literals, NameId name,
                               const ObjectContext& context) {
  auto& known = has_value_[literals.tables];
  const auto [entry, is_new] = known.try_emplace(name);
  if (is_new) entry->second = IsSatisfiable(ValueUnder(literals.tables, name));
  if (!known.at(name)) return false;
  if (std::ranges::find(literals.forbidden, name) != literals.forbidden.end()) return false;
  const ObjectContext after = ContextWith(context, name);
  int64_t others = 0;
  for (const NameId required : literals.required) {
    if (required == name) continue;
    if (!MayCome(required, after)) return false;
    ++others;
  }
  return after.count + others <= literals.most;
}

RegexId SchemaSolver::NextNames(FormulaId object, const ObjectContext& context) {
  bool is_all = false;
  const ObjectLiterals literals = LiteralsOf(object, is_all);
  const bool is_plain = is_all && literals.violated.empty() && literals.least <= context.count + 1;
  const auto may_come = [&](NameId name) {
    if (is_plain) return MayComeNext(literals, name, context);
    const ObjectContext after = ContextWith(context, name);
    const auto comes_too_late = [&](NameId required) {
      return required != name && !MayCome(required, after);
    };
    if (std::ranges::any_of(literals.required, comes_too_late)) return false;
    if (depth_ == 0) BeginQuestion();
    const FormulaId with = WithName(object, name, after);
    return IsSatisfiable(FindPropertyValue(with, name, after, true));
  };
  const std::vector<int32_t> tables = TablesOf(object, AtomKind::kProperties);
  std::vector<NameId> listed = SpokenNames(object, context);
  std::vector<std::string> words;
  for (const NameId name : listed) {
    if (MayCome(name, context) && may_come(name)) words.push_back(logic_.constants().name(name));
  }
  RegexArena& regexes = logic_.regexes();
  std::vector<RegexId> names = {regexes.Words(words)};
  listed.insert(listed.end(), context.seen.begin(), context.seen.end());
  SortOnce(listed);
  // Without patterns the names that are left are alike.
  const bool has_patterns = !PatternsOf(object).empty();
  const NameId other = NameBeside(listed);
  if (!has_patterns && !may_come(other)) return names[0];
  const RegexId not_listed = regexes.Not(NamesOf(listed));
  if (has_patterns && AnyNameMayCome(object, other, context)) {
    return regexes.Or(names[0], not_listed);
  }
  for (const RegexId region : RegionsOf(tables)) {
    const RegexId left = regexes.And(region, not_listed);
    const std::optional<NameId> example = ExampleOf(left);
    if (example && may_come(*example)) names.push_back(left);
  }
  return regexes.Or(names);
}

// What all patterns together allow, and what is allowed of names that match none, may come by any
// name: nothing but the value tells names apart, and by what it must be, not by what it must not.
bool SchemaSolver::AnyNameMayCome(FormulaId object, NameId other, const ObjectContext& context) {
  const ObjectContext after = ContextWith(context, other);
  const FormulaId with = WithName(object, other, after);
  std::vector<ElementAtom> atoms = AtomsOfProperty(with, other);
  for (ElementAtom& each : atoms) {
    const PropertyTable& table = logic_.properties(logic_.formulas().atom(each.atom).subject);
    std::vector<FormulaId> values = {table.others};
    for (const auto& [pattern, value] : table.patterns) values.push_back(value);
    each.value = logic_.formulas().And(values);
  }
  const auto is_violated = [&](const FormulaStore::Occurrence& each) {
    return each.negative && logic_.formulas().atom(each.atom).kind == AtomKind::kProperties;
  };
  if (std::ranges::any_of(logic_.formulas().Occurrences(with), is_violated)) return false;
  const auto can_end = [&](FormulaId left, FormulaId) { return ObjectCanEnd(left, after); };
  if (depth_ == 0) BeginQuestion();
  return IsSatisfiable(ElementValue(with, atoms, {.can_end = can_end, .one_way_is_enough = true},
                                    kMostPropertyBranches));
}

std::vector<NameId> SchemaSolver::SpokenNames(FormulaId object, const ObjectContext& context) {
  std::vector<NameId> names = ListedNames(TablesOf(object, AtomKind::kProperties));
  for (const auto& [name, place] : orders_[static_cast<size_t>(context.order)]) {
    names.push_back(name);
  }
  for (const FormulaStore::Occurrence& occurrence : logic_.formulas().Occurrences(object)) {
    const Atom& atom = logic_.formulas().atom(occurrence.atom);
    if (atom.kind == AtomKind::kHasName) names.push_back(static_cast<NameId>(atom.subject));
  }
  SortOnce(names);
  return names;
}

std::vector<RegexId> SchemaSolver::PatternsOf(FormulaId object) {
  std::set<RegexId> patterns;
  for (const int32_t table : TablesOf(object, AtomKind::kProperties)) {
    for (const auto& [pattern, value] : logic_.properties(table).patterns) patterns.insert(pattern);
  }
  return {patterns.begin(), patterns.end()};
}

std::vector<NameId> SchemaSolver::RequiredNames(FormulaId object) const {
  bool is_all = false;
  return LiteralsOf(object, is_all).required;
}

NameId SchemaSolver::NameBeside(const std::vector<NameId>& listed) {
  std::string text;
  NameId name = logic_.constants().NameOf(text);
  for (; std::ranges::binary_search(listed, name); name = logic_.constants().NameOf(text)) {
    text += 'a';
  }
  return name;
}

const std::vector<NameId>& SchemaSolver::ListedNames(const std::vector<int32_t>& tables) {
  const auto [entry, is_new] = listed_names_.try_emplace(tables);
  std::vector<NameId>& names = entry->second;
  if (!is_new) return names;
  std::unordered_set<NameId> seen;
  for (const int32_t table : tables) {
    for (const auto& [name, value] : logic_.properties(table).named) {
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

// Of all texts, those of which these tables' patterns demand the same are one; texts that tables
// list are among them.
const std::vector<RegexId>& SchemaSolver::RegionsOf(const std::vector<int32_t>& tables) {
  const auto [entry, is_new] = regions_.try_emplace(tables);
  if (!is_new) return entry->second;
  RegexArena& regexes = logic_.regexes();
  std::vector<RegexId> regions = {regexes.AnyText()};
  for (const RegexId pattern : PatternsByValue(tables)) {
    std::vector<RegexId> finer;
    for (const RegexId region : regions) {
      for (const RegexId part :
           {regexes.And(region, pattern), regexes.And(region, regexes.Not(pattern))}) {
        if (!regexes.IsEmpty(part)) finer.push_back(part);
      }
    }
    if (finer.size() > kMostRegions) {
      gave_up_now_ = true;
      finer.resize(kMostRegions);
    }
    regions = std::move(finer);
  }
  return entry->second = std::move(regions);
}

// Those of a table that demand the same are one.
std::set<RegexId> SchemaSolver::PatternsByValue(const std::vector<int32_t>& tables) {
  std::set<RegexId> patterns;
  for (const int32_t table : tables) {
    std::map<std::vector<int32_t>, std::vector<RegexId>> alike;
    for (const auto& [pattern, value] : logic_.properties(table).patterns) {
      std::vector<int32_t> says = {
          static_cast<int32_t>(logic_.Strings(value)), static_cast<int32_t>(logic_.Numbers(value)),
          static_cast<int32_t>(logic_.Arrays(value)), static_cast<int32_t>(logic_.Objects(value))};
      for (const ValueKind kind : {ValueKind::kNull, ValueKind::kFalse, ValueKind::kTrue}) {
        says.push_back(logic_.HoldsFor(value, kind) ? 1 : 0);
      }
      alike[std::move(says)].push_back(pattern);
    }
    for (const auto& [says, of_value] : alike) patterns.insert(logic_.regexes().Or(of_value));
  }
  return patterns;
}

std::optional<NameId> SchemaSolver::ExampleOf(RegexId names) {
  const std::optional<std::vector<Symbol>> word = logic_.regexes().ShortestWord(names);
  if (!word) return std::nullopt;
  std::string text;
  for (const Symbol symbol : *word) AppendUtf8(symbol, &text);
  return logic_.constants().NameOf(text);
}

RegexId SchemaSolver::NamesOf(const std::vector<NameId>& names) {
  const auto [entry, is_new] = names_.try_emplace(names);
  if (is_new) {
    std::vector<std::string> words;
    for (const NameId name : names) words.push_back(logic_.constants().name(name));
    entry->second = logic_.regexes().Words(words);
  }
  return entry->second;
}

}  // namespace weft
