// Schemas of a oneOf that no object satisfies two of: one of them is exactly one.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

constexpr size_t kMostInPairs = 200;
// A formula may stand in as many contexts as there are ways to it.
constexpr size_t kMostLoosened = 10'000;

}  // namespace

FormulaId SchemaSolver::Objects(FormulaId value) {
  const auto found = objects_.find(value);
  if (found != objects_.end()) return found->second;
  const FormulaId object = Loosened(logic_.Objects(value), FormulaId::kTrue);
  objects_.emplace(value, object);
  return object;
}

// Where a property tells the schemas of a oneOf apart, one of them is exactly one. `context` holds
// besides. What is left as it is means the same.
FormulaId SchemaSolver::Loosened(FormulaId object, FormulaId context) {
  const auto found = loosened_.find({object, context});
  if (found != loosened_.end()) return found->second;
  if (loosened_.size() >= kMostLoosened) return object;
  const FormulaId loosened = FindLoosened(object, context);
  loosened_.emplace(std::pair(object, context), loosened);
  return loosened;
}

FormulaId SchemaSolver::FindLoosened(FormulaId object, FormulaId context) {
  FormulaStore& formulas = logic_.formulas();
  const FormulaKind kind = formulas.kind(object);
  if (kind == FormulaKind::kAnd || kind == FormulaKind::kOr) {
    const FormulaId within = kind == FormulaKind::kAnd ? formulas.And(object, context) : context;
    std::vector<FormulaId> parts;
    for (const FormulaId part : formulas.PartsOf(object)) parts.push_back(Loosened(part, within));
    return kind == FormulaKind::kAnd ? formulas.And(parts) : formulas.Or(parts);
  }
  if (kind != FormulaKind::kExactlyOne) return object;
  const std::vector<FormulaId> parts = formulas.PartsOf(object);
  std::vector<FormulaId> within;
  for (const FormulaId part : parts) within.push_back(formulas.And(part, context));
  if (AreToldApart(within)) return formulas.Or(parts);
  if (parts.size() > kMostInPairs) return object;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!AreDisjoint(within[i], within[j])) return object;
    }
  }
  return formulas.Or(parts);
}

// Whether no object satisfies both: for certain, since there is a property that both demand, and no
// value for it.
bool SchemaSolver::AreDisjoint(FormulaId a, FormulaId b) {
  bool is_all = false;
  const ObjectLiterals literals = LiteralsOf(logic_.formulas().And(a, b), is_all);
  return std::ranges::any_of(literals.required, [&](NameId name) {
    return HasNoValue(ValueUnder(literals.tables, name));
  });
}

bool SchemaSolver::AreToldApart(const std::vector<FormulaId>& objects) {
  std::vector<ObjectLiterals> literals;
  bool is_all = false;
  for (const FormulaId object : objects) literals.push_back(LiteralsOf(object, is_all));
  return std::ranges::any_of(literals[0].required, [&](NameId name) {
    std::set<ConstantId> known;
    return std::ranges::all_of(literals, [&](const ObjectLiterals& each) {
      if (std::ranges::find(each.required, name) == each.required.end()) return false;
      const auto listed = logic_.ListedValues(ValueUnder(each.tables, name));
      return listed && std::ranges::all_of(
                           *listed, [&](ConstantId value) { return known.insert(value).second; });
    });
  });
}

SchemaSolver::ObjectLiterals SchemaSolver::LiteralsOf(FormulaId object, bool& is_all) const {
  const FormulaStore& formulas = logic_.formulas();
  const std::span<const FormulaId> parts = formulas.kind(object) == FormulaKind::kAnd
                                               ? formulas.parts(object)
                                               : std::span<const FormulaId>(&object, 1);
  ObjectLiterals literals;
  is_all = true;
  for (const FormulaId part : parts) {
    const bool is_negated = formulas.kind(part) == FormulaKind::kNot;
    const FormulaId inner = is_negated ? formulas.parts(part)[0] : part;
    if (formulas.kind(inner) == FormulaKind::kAtom) {
      literals.Add(formulas.atom(inner), is_negated);
    } else if (part != FormulaId::kTrue) {
      is_all = false;
    }
  }
  return literals;
}

bool SchemaSolver::HasNoValue(FormulaId value) {
  for (const ValueKind kind : {ValueKind::kNull, ValueKind::kFalse, ValueKind::kTrue}) {
    if (logic_.HoldsFor(value, kind)) return false;
  }
  return logic_.Objects(value) == FormulaId::kFalse && logic_.Arrays(value) == FormulaId::kFalse &&
         logic_.regexes().IsEmpty(logic_.Strings(value)) &&
         logic_.regexes().IsEmpty(logic_.Numbers(value)) && logic_.status();
}

}  // namespace weft
