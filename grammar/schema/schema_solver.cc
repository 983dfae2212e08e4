#include "grammar/schema/schema_solver.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/check.h"

namespace weft {
namespace {

constexpr int kMostDepth = 400;
constexpr int64_t kMostInAllWays = 6;

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
             [&] { return SearchObject(WithoutWhatIsOver(object, context), context); });
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
                                     ElementQuestion question, int budget) {
  // Those of whose value nothing has to be known.
  std::unordered_map<FormulaId, FormulaId> decided;
  for (const ElementAtom& each : atoms) {
    if (each.value == FormulaId::kTrue) {
      decided.emplace(each.atom, each.if_true);
    } else if (each.value == FormulaId::kFalse) {
      decided.emplace(each.atom, each.if_false);
    } else {
      question.atoms.emplace(each.atom, each);
    }
  }
  return ElementValue(Replaced(formula, decided), question, budget);
}

FormulaId SchemaSolver::ElementValue(FormulaId formula, const ElementQuestion& question,
                                     int budget) {
  FormulaStore& formulas = logic_.formulas();
  if (!Spend(1 + std::ssize(formulas.Occurrences(formula)) / kAtomsInStep)) {
    return FormulaId::kFalse;
  }
  bool takes_nothing = false;
  const FormulaId without = WithoutRefusedNames(formula, takes_nothing);
  if (takes_nothing) formula = without;
  const auto is_open = [&](const FormulaStore::Occurrence& occurrence) {
    return question.atoms.contains(occurrence.atom);
  };
  const auto open = std::ranges::count_if(formulas.Occurrences(formula), is_open);
  if (open == 0) {
    return question.can_end(formula, FormulaId::kTrue) ? FormulaId::kTrue : FormulaId::kFalse;
  }
  const std::optional<FormulaId> least = LeastValue(formula, question);
  if (least) return *least;
  if (const std::optional<FormulaId> listed = ValueAmongListed(formula, question)) return *listed;
  if (open <= kMostInAllWays) return ValueOfConjunction(formula, question);
  // One way after the other, of formulas that know several.
  std::vector<FormulaId> others;
  std::optional<Branches> branches;
  if (formulas.kind(formula) == FormulaKind::kAnd) {
    for (const FormulaId part : formulas.PartsOf(formula)) {
      const bool may_branch = !branches && std::ranges::any_of(formulas.Occurrences(part), is_open);
      std::optional<Branches> of_part = may_branch ? BranchesOf(part) : std::nullopt;
      if (of_part) {
        branches = std::move(of_part);
      } else {
        others.push_back(part);
      }
    }
  } else {
    branches = BranchesOf(formula);
  }
  // Alternatives by themselves multiply nothing.
  const bool is_plain = formulas.kind(formula) == FormulaKind::kOr;
  if (!branches || (branches->count > static_cast<size_t>(budget) && !is_plain)) {
    return ValueOfConjunction(formula, question);
  }
  const FormulaId rest = formulas.And(others);
  std::vector<FormulaId> values;
  for (size_t i = 0; i < branches->count; ++i) {
    values.push_back(ElementValue(formulas.And(rest, branches->at(i)), question,
                                  budget / static_cast<int>(branches->count)));
    if (IsEnough(values.back(), question)) return values.back();
  }
  return formulas.Or(values);
}

bool SchemaSolver::IsEnough(FormulaId value, const ElementQuestion& question) {
  return value == FormulaId::kTrue || (question.one_way_is_enough && IsSatisfiable(value));
}

FormulaId SchemaSolver::Replaced(FormulaId formula,
                                 const std::unordered_map<FormulaId, FormulaId>& atoms) {
  return logic_.formulas().Replace(formula, [&](FormulaId atom, const Atom&) {
    const auto found = atoms.find(atom);
    return found == atoms.end() ? atom : found->second;
  });
}

std::optional<FormulaId> SchemaSolver::LeastValue(FormulaId formula,
                                                  const ElementQuestion& question) {
  FormulaStore& formulas = logic_.formulas();
  std::unordered_map<FormulaId, FormulaId> turns;
  std::vector<FormulaId> demanded;
  const std::span<const FormulaId> parts = formulas.kind(formula) == FormulaKind::kAnd
                                               ? formulas.parts(formula)
                                               : std::span(&formula, 1);
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(formula)) {
    const auto found = question.atoms.find(occurrence.atom);
    if (found == question.atoms.end()) continue;
    const ElementAtom& each = found->second;
    if (occurrence.positive && occurrence.negative) return std::nullopt;
    const bool is_demanded =
        each.if_false == FormulaId::kFalse && std::ranges::binary_search(parts, each.atom);
    if (is_demanded) demanded.push_back(each.value);
    turns.emplace(each.atom, is_demanded || occurrence.negative ? each.if_true : each.if_false);
  }
  const FormulaId left = Replaced(formula, turns);
  const FormulaId value = formulas.And(demanded);
  const bool can = value != FormulaId::kFalse && question.can_end(left, value);
  return can ? std::optional(value) : std::nullopt;
}

