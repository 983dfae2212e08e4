// How arrays can go on.
#include <algorithm>

#include "grammar/regex/pattern.h"
#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

constexpr int kMostItemBranches = 256;
constexpr int kMostCountDepth = 4;

}  // namespace

bool SchemaSolver::ArrayMayEnd(FormulaId array) {
  const auto [entry, is_new] = may_end_.try_emplace(array);
  if (!is_new) return entry->second;
  entry->second = logic_.formulas().Replace(array, [](FormulaId, const Atom& atom) {
    const bool holds = atom.kind == AtomKind::kItems || atom.kind == AtomKind::kUnique;
    return holds ? FormulaId::kTrue : FormulaId::kFalse;
  }) == FormulaId::kTrue;
  return entry->second;
}

FormulaId SchemaSolver::WithItem(FormulaId array, const ArrayContext& after) {
  return logic_.formulas().Replace(array, [&](FormulaId id, const Atom& atom) {
    return atom.kind == AtomKind::kMinItems && atom.count <= after.count ? FormulaId::kTrue : id;
  });
}

std::vector<ElementAtom> SchemaSolver::AtomsOfItem(FormulaId array, const ArrayContext& context) {
  FormulaStore& formulas = logic_.formulas();
  std::vector<ElementAtom> atoms;
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(array)) {
    const Atom atom = formulas.atom(occurrence.atom);
    ElementAtom element = {.atom = occurrence.atom, .if_true = occurrence.atom};
    if (atom.kind == AtomKind::kItems) {
      element.value = logic_.ItemAt(atom.subject, context.count);
      const ItemTable& table = logic_.items(atom.subject);
      const bool is_over = context.count + 1 >= std::ssize(table.prefix);
      if (is_over && table.rest == FormulaId::kTrue) element.if_true = FormulaId::kTrue;
    } else if (atom.kind == AtomKind::kContains) {
      element.value = static_cast<FormulaId>(atom.subject);
      element.if_false = occurrence.atom;
      element.if_true = atom.count == 1 ? FormulaId::kTrue
                                        : formulas.Of({.kind = AtomKind::kContains,
                                                       .subject = atom.subject,
                                                       .count = atom.count - 1});
    } else if (atom.kind == AtomKind::kUnique) {
      element.value = WithoutItems(context);
    } else {
      continue;
    }
    atoms.push_back(element);
  }
  return atoms;
}

ArrayContext SchemaSolver::ContextWith(const ArrayContext& context) const {
  ArrayContext after = context;
  ++after.count;
  return after;
}

int64_t SchemaSolver::CountThatMatters(std::span<const FormulaId> arrays, int64_t count) {
  int64_t most = 0;
  for (const FormulaId array : arrays) {
    for (const FormulaStore::Occurrence& occurrence : logic_.formulas().Occurrences(array)) {
      const Atom& atom = logic_.formulas().atom(occurrence.atom);
      if (atom.kind == AtomKind::kMinItems) most = std::max(most, atom.count);
      if (atom.kind == AtomKind::kItems) {
        most = std::max<int64_t>(most, std::ssize(logic_.items(atom.subject).prefix));
      }
    }
  }
  return std::min(count, most);
}

bool SchemaSolver::LooksForEqualItems(FormulaId array) {
  return std::ranges::any_of(logic_.formulas().Occurrences(array), [this](const auto& occurrence) {
    return logic_.formulas().atom(occurrence.atom).kind == AtomKind::kUnique;
  });
}

FormulaId SchemaSolver::WithoutItems(const ArrayContext& context) {
  FormulaStore& formulas = logic_.formulas();
  std::vector<FormulaId> parts;
  for (const ConstantId item : context.items) {
    parts.push_back(formulas.Not(
        formulas.Of({.kind = AtomKind::kEquals, .subject = static_cast<int32_t>(item)})));
  }
  return formulas.And(parts);
}

FormulaId SchemaSolver::ItemValue(FormulaId array, const ArrayContext& context) {
  if (depth_ == 0) BeginQuestion();
  return FindItemValue(array, context, false);
}

FormulaId SchemaSolver::FindItemValue(FormulaId array, const ArrayContext& context,
                                      bool must_change) {
  const ArrayContext after = ContextWith(context);
  const FormulaId with = WithItem(array, after);
  const int64_t count = CountThatMatters(std::span(&array, 1), after.count);
  const auto can_end = [&](FormulaId left, FormulaId value) {
    if (must_change && left == array && count == context.count) return false;
    if (!LooksForEqualItems(left)) return ArrayCanEnd(left, after);
    if (!HasAnother(value, context.assumed)) return false;
    ArrayContext next = after;
    next.assumed.insert(std::ranges::upper_bound(next.assumed, value), value);
    return ArrayCanEnd(left, next);
  };
  return ElementValue(with, AtomsOfItem(with, context), {.can_end = can_end}, kMostItemBranches);
}

bool SchemaSolver::HasAnother(FormulaId value, const std::vector<FormulaId>& others) {
  if (CountValues(value, others.size() + 1) > others.size()) return true;
  const auto meets = [&](FormulaId other) {
    return IsSatisfiable(logic_.formulas().And(value, other));
  };
  const auto met = static_cast<uint64_t>(std::ranges::count_if(others, meets));
  return CountValues(value, met + 1) > met;
}

