// How objects can go on.
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

constexpr int kMostSearchDepth = 2000;

}  // namespace

void SchemaSolver::SortOnce(std::vector<NameId>& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

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
  object = WithoutWhatIsOver(object, after, name);
  return ElementValue(object, AtomsOfProperty(object, name),
                      {.can_end = can_end, .one_way_is_enough = one_way_is_enough},
                      kMostPropertyBranches);
}

FormulaId SchemaSolver::ValueUnder(const std::vector<int32_t>& tables, NameId name) {
  std::vector<FormulaId> parts;
  for (const int32_t table : tables) parts.push_back(logic_.ValueOf(table, name));
  return logic_.formulas().And(parts);
}

FormulaId SchemaSolver::WithoutWhatIsOver(FormulaId object, const ObjectContext& context,
                                          std::optional<NameId> now) {
  const auto demands = [](const auto& named) { return named.second != FormulaId::kTrue; };
  constexpr int64_t kNamesInStep = 256;
  const auto may_be_violated = [&](const PropertyTable& table) {
    Spend(std::ssize(table.named) / kNamesInStep);
    return table.others != FormulaId::kTrue || std::ranges::any_of(table.patterns, demands) ||
           std::ranges::any_of(table.named, [&](const auto& named) {
             return demands(named) && (named.first == now || MayCome(named.first, context));
           });
  };
  std::unordered_map<FormulaId, FormulaId> over;
  for (const FormulaStore::Occurrence& each : logic_.formulas().Occurrences(object)) {
    const Atom& atom = logic_.formulas().atom(each.atom);
    if (atom.kind == AtomKind::kHasName && !MayCome(static_cast<NameId>(atom.subject), context)) {
      over.emplace(each.atom, FormulaId::kFalse);
    } else if (atom.kind == AtomKind::kProperties && each.negative &&
               !may_be_violated(logic_.properties(atom.subject))) {
      over.emplace(each.atom, FormulaId::kTrue);
    }
  }
  return over.empty() ? object : Replaced(object, over);
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
