#include "grammar/schema/schema_solver.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/check.h"

namespace weft {
namespace {

constexpr int kMostDepth = 400;
constexpr size_t kMostInAllWays = 6;

}  // namespace

template <typename Find>
bool SchemaSolver::Ask(const Key& key, const Find& find) {
  const auto [entry, is_new] = answers_.try_emplace(key);
  Answer& answer = entry->second;
  if (!is_new) {
    if (answer.is_open) assumed_depth_ = std::min(assumed_depth_, answer.depth);
    return answer.yes;  // of what is being found out: no value is part of itself
  }
  if (depth_ == 0) BeginQuestion();
  if (depth_ >= kMostDepth) was_too_deep_ = true;
  if (!Spend(1) || depth_ >= kMostDepth) {
    gave_up_ = true;
    answers_.erase(entry);
    return false;
  }
  answer = {.is_open = true, .depth = ++depth_};
  const int assumed_before = std::exchange(assumed_depth_, std::numeric_limits<int>::max());
  answer.yes = find();
  answer.is_open = false;
  // A no that rests on a question which is still open, or given up, says nothing by itself.
  if (answer.yes || (assumed_depth_ >= depth_ && !gave_up_now_ && !was_too_deep_)) {
    assumed_depth_ = assumed_before;
  } else {
    assumed_depth_ = std::min(assumed_before, assumed_depth_);
    answers_.erase(entry);
    --depth_;
    return false;
  }
  --depth_;
  return answer.yes;
}

void SchemaSolver::BeginQuestion() {
  steps_ = 0;
  gave_up_now_ = false;
  was_too_deep_ = false;
}

bool SchemaSolver::Spend(int64_t steps) {
  steps_ += steps;
  steps_in_all_ += steps;
  if (steps_ > kMostSteps || steps_in_all_ > kMostStepsInAll) gave_up_now_ = true;
  gave_up_ = gave_up_ || gave_up_now_;
  return !gave_up_now_;
}

Result<void> SchemaSolver::status() const {
  if (steps_in_all_ <= kMostStepsInAll) return {};
  return Fail(ErrorCode::kResourceExhausted,
              "schema: to know how a text can end takes more than {} steps", kMostStepsInAll);
}

bool SchemaSolver::IsSatisfiable(FormulaId value) {
  if (value == FormulaId::kFalse || value == FormulaId::kTrue) return value == FormulaId::kTrue;
  return Ask({Question::kValue, {value, 0}}, [&] { return FindValue(value); });
}

bool SchemaSolver::ObjectCanEnd(FormulaId object, const ObjectContext& context) {
  if (object == FormulaId::kFalse) return false;
  if (ObjectMayEnd(object)) return true;
  return Ask({Question::kObject, {object, ContextId(context)}},
             [&] { return SearchObject(object, context); });
}

bool SchemaSolver::ArrayCanEnd(FormulaId array, const ArrayContext& context) {
  if (array == FormulaId::kFalse) return false;
  if (ArrayMayEnd(array)) return true;
  ArrayContext least = context;
  least.count = CountThatMatters(std::span(&array, 1), context.count);
  return Ask({Question::kArray, {array, ContextId(least)}},
             [&] { return FindArray(array, least); });
}

bool SchemaSolver::FindValue(FormulaId value) {
  for (const ValueKind kind : {ValueKind::kNull, ValueKind::kFalse, ValueKind::kTrue}) {
    if (logic_.HoldsFor(value, kind)) return true;
  }
  if (!logic_.regexes().IsEmpty(logic_.Strings(value))) return true;
  if (!logic_.regexes().IsEmpty(logic_.Numbers(value))) return true;
  const FormulaId array = logic_.Arrays(value);
  if (array != FormulaId::kFalse && ArrayCanEnd(array, {})) return true;
  const FormulaId object = Objects(value);
  return object != FormulaId::kFalse && ObjectCanEnd(object, {.order = OrderOf(object)});
}

int32_t SchemaSolver::ContextId(const ObjectContext& context) {
  return object_contexts_.emplace(context, static_cast<int32_t>(object_contexts_.size()))
      .first->second;
}

int32_t SchemaSolver::ContextId(const ArrayContext& context) {
  return array_contexts_.emplace(context, static_cast<int32_t>(array_contexts_.size()))
      .first->second;
}

std::vector<int32_t> SchemaSolver::TablesOf(FormulaId formula, AtomKind kind) {
  std::vector<int32_t> tables;
  for (const FormulaStore::Occurrence& each : logic_.formulas().Occurrences(formula)) {
    const Atom& atom = logic_.formulas().atom(each.atom);
    if (atom.kind == kind) tables.push_back(atom.subject);
  }
  std::ranges::sort(tables);
  return tables;
}

// --- What an element must be.

FormulaId SchemaSolver::ElementValue(FormulaId formula, const std::vector<ElementAtom>& atoms,
                                     const CanEnd& can_end, int budget) {
  FormulaStore& formulas = logic_.formulas();
  if (!Spend(1 + std::ssize(formulas.Occurrences(formula)) / kAtomsInStep)) {
    return FormulaId::kFalse;
  }
  // Those of whose value nothing has to be known.
  formula = formulas.Replace(formula, [&](FormulaId atom, const Atom&) {
    for (const ElementAtom& each : atoms) {
      if (each.atom != atom) continue;
      if (each.value == FormulaId::kTrue) return each.if_true;
      if (each.value == FormulaId::kFalse) return each.if_false;
    }
    return atom;
  });
  std::vector<ElementAtom> relevant;
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(formula)) {
    for (const ElementAtom& each : atoms) {
      if (each.atom == occurrence.atom && each.value != FormulaId::kTrue &&
          each.value != FormulaId::kFalse) {
        relevant.push_back(each);
      }
    }
  }
  if (relevant.empty()) {
    return can_end(formula, FormulaId::kTrue) ? FormulaId::kTrue : FormulaId::kFalse;
  }
  const std::optional<FormulaId> least = LeastValue(formula, relevant, can_end);
  if (least) return *least;
  if (relevant.size() <= kMostInAllWays) return ValueOfConjunction(formula, relevant, can_end);
  // One way after the other, of formulas that know several.
  std::vector<FormulaId> others;
  std::vector<FormulaId> branches;
  if (formulas.kind(formula) == FormulaKind::kAnd) {
    for (const FormulaId part : formulas.PartsOf(formula)) {
      const bool is_affected = std::ranges::any_of(
          formulas.Occurrences(part), [&](const FormulaStore::Occurrence& occurrence) {
            return std::ranges::any_of(
                relevant, [&](const ElementAtom& each) { return each.atom == occurrence.atom; });
          });
      std::vector<FormulaId> of_part;
      if (branches.empty() && is_affected && Branches(part, of_part)) {
        branches = std::move(of_part);
      } else {
        others.push_back(part);
      }
    }
  } else {
    Branches(formula, branches);
  }
  if (branches.empty() || std::ssize(branches) > budget) {
    return ValueOfConjunction(formula, relevant, can_end);
  }
  const FormulaId rest = formulas.And(others);
  std::vector<FormulaId> values;
  for (const FormulaId branch : branches) {
    values.push_back(ElementValue(formulas.And(rest, branch), relevant, can_end,
                                  budget / static_cast<int>(std::ssize(branches))));
    if (values.back() == FormulaId::kTrue) return FormulaId::kTrue;
  }
  return formulas.Or(values);
}