bool SchemaSolver::FindArray(FormulaId array, const ArrayContext& context) {
  bool has_it = false;
  if (HasPlainArray(array, context, has_it)) return has_it;
  return IsSatisfiable(FindItemValue(array, context, true));
}

// Of those that say nothing but what all items must be and how many, without going through them.
bool SchemaSolver::HasPlainArray(FormulaId array, const ArrayContext& context, bool& has_it) {
  FormulaStore& formulas = logic_.formulas();
  const std::vector<FormulaId> parts = formulas.kind(array) == FormulaKind::kAnd
                                           ? formulas.PartsOf(array)
                                           : std::vector<FormulaId>{array};
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
  int64_t prefix = context.count;
  bool is_unique = false;
  std::vector<int32_t> tables;
  for (const FormulaId part : parts) {
    const bool is_negated = formulas.kind(part) == FormulaKind::kNot;
    const FormulaId inner = is_negated ? formulas.parts(part)[0] : part;
    if (formulas.kind(inner) != FormulaKind::kAtom) return false;
    const Atom& atom = formulas.atom(inner);
    if (atom.kind == AtomKind::kMinItems) {
      if (is_negated) most = std::min(most, atom.count - 1);
      if (!is_negated) least = std::max(least, atom.count);
    } else if (atom.kind == AtomKind::kItems && !is_negated) {
      tables.push_back(atom.subject);
      prefix = std::max<int64_t>(prefix, std::ssize(logic_.items(atom.subject).prefix));
    } else if (atom.kind == AtomKind::kUnique && !is_negated) {
      is_unique = true;
    } else {
      return false;
    }
  }
  std::vector<FormulaId> others = context.assumed;
  const auto item_at = [&](int64_t index) {
    std::vector<FormulaId> values;
    if (is_unique) values.push_back(WithoutItems(context));
    for (const int32_t table : tables) values.push_back(logic_.ItemAt(table, index));
    return formulas.And(values);
  };
  has_it = least <= most;
  for (int64_t index = context.count; has_it && index < std::min(prefix, least); ++index) {
    const FormulaId item = item_at(index);
    has_it = is_unique ? HasAnother(item, others) : IsSatisfiable(item);
    if (is_unique) others.push_back(item);
  }
  if (!has_it || least <= prefix) return true;
  const FormulaId item = item_at(prefix);
  const uint64_t needed = is_unique ? static_cast<uint64_t>(least - prefix) + others.size() : 1;
  has_it = IsSatisfiable(item) && CountValues(item, needed) >= needed;
  return true;
}

uint64_t SchemaSolver::CountValues(FormulaId value, uint64_t limit) {
  uint64_t count = 0;
  for (const ValueKind kind : {ValueKind::kNull, ValueKind::kFalse, ValueKind::kTrue}) {
    count += logic_.HoldsFor(value, kind) ? 1 : 0;
  }
  RegexArena& regexes = logic_.regexes();
  if (count < limit) count += regexes.CountWords(logic_.Strings(value), limit - count);
  if (count < limit) {
    // Each number by one of its texts.
    const RegexId once =
        ParsePattern(&regexes, R"(-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?)", PatternDialect::kRe2)
            .value_or(RegexArena::Nothing());
    const RegexId zero_once = regexes.And(once, regexes.Not(regexes.Literal("-0")));
    const RegexId numbers = regexes.And(logic_.Numbers(value), zero_once);
    count += regexes.CountWords(numbers, limit - count);
  }
  if (count < limit) count += CountArrays(logic_.Arrays(value), limit - count);
  if (count < limit) count += CountObjects(Objects(value), limit - count);
  return std::min(count, limit);
}

// The empty one, and those whose first items differ.
uint64_t SchemaSolver::CountArrays(FormulaId array, uint64_t limit) {
  if (array == FormulaId::kFalse || !ArrayCanEnd(array, {})) return 0;
  if (limit == 1 || count_depth_ >= kMostCountDepth) return 1;
  ++count_depth_;
  const uint64_t empty = ArrayMayEnd(array) ? 1 : 0;
  const uint64_t count = empty + CountValues(ItemValue(array, {}), limit);
  --count_depth_;
  return std::clamp<uint64_t>(count, 1, limit);
}

// Those that differ in one property's name, where it is one of many, or in its value.
uint64_t SchemaSolver::CountObjects(FormulaId object, uint64_t limit) {
  if (object == FormulaId::kFalse) return 0;
  const ObjectContext context = {.order = OrderOf(object)};
  if (!ObjectCanEnd(object, context)) return 0;
  if (limit == 1 || count_depth_ >= kMostCountDepth) return 1;
  ++count_depth_;
  uint64_t count = 1;
  const auto value_of = [&](NameId name) {
    const ObjectContext after = ContextWith(context, name);
    return PropertyValue(WithName(object, name, after), name, after);
  };
  const std::vector<int32_t> tables = TablesOf(object, AtomKind::kProperties);
  const OpenNames open = FindOpenNames({}, tables, context, {});
  for (const RegexId region : open.others) {
    const std::optional<NameId> example = ExampleOf(region);
    if (count >= limit || !example || !IsSatisfiable(value_of(*example))) continue;
    count = std::max(count, logic_.regexes().CountWords(region, limit));
  }
  for (const NameId name : open.listed) {
    if (count < limit) count = std::max(count, CountValues(value_of(name), limit));
  }
  --count_depth_;
  return count;
}

}  // namespace weft
