// The machine's objects and arrays.
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "grammar/schema/json_machine.h"

namespace weft {

// --- Objects.

Recognizer::State JsonMachine::BeginObject(const Frame& frame, TextId text) {
  const Goal goal = goals_[frame.goal];
  ObjectState state = {.formula = solver_.Objects(goal.value), .watched = {}, .context = {}};
  state.context.order = solver_.OrderOf(state.formula);
  if (!solver_.ObjectCanEnd(state.formula, state.context)) return kDead;
  for (const FormulaId value : goal.watched) state.watched.push_back(logic_.Objects(value));
  Frame next = frame;
  next.place = Place::kObjectStart;
  next.state = ObjectStateOf(std::move(state));
  return StateOf(next, text);
}

Recognizer::State JsonMachine::StepObject(const Frame& frame, TextId text, uint8_t byte) {
  Frame next = frame;
  if (frame.place == Place::kNameEnd) {
    if (byte != ':') return kDead;
    next.place = Place::kPropertyValue;
    const Element& element = PropertyOf(frame.state, static_cast<NameId>(frame.detail));
    return BeginElement(next, element, text, true, false);
  }
  if (byte == '}') return frame.place == Place::kPropertyNext ? kDead : EndObject(frame, text);
  if (frame.place == Place::kPropertyEnd) {
    if (byte != ',' || NextNames(frame.state) == RegexArena::Nothing()) return kDead;
    next.place = Place::kPropertyNext;
    next.may_space = options_.space == JsonSpace::kAfterSeparators;
    return StateOf(next, text);
  }
  if (byte != '"') return kDead;
  next.place = Place::kName;
  next.may_space = false;
  next.object = frame.state;
  next.state = names_.Start(NextNames(frame.state));
  next.detail = LengthOf(text);
  return next.state == kDead ? kDead : StateOf(next, text);
}

Recognizer::State JsonMachine::StepName(const Frame& frame, TextId text, uint8_t byte) {
  Frame next = frame;
  if (byte != '"' || !names_.AtRest(frame.state)) {
    next.state = names_.Step(frame.state, byte);
    return next.state == kDead ? kDead : StateOf(next, Append(text, byte));
  }
  if (!names_.Accepts(frame.state)) return kDead;
  const std::string name = NameSpelled(TextFrom(text, frame.detail));
  next.detail = static_cast<int32_t>(logic_.constants().NameOf(name));
  next.place = Place::kNameEnd;
  next.state = frame.object;
  next.object = kNone;
  return StateOf(next, frame.records ? Append(text, byte) : kNone);
}

std::string JsonMachine::NameSpelled(const std::string& spelling) {
  if (spelling.find('\\') == std::string::npos) return spelling;
  const std::optional<ConstantId> name = logic_.constants().Parse('"' + spelling + '"');
  return logic_.constants()[*name].text;
}

Recognizer::State JsonMachine::EndProperty(const Frame& frame, TextId text, const Truths& truths) {
  const Element& element = PropertyOf(frame.state, static_cast<NameId>(frame.detail));
  ObjectState state = objects_[element.after];
  state.formula = Decided(state.formula, element, truths);
  if (!solver_.ObjectCanEnd(state.formula, state.context)) return kDead;
  for (FormulaId& watched : state.watched) watched = Decided(watched, element, truths);
  Frame next = frame;
  next.place = Place::kPropertyEnd;
  next.state = ObjectStateOf(std::move(state));
  next.detail = 0;
  return StateOf(next, text);
}

Recognizer::State JsonMachine::EndObject(const Frame& frame, TextId text) {
  const ObjectState& state = objects_[frame.state];
  if (!solver_.ObjectMayEnd(state.formula)) return kDead;
  Truths truths;
  for (const FormulaId watched : state.watched) truths.push_back(solver_.ObjectMayEnd(watched));
  return EndValue(frame, text, truths);
}

int32_t JsonMachine::ObjectStateOf(ObjectState state) {
  const auto counts = [this](FormulaId formula) {
    return std::ranges::any_of(
        logic_.formulas().Occurrences(formula), [this](const auto& occurrence) {
          return logic_.formulas().atom(occurrence.atom).kind == AtomKind::kMinProperties;
        });
  };
  if (!counts(state.formula) && std::ranges::none_of(state.watched, counts)) {
    state.context.count = 0;
  }
  return objects_.Of(state);
}

RegexId JsonMachine::NextNames(int32_t object) {
  const auto [entry, is_new] = next_names_.try_emplace(object);
  if (is_new) {
    const ObjectState state = objects_[object];
    entry->second = solver_.NextNames(state.formula, state.context);
  }
  return entry->second;
}

const JsonMachine::Element& JsonMachine::PropertyOf(int32_t object, NameId name) {
  const auto [entry, is_new] = properties_.try_emplace({object, name});
  Element& element = entry->second;
  if (!is_new) return element;
  ObjectState state = objects_[object];
  state.context = solver_.ContextWith(state.context, name);
  const auto with_name = [&](FormulaId& formula) {
    formula = solver_.WithName(formula, name, state.context);
    std::ranges::copy(solver_.AtomsOfProperty(formula, name), std::back_inserter(element.atoms));
  };
  with_name(state.formula);
  std::ranges::for_each(state.watched, with_name);
  SetGoal(element, solver_.PropertyValue(state.formula, name, state.context), state.formula);
  element.after = ObjectStateOf(std::move(state));
  return element;
}

// --- Arrays.

Recognizer::State JsonMachine::BeginArray(const Frame& frame, TextId text) {
  const Goal goal = goals_[frame.goal];
  ArrayState state = {.formula = logic_.Arrays(goal.value), .watched = {}, .context = {}};
  if (!solver_.ArrayCanEnd(state.formula, {})) return kDead;
  for (const FormulaId value : goal.watched) state.watched.push_back(logic_.Arrays(value));
  Frame next = frame;
  next.place = Place::kArrayStart;
  next.state = ArrayStateOf(std::move(state));
  return StateOf(next, text);
}

Recognizer::State JsonMachine::StepArray(const Frame& frame, TextId text, uint8_t byte) {
  const TextId with = frame.records ? Append(text, byte) : text;
  if (byte == ']') return EndArray(frame, with);
  const bool is_first = frame.place == Place::kArrayStart;
  if (!is_first && byte != ',') return kDead;
  Frame around = frame;
  around.place = Place::kItem;
  around.detail = LengthOf(is_first ? text : with);
  const State item = BeginElement(around, ItemOf(frame.state), is_first ? text : with, !is_first,
                                  LooksForEqualItems(arrays_[frame.state]));
  return is_first && item != kDead ? Step(item, byte) : item;
}

Recognizer::State JsonMachine::EndItem(const Frame& frame, TextId text, const Truths& truths) {
  const Element& element = ItemOf(frame.state);
  ArrayState state = arrays_[element.after];
  if (LooksForEqualItems(arrays_[frame.state])) {
    const std::optional<ConstantId> item = logic_.constants().Parse(TextFrom(text, frame.detail));
    if (!item) return kDead;
    std::vector<ConstantId>& items = state.context.items;
    const auto place = std::ranges::lower_bound(items, *item);
    if (place == items.end() || *place != *item) items.insert(place, *item);
    if (items.size() > kMostUniqueItems) {
      has_many_items_ = true;
      return kDead;
    }
  }
  state.formula = Decided(state.formula, element, truths);
  if (!solver_.ArrayCanEnd(state.formula, state.context)) return kDead;
  for (FormulaId& watched : state.watched) watched = Decided(watched, element, truths);
  Frame next = frame;
  next.place = Place::kItemEnd;
  next.state = ArrayStateOf(std::move(state));
  next.detail = 0;
  return StateOf(next, frame.records ? text : kNone);
}

Recognizer::State JsonMachine::EndArray(const Frame& frame, TextId text) {
  const ArrayState& state = arrays_[frame.state];
  if (!solver_.ArrayMayEnd(state.formula)) return kDead;
  Truths truths;
  for (const FormulaId watched : state.watched) truths.push_back(solver_.ArrayMayEnd(watched));
  return EndValue(frame, text, truths);
}

bool JsonMachine::LooksForEqualItems(const ArrayState& state) {
  const auto looks = [this](FormulaId formula) { return solver_.LooksForEqualItems(formula); };
  return looks(state.formula) || std::ranges::any_of(state.watched, looks);
}

int32_t JsonMachine::ArrayStateOf(ArrayState state) {
  std::vector<FormulaId> all = state.watched;
  all.push_back(state.formula);
  state.context.count = solver_.CountThatMatters(all, state.context.count);
  if (!LooksForEqualItems(state)) state.context.items.clear();
  return arrays_.Of(state);
}

const JsonMachine::Element& JsonMachine::ItemOf(int32_t array) {
  const auto [entry, is_new] = items_.try_emplace(array);
  Element& element = entry->second;
  if (!is_new) return element;
  ArrayState state = arrays_[array];
  const ArrayContext before = state.context;
  state.context = solver_.ContextWith(before);
  const FormulaId value = solver_.ItemValue(state.formula, before);
  const auto with_item = [&](FormulaId& formula) {
    formula = solver_.WithItem(formula, state.context);
    std::ranges::copy(solver_.AtomsOfItem(formula, before), std::back_inserter(element.atoms));
  };
  with_item(state.formula);
  std::ranges::for_each(state.watched, with_item);
  SetGoal(element, value, state.formula);
  element.after = ArrayStateOf(std::move(state));
  return element;
}

}  // namespace weft