std::optional<FormulaId> SchemaSolver::LeastValue(FormulaId formula,
                                                  const std::vector<ElementAtom>& atoms,
                                                  const CanEnd& can_end) {
  FormulaStore& formulas = logic_.formulas();
  std::unordered_map<FormulaId, FormulaId> turns;
  std::vector<FormulaId> demanded;
  const std::span<const FormulaId> parts = formulas.kind(formula) == FormulaKind::kAnd
                                               ? formulas.parts(formula)
                                               : std::span(&formula, 1);
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(formula)) {
    const auto each = std::ranges::find(atoms, occurrence.atom, &ElementAtom::atom);
    if (each == atoms.end()) continue;
    if (occurrence.positive && occurrence.negative) return std::nullopt;
    const bool is_demanded =
        each->if_false == FormulaId::kFalse && std::ranges::binary_search(parts, each->atom);
    if (is_demanded) demanded.push_back(each->value);
    turns.emplace(each->atom, is_demanded || occurrence.negative ? each->if_true : each->if_false);
  }
  const FormulaId left = formulas.Replace(formula, [&](FormulaId atom, const Atom&) {
    const auto found = turns.find(atom);
    return found == turns.end() ? atom : found->second;
  });
  const FormulaId value = formulas.And(demanded);
  const bool can = value != FormulaId::kFalse && can_end(left, value);
  return can ? std::optional(value) : std::nullopt;
}

bool SchemaSolver::Branches(FormulaId formula, std::vector<FormulaId>& branches) {
  FormulaStore& formulas = logic_.formulas();
  const FormulaKind kind = formulas.kind(formula);
  const std::vector<FormulaId> parts =
      kind == FormulaKind::kAtom ? std::vector<FormulaId>{} : formulas.PartsOf(formula);
  if (kind == FormulaKind::kOr) {
    branches = parts;
    return true;
  }
  if (kind == FormulaKind::kExactlyOne) {
    for (const FormulaId one : parts) {
      std::vector<FormulaId> all = {one};
      for (const FormulaId other : parts) {
        if (other != one) all.push_back(formulas.Not(other));
      }
      branches.push_back(formulas.And(all));
    }
    return true;
  }
  if (kind != FormulaKind::kNot) return false;
  const FormulaId inner = parts[0];
  if (formulas.kind(inner) == FormulaKind::kAnd) {
    for (const FormulaId part : formulas.PartsOf(inner)) branches.push_back(formulas.Not(part));
    // To leave a name out takes nothing else.
    std::stable_partition(branches.begin(), branches.end(), [&](FormulaId branch) {
      const FormulaId part = formulas.Not(branch);
      return formulas.kind(part) == FormulaKind::kAtom &&
             formulas.atom(part).kind == AtomKind::kHasName;
    });
    return true;
  }
  if (formulas.kind(inner) == FormulaKind::kOr) {
    std::vector<FormulaId> none;
    for (const FormulaId part : formulas.PartsOf(inner)) none.push_back(formulas.Not(part));
    branches.push_back(formulas.And(none));
    return true;
  }
  if (formulas.kind(inner) != FormulaKind::kExactlyOne) return false;
  const std::vector<FormulaId> of_which = formulas.PartsOf(inner);
  std::vector<FormulaId> none;
  for (size_t i = 0; i < of_which.size(); ++i) {
    none.push_back(formulas.Not(of_which[i]));
    for (size_t j = 0; j < i; ++j) branches.push_back(formulas.And(of_which[i], of_which[j]));
  }
  branches.push_back(formulas.And(none));
  return true;
}

