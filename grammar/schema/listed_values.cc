// Elements of which a schema lists the values: each of them decides all that is asked of it.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

constexpr size_t kMostListed = 256;

bool HasParts(const Constant& constant) {
  return constant.kind == ValueKind::kObject || constant.kind == ValueKind::kArray;
}

}  // namespace

bool SchemaLogic::Satisfies(ConstantId constant, FormulaId value) {
  switch (constants_[constant].kind) {
    case ValueKind::kString:
      return Matches(Strings(value), constants_[constant].text);
    case ValueKind::kNumber: {
      const FormulaId both[] = {Equals(constant), value};
      return !regexes_.IsEmpty(regexes_.And(Numbers(both)));
    }
    default:
      return HoldsFor(value, constants_[constant].kind);
  }
}

// As oneOf and if/then tell alternatives apart. Branching on the alternatives would come to as many
// ways as they have combinations.
std::optional<FormulaId> SchemaSolver::ValueAmongListed(FormulaId formula,
                                                        const ElementQuestion& question) {
  FormulaStore& formulas = logic_.formulas();
  std::vector<FormulaId> demanded;
  std::vector<ElementAtom> atoms;
  const auto size = std::ssize(formulas.Occurrences(formula));
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(formula)) {
    const auto found = question.atoms.find(occurrence.atom);
    if (found == question.atoms.end()) continue;
    const ElementAtom& each = found->second;
    const bool is_part =
        formula == each.atom || (formulas.kind(formula) == FormulaKind::kAnd &&
                                 std::ranges::binary_search(formulas.parts(formula), each.atom));
    if (is_part && each.if_false == FormulaId::kFalse) demanded.push_back(each.value);
    atoms.push_back(each);
  }
  const auto listed = logic_.ListedValues(formulas.And(demanded));
  if (!listed || listed->size() > kMostListed) return std::nullopt;
  const auto has_parts = [&](ConstantId value) { return HasParts(logic_.constants()[value]); };
  if (std::ranges::any_of(*listed, has_parts)) return std::nullopt;
  std::vector<FormulaId> values;
  for (const ConstantId value : *listed) {
    if (!Spend(1 + size / kAtomsInStep)) break;
    std::unordered_map<FormulaId, FormulaId> turns;
    std::vector<FormulaId> all = {logic_.Equals(value)};
    // Of a number its spelling may decide, too: 1.0 is no integer of draft 4.
    const bool is_number = logic_.constants()[value].kind == ValueKind::kNumber;
    for (const ElementAtom& each : atoms) {
      const bool holds = logic_.Satisfies(value, each.value);
      turns.emplace(each.atom, holds ? each.if_true : each.if_false);
      if (is_number) all.push_back(holds ? each.value : formulas.Not(each.value));
    }
    const FormulaId as_decided = formulas.And(all);
    if (!question.can_end(Replaced(formula, turns), as_decided)) continue;
    values.push_back(as_decided);
    if (question.one_way_is_enough) break;
  }
  return formulas.Or(values);
}

}  // namespace weft
