// How objects can go on.
#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_set>

#include "base/check.h"
#include "base/utf8.h"
#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

constexpr int kMostPropertyBranches = 1024;
constexpr size_t kMostRegions = 64;
constexpr int kMostSearchDepth = 2000;

void SortOnce(std::vector<NameId>& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

int32_t SchemaSolver::OrderOf(FormulaId object) {
  const auto [entry, is_new] = order_ids_.emplace(object, static_cast<int32_t>(orders_.size()));
  if (!is_new) return entry->second;
  std::unordered_map<NameId, int32_t> order;
  for (const NameId name : ListedNames(TablesOf(object, AtomKind::kProperties))) {
    order.emplace(name, static_cast<int32_t>(order.size()));
  }
  orders_.push_back(std::move(order));
  return entry->second;
}

bool SchemaSolver::ObjectMayEnd(FormulaId object) {
  const auto [entry, is_new] = may_end_.try_emplace(object);
  if (!is_new) return entry->second;
  entry->second = logic_.formulas().Replace(object, [](FormulaId, const Atom& atom) {
    return atom.kind == AtomKind::kProperties ? FormulaId::kTrue : FormulaId::kFalse;
  }) == FormulaId::kTrue;
  return entry->second;
}

ObjectContext SchemaSolver::ContextWith(const ObjectContext& context, NameId name) const {
  ObjectContext after = context;
  ++after.count;
  const std::unordered_map<NameId, int32_t>& order = orders_[static_cast<size_t>(context.order)];
  const auto place = order.find(name);
  if (!options_.any_order) {
    after.position = static_cast<int32_t>(order.size());
    if (place != order.end()) {
      after.position = place->second + 1;
      return after;
    }
  }
  after.seen.insert(std::ranges::upper_bound(after.seen, name), name);
  return after;
}

bool SchemaSolver::MayCome(NameId name, const ObjectContext& context) const {
  if (std::ranges::binary_search(context.seen, name)) return false;
  if (options_.any_order) return true;
  const std::unordered_map<NameId, int32_t>& order = orders_[static_cast<size_t>(context.order)];
  const auto place = order.find(name);
  return place == order.end() || place->second >= context.position;
}

FormulaId SchemaSolver::WithName(FormulaId object, NameId name, const ObjectContext& after) {
  return logic_.formulas().Replace(object, [&](FormulaId id, const Atom& atom) {
    const bool is_name =
        atom.kind == AtomKind::kHasName && static_cast<NameId>(atom.subject) == name;
    const bool is_enough = atom.kind == AtomKind::kMinProperties && atom.count <= after.count;
    return is_name || is_enough ? FormulaId::kTrue : id;
  });
}

std::vector<ElementAtom> SchemaSolver::AtomsOfProperty(FormulaId object, NameId name) {
  std::vector<ElementAtom> atoms;
  for (const FormulaStore::Occurrence& occurrence : logic_.formulas().Occurrences(object)) {
    const Atom atom = logic_.formulas().atom(occurrence.atom);
    if (atom.kind != AtomKind::kProperties) continue;
    atoms.push_back({.atom = occurrence.atom,
                     .value = logic_.ValueOf(atom.subject, name),
                     .if_true = occurrence.atom});
  }
  return atoms;
}

FormulaId SchemaSolver::PropertyValue(FormulaId object, NameId name, const ObjectContext& after) {
  const std::tuple key = {object, name, ContextId(after)};
  const auto found = property_values_.find(key);
  if (found != property_values_.end()) return found->second;
  if (depth_ == 0) BeginQuestion();
  const FormulaId value = FindPropertyValue(object, name, after, false);
  // What is found while a question is open may rest on it.
  if (depth_ == 0) property_values_.emplace(key, value);
  return value;
}

FormulaId SchemaSolver::FindPropertyValue(FormulaId object, NameId name, const ObjectContext& after,
                                          bool one_way_is_enough) {
  const auto can_end = [&](FormulaId left, FormulaId) { return ObjectCanEnd(left, after); };
  return ElementValue(object, AtomsOfProperty(object, name),
                      {.can_end = can_end, .one_way_is_enough = one_way_is_enough},
                      kMostPropertyBranches);
}

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

FormulaId SchemaSolver::ValueUnder(const std::vector<int32_t>& tables, NameId name) {
  std::vector<FormulaId> parts;
  for (const int32_t table : tables) parts.push_back(logic_.ValueOf(table, name));
  return logic_.formulas().And(parts);
}

bool SchemaSolver::SearchObject(FormulaId object, const ObjectContext& context) {
  if (object == FormulaId::kFalse) return false;
  FormulaStore& formulas = logic_.formulas();
  const auto size = static_cast<int64_t>(formulas.Occurrences(object).size());
  if (!Spend(1 + size / kAtomsInStep)) return false;
  if (search_depth_ >= kMostSearchDepth) gave_up_now_ = true;
  ObjectLiterals literals;
  std::unordered_map<FormulaId, FormulaId> known;  // atoms
  std::vector<FormulaId> clauses;
  const std::vector<FormulaId> parts = formulas.kind(object) == FormulaKind::kAnd
                                           ? formulas.PartsOf(object)
                                           : std::vector<FormulaId>{object};
  for (const FormulaId part : parts) {
    const bool is_negated = formulas.kind(part) == FormulaKind::kNot;
    const FormulaId inner = is_negated ? formulas.parts(part)[0] : part;
    if (formulas.kind(inner) == FormulaKind::kAtom) {
      known.emplace(inner, is_negated ? FormulaId::kFalse : FormulaId::kTrue);
      literals.Add(formulas.atom(inner), is_negated);
    } else if (part != FormulaId::kTrue) {
      clauses.push_back(part);
    }
  }
  if (!HasRequired(literals, context)) return false;
  if (clauses.empty()) return HasObject(literals, context);
  const FormulaId left = formulas.Replace(formulas.And(clauses), [&](FormulaId atom, const Atom&) {
    const auto found = known.find(atom);
    return found == known.end() ? atom : found->second;
  });
  std::vector<FormulaId> facts;
  for (const auto& [atom, value] : known) {
    facts.push_back(value == FormulaId::kTrue ? atom : formulas.Not(atom));
  }
  if (left != formulas.And(clauses)) {
    facts.push_back(left);
    return SearchObject(formulas.And(facts), context);
  }
  bool takes_nothing = false;
  const FormulaId without = WithoutRefusedNames(object, takes_nothing);
  if (without != object) {
    const bool has_it = SearchObject(without, context);
    if (has_it || takes_nothing) return has_it;
  }
  // The clause that leaves the fewest choices.
  std::optional<Branches> fewest;
  size_t chosen = 0;
  for (size_t i = 0; i < clauses.size(); ++i) {
    std::optional<Branches> branches = BranchesOf(clauses[i]);
    WEFT_CHECK(branches.has_value());
    if (fewest && fewest->count <= branches->count) continue;
    fewest = std::move(branches);
    chosen = i;
  }
  for (size_t i = 0; i < clauses.size(); ++i) {
    if (i != chosen) facts.push_back(clauses[i]);
  }
  const FormulaId rest = formulas.And(facts);
  ++search_depth_;
  bool has_it = false;
  for (size_t i = 0; i < fewest->count && !has_it; ++i) {
    has_it = SearchObject(formulas.And(rest, fewest->at(i)), context);
  }
  --search_depth_;
  return has_it;
}

FormulaId SchemaSolver::WithoutRefusedNames(FormulaId object, bool& takes_nothing) {
  FormulaStore& formulas = logic_.formulas();
  const std::vector<FormulaId> parts = formulas.kind(object) == FormulaKind::kAnd
                                           ? formulas.PartsOf(object)
                                           : std::vector<FormulaId>{object};
  std::unordered_map<FormulaId, FormulaId> refused;
  std::vector<FormulaId> all;
  for (const FormulaStore::Occurrence& each : formulas.Occurrences(object)) {
    if (formulas.atom(each.atom).kind != AtomKind::kHasName || each.positive) continue;
    const FormulaId is_not_there = formulas.Not(each.atom);
    if (std::ranges::binary_search(parts, is_not_there)) continue;
    refused.emplace(each.atom, FormulaId::kFalse);
    all.push_back(is_not_there);
  }
  if (refused.empty()) return object;
  all.push_back(Replaced(object, refused));
  const FormulaId without = formulas.And(all);
  // They may be there to make up a number, or to be what a table does not allow.
  takes_nothing = std::ranges::none_of(
      formulas.Occurrences(without), [&](const FormulaStore::Occurrence& each) {
        const Atom atom = formulas.atom(each.atom);
        if (atom.kind == AtomKind::kMinProperties) return each.positive;
        if (atom.kind != AtomKind::kProperties || !each.negative) return false;
        return std::ranges::any_of(refused, [&](const auto& name) {
          const auto id = static_cast<NameId>(formulas.atom(name.first).subject);
          return logic_.ValueOf(atom.subject, id) != FormulaId::kTrue;
        });
      });
  return without;
}

void SchemaSolver::ObjectLiterals::Add(const Atom& atom, bool is_negated) {
  const auto name = static_cast<NameId>(atom.subject);
  if (atom.kind == AtomKind::kProperties) {
    (is_negated ? violated : tables).push_back(atom.subject);
  } else if (atom.kind == AtomKind::kHasName) {
    (is_negated ? forbidden : required).push_back(name);
  } else if (is_negated) {
    most = std::min(most, atom.count - 1);
  } else {
    least = std::max(least, atom.count);
  }
}

bool SchemaSolver::HasRequired(const ObjectLiterals& literals, const ObjectContext& context) {
  return context.count + std::ssize(literals.required) <= literals.most &&
         std::ranges::all_of(literals.required, [&](NameId name) {
           return MayCome(name, context) && IsSatisfiable(ValueUnder(literals.tables, name));
         });
}

bool SchemaSolver::HasObject(const ObjectLiterals& literals, const ObjectContext& context) {
  NamedValues values;
  for (const NameId name : literals.required) values[name] = {ValueUnder(literals.tables, name)};
  return MeetViolations(literals, context, 0, values);
}

bool SchemaSolver::MeetViolations(const ObjectLiterals& literals, const ObjectContext& context,
                                  size_t next, NamedValues& values) {
  if (next == literals.violated.size()) return HasEnough(literals, context, values);
  const auto size = std::ssize(literals.violated) + std::ssize(literals.tables);
  if (!Spend(1 + size / kAtomsInStep)) return false;
  FormulaStore& formulas = logic_.formulas();
  const int32_t table = literals.violated[next];
  const auto try_name = [&](NameId name) {
    const FormulaId violation = formulas.Not(logic_.ValueOf(table, name));
    if (violation == FormulaId::kFalse) return false;
    NamedValues with = values;
    const auto [entry, is_new] = with.try_emplace(name);
    if (is_new) entry->second.push_back(ValueUnder(literals.tables, name));
    entry->second.push_back(violation);
    return IsSatisfiable(formulas.And(entry->second)) &&
           MeetViolations(literals, context, next + 1, with);
  };
  for (const auto& [name, value] : NamedValues(values)) {
    if (try_name(name)) return true;
  }
  std::vector<int32_t> tables = literals.tables;
  tables.insert(tables.end(), literals.violated.begin(), literals.violated.end());
  const OpenNames open = FindOpenNames(literals, tables, context, values);
  if (std::ranges::any_of(open.listed, try_name)) return true;
  return std::ranges::any_of(open.others, [&](RegexId region) {
    const std::optional<NameId> example = ExampleOf(region);
    return example && try_name(*example);
  });
}

SchemaSolver::OpenNames SchemaSolver::FindOpenNames(const ObjectLiterals& literals,
                                                    const std::vector<int32_t>& tables,
                                                    const ObjectContext& context,
                                                    const NamedValues& values) {
  OpenNames open;
  std::vector<NameId> taken = context.seen;
  for (const auto& [name, place] : orders_[static_cast<size_t>(context.order)]) {
    taken.push_back(name);
  }
  for (const auto& [name, value] : values) taken.push_back(name);
  taken.insert(taken.end(), literals.forbidden.begin(), literals.forbidden.end());
  for (const NameId name : ListedNames(tables)) {
    taken.push_back(name);
    if (MayCome(name, context) && !values.contains(name) &&
        std::ranges::find(literals.forbidden, name) == literals.forbidden.end()) {
      open.listed.push_back(name);
    }
  }
  SortOnce(taken);
  RegexArena& regexes = logic_.regexes();
  const RegexId not_taken = regexes.Not(NamesOf(taken));
  for (const RegexId region : RegionsOf(tables)) {
    open.others.push_back(regexes.And(region, not_taken));
  }
  return open;
}

bool SchemaSolver::HasEnough(const ObjectLiterals& literals, const ObjectContext& context,
                             const NamedValues& values) {
  const int64_t count = context.count + std::ssize(values);
  if (count > literals.most || literals.least > literals.most) return false;
  if (count >= literals.least) return true;
  auto lacking = static_cast<uint64_t>(literals.least - count);
  const OpenNames open = FindOpenNames(literals, literals.tables, context, values);
  for (const NameId name : open.listed) {
    if (IsSatisfiable(ValueUnder(literals.tables, name)) && --lacking == 0) return true;
  }
  for (const RegexId region : open.others) {
    const std::optional<NameId> example = ExampleOf(region);
    if (!example || !IsSatisfiable(ValueUnder(literals.tables, *example))) continue;
    lacking -= logic_.regexes().CountWords(region, lacking);
    if (lacking == 0) return true;
  }
  return false;
}

}  // namespace weft