// Atoms without which the formula is false are taken to be true. Of the others, which may turn out
// either way, as few as possible are demanded to turn out well; of many, none, one or all.
FormulaId SchemaSolver::ValueOfConjunction(FormulaId formula, const std::vector<ElementAtom>& atoms,
                                           const CanEnd& can_end) {
  FormulaStore& formulas = logic_.formulas();
  struct Choice {
    FormulaId atom;
    FormulaId well;           // what it becomes
    FormulaId value_if_well;  // what is demanded for that
    FormulaId otherwise;
    FormulaId value_otherwise;
  };
  std::vector<FormulaId> demanded;
  std::vector<Choice> choices;
  bool none_is_free = false;
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(formula)) {
    const auto each = std::ranges::find(atoms, occurrence.atom, &ElementAtom::atom);
    if (each == atoms.end()) continue;
    const FormulaId without = formulas.Replace(formula, [&](FormulaId atom, const Atom&) {
      return atom == each->atom ? each->if_false : atom;
    });
    const FormulaId refused = formulas.Not(each->value);
    if (without == FormulaId::kFalse) {
      demanded.push_back(each->value);
      choices.push_back(
          {each->atom, each->if_true, FormulaId::kTrue, each->if_true, FormulaId::kTrue});
      continue;
    }
    if (occurrence.positive && occurrence.negative) {
      choices.push_back({each->atom, each->if_true, each->value, each->if_false, refused});
      none_is_free = true;
    } else if (occurrence.positive) {
      // What is contained must not be used up before.
      const bool is_kept =
          formulas.atom(each->atom).kind == AtomKind::kContains && LooksForEqualItems(formula);
      none_is_free = none_is_free || is_kept;
      choices.push_back({each->atom, each->if_true, each->value, each->if_false,
                         is_kept ? refused : FormulaId::kTrue});
    } else {
      choices.push_back({each->atom, each->if_false, refused, each->if_true, FormulaId::kTrue});
    }
  }
  // Those that are demanded in any case come last.
  const auto is_free = [](const Choice& choice) { return choice.well != choice.otherwise; };
  std::stable_partition(choices.begin(), choices.end(), is_free);
  const auto count = static_cast<uint32_t>(std::ranges::count_if(choices, is_free));
  std::vector<std::vector<bool>> ways;
  if (count <= kMostInAllWays) {
    std::vector<uint32_t> masks(1U << count);
    for (uint32_t mask = 0; mask < masks.size(); ++mask) masks[mask] = mask;
    std::ranges::stable_sort(masks, {}, [](uint32_t mask) { return std::popcount(mask); });
    for (const uint32_t mask : masks) {
      std::vector<bool>& way = ways.emplace_back(count);
      for (uint32_t i = 0; i < count; ++i) way[i] = ((mask >> i) & 1U) != 0;
    }
  } else {
    ways.emplace_back(count, false);
    for (uint32_t i = 0; i < count; ++i) ways.emplace_back(count, false)[i] = true;
    ways.emplace_back(count, true);
  }
  std::vector<FormulaId> values;
  for (const std::vector<bool>& way : ways) {
    std::vector<FormulaId> all = demanded;
    const auto goes_well = [&](size_t i) { return i >= way.size() || way[i]; };
    for (size_t i = 0; i < way.size(); ++i) {
      all.push_back(way[i] ? choices[i].value_if_well : choices[i].value_otherwise);
    }
    const FormulaId left = formulas.Replace(formula, [&](FormulaId atom, const Atom&) {
      for (size_t i = 0; i < choices.size(); ++i) {
        if (choices[i].atom == atom) {
          return goes_well(i) ? choices[i].well : choices[i].otherwise;
        }
      }
      return atom;
    });
    const FormulaId value = formulas.And(all);
    if (!Spend(1 + std::ssize(choices) / kAtomsInStep)) break;
    if (value == FormulaId::kFalse || !can_end(left, value)) continue;
    values.push_back(value);
    if (!none_is_free && std::ranges::none_of(way, std::identity())) break;
  }
  return formulas.Or(values);
}

}  // namespace weft