std::optional<SchemaSolver::Branches> SchemaSolver::BranchesOf(FormulaId formula) {
  FormulaStore& formulas = logic_.formulas();
  const bool is_negated = formulas.kind(formula) == FormulaKind::kNot;
  const FormulaId inner = is_negated ? formulas.parts(formula)[0] : formula;
  const FormulaKind kind = formulas.kind(inner);
  const bool is_choice = kind == FormulaKind::kOr || kind == FormulaKind::kExactlyOne;
  if (!is_choice && !(is_negated && kind == FormulaKind::kAnd)) return std::nullopt;
  std::vector<FormulaId> parts = formulas.PartsOf(inner);
  const size_t count = parts.size();
  std::vector<FormulaId> none;
  for (const FormulaId part : parts) none.push_back(formulas.Not(part));
  if (kind == FormulaKind::kAnd) {
    // To leave a name out takes nothing else.
    std::stable_partition(none.begin(), none.end(), [&](FormulaId branch) {
      const FormulaId part = formulas.Not(branch);
      return formulas.kind(part) == FormulaKind::kAtom &&
             formulas.atom(part).kind == AtomKind::kHasName;
    });
    return Branches{count, [none = std::move(none)](size_t i) { return none[i]; }};
  }
  if (kind == FormulaKind::kOr) {
    if (is_negated) return Branches{1, [&formulas, none](size_t) { return formulas.And(none); }};
    return Branches{count, [parts = std::move(parts)](size_t i) { return parts[i]; }};
  }
  if (!is_negated) {
    return Branches{count, [&formulas, parts, none](size_t i) {
                      std::vector<FormulaId> all = none;
                      all[i] = parts[i];
                      return formulas.And(all);
                    }};
  }
  // Two of them, or none.
  return Branches{count * (count - 1) / 2 + 1, [&formulas, parts, none](size_t i) {
                    for (size_t j = 1; j < parts.size(); i -= j++) {
                      if (i < j) return formulas.And(parts[i], parts[j]);
                    }
                    return formulas.And(none);
                  }};
}

// Atoms without which the formula is false are taken to be true. Of the others, which may turn out
// either way, as few as possible are demanded to turn out well; of many, none, one or all.
FormulaId SchemaSolver::ValueOfConjunction(FormulaId formula, const ElementQuestion& question) {
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
  const int64_t size = std::ssize(formulas.Occurrences(formula));
  for (const FormulaStore::Occurrence& occurrence : formulas.Occurrences(formula)) {
    const auto found = question.atoms.find(occurrence.atom);
    if (found == question.atoms.end()) continue;
    const ElementAtom& each = found->second;
    if (std::ssize(choices) >= kMostInAllWays && !Spend(1 + size / kAtomsInStep)) {
      return FormulaId::kFalse;
    }
    const FormulaId without = formulas.Replace(formula, [&](FormulaId atom, const Atom&) {
      return atom == each.atom ? each.if_false : atom;
    });
    const FormulaId refused = formulas.Not(each.value);
    if (without == FormulaId::kFalse) {
      demanded.push_back(each.value);
      choices.push_back(
          {each.atom, each.if_true, FormulaId::kTrue, each.if_true, FormulaId::kTrue});
      continue;
    }
    if (occurrence.positive && occurrence.negative) {
      choices.push_back({each.atom, each.if_true, each.value, each.if_false, refused});
      none_is_free = true;
    } else if (occurrence.positive) {
      // What is contained must not be used up before.
      const bool is_kept =
          formulas.atom(each.atom).kind == AtomKind::kContains && LooksForEqualItems(formula);
      none_is_free = none_is_free || is_kept;
      choices.push_back({each.atom, each.if_true, each.value, each.if_false,
                         is_kept ? refused : FormulaId::kTrue});
    } else {
      choices.push_back({each.atom, each.if_false, refused, each.if_true, FormulaId::kTrue});
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
    if (!Spend(1 + std::ssize(choices) / kAtomsInStep)) break;
    std::vector<FormulaId> all = demanded;
    std::unordered_map<FormulaId, FormulaId> turns;
    for (size_t i = 0; i < choices.size(); ++i) {
      const bool goes_well = i >= way.size() || way[i];
      turns.emplace(choices[i].atom, goes_well ? choices[i].well : choices[i].otherwise);
      if (i >= way.size()) continue;
      all.push_back(way[i] ? choices[i].value_if_well : choices[i].value_otherwise);
    }
    const FormulaId left = Replaced(formula, turns);
    const FormulaId value = formulas.And(all);
    if (value == FormulaId::kFalse || !question.can_end(left, value)) continue;
    values.push_back(value);
    if (!none_is_free && std::ranges::none_of(way, std::identity())) break;
    if (IsEnough(value, question)) break;
  }
  return formulas.Or(values);
}

}  // namespace weft
