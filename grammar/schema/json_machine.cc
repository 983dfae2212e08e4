#include "grammar/schema/json_machine.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/check.h"

namespace weft {
namespace {

constexpr size_t kMostStates = 1U << 20U;
constexpr int64_t kMostDecided = 100;

bool IsJsonSpace(uint8_t byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

}  // namespace

std::string_view JsonMachine::SpellingOf(ValueKind constant) {
  return constant == ValueKind::kNull ? "null" : constant == ValueKind::kTrue ? "true" : "false";
}

JsonMachine::JsonMachine(SchemaLogic logic, const JsonMachineOptions& options)
    : logic_(std::move(logic)),
      solver_(&logic_, {.any_order = options.any_order}),
      options_(options),
      strings_(&logic_.regexes(), Spelling::kJsonString),
      numbers_(&logic_.regexes(), Spelling::kPlain),
      names_(&logic_.regexes(), Spelling::kJsonString) {}

Result<void> JsonMachine::status() const {
  if (is_full_) {
    return Fail(ErrorCode::kResourceExhausted, "schema: more than {} states of its text",
                kMostStates);
  }
  if (has_many_items_) {
    return Fail(ErrorCode::kResourceExhausted, "schema: more than {} items that must differ",
                kMostUniqueItems);
  }
  WEFT_RETURN_IF_ERROR(solver_.status());
  return logic_.status();
}

size_t JsonMachine::bytes() const {
  // As entries of a map, and once more by number.
  constexpr size_t kBytesOfNode = 48;
  constexpr size_t kBytesOfState = 2 * sizeof(std::pair<FrameId, TextId>) + kBytesOfNode;
  constexpr size_t kBytesOfFrame = 2 * sizeof(Frame) + kBytesOfNode;
  constexpr size_t kBytesOfText = 2 * sizeof(std::pair<TextId, uint8_t>) + kBytesOfNode;
  constexpr size_t kBytesOfStep = sizeof(uint64_t) + sizeof(State) + kBytesOfNode;
  constexpr size_t kBytesOfStructure = 1024;  // with its properties or items, and their names
  return logic_.regexes().bytes() + row_count_ * sizeof(Row) +
         states_.things.size() * kBytesOfState + frames_.things.size() * kBytesOfFrame +
         texts_.things.size() * kBytesOfText + steps_.size() * kBytesOfStep +
         (objects_.things.size() + arrays_.things.size()) * kBytesOfStructure;
}

Recognizer::State JsonMachine::Start() {
  const FormulaId root = logic_.root();
  if (!solver_.IsSatisfiable(root)) return kDead;
  return StateOf({.place = Place::kValue, .goal = goals_.Of({.value = root, .watched = {}})},
                 kNone);
}

Recognizer::State JsonMachine::StateOf(const Frame& frame, TextId text) {
  if (states_.things.size() >= kMostStates) {
    is_full_ = true;
    return kDead;
  }
  return states_.Of({frames_.Of(frame), text});
}

Recognizer::State JsonMachine::Step(State state, uint8_t byte) {
  if (states_[state].second == kNone) {
    if (static_cast<size_t>(state) >= rows_.size()) rows_.resize(states_.things.size());
    std::unique_ptr<Row>& row = rows_[static_cast<size_t>(state)];
    if (row == nullptr) {
      row = NewRow(frames_[states_[state].first].place);
      ++row_count_;
    }
    State& next = (*row)[byte];
    if (next == kUnknown) {
      next = FindStep(state, byte);
      if (!status()) next = kDead;  // automata and formulas that are cut off say nothing certain
    }
    return next;
  }
  const uint64_t key = (static_cast<uint64_t>(state) << 8U) | byte;
  const auto known = steps_.find(key);
  if (known != steps_.end()) return known->second;
  State next = FindStep(state, byte);
  if (!status()) next = kDead;
  steps_.emplace(key, next);
  return next;
}

// Outside of strings few bytes come into question.
std::unique_ptr<JsonMachine::Row> JsonMachine::NewRow(Place place) {
  constexpr std::string_view kOutsideStrings = "\"{}[]:, \t\r\n0123456789-+.eEtrufalsn";
  auto row = std::make_unique<Row>();
  const bool is_string = place == Place::kString || place == Place::kName;
  row->fill(is_string ? kUnknown : kDead);
  for (const char byte : kOutsideStrings) (*row)[static_cast<uint8_t>(byte)] = kUnknown;
  return row;
}

bool JsonMachine::Accepts(State state) {
  const auto [frame_id, text] = states_[state];
  const Frame frame = frames_[frame_id];
  if (frame.place == Place::kEnd) return true;
  return frame.place == Place::kNumber && frame.parent == kNone && numbers_.Accepts(frame.state);
}

bool JsonMachine::AllowsSpace(const Frame& frame, uint8_t byte) const {
  if (options_.space == JsonSpace::kAny) return IsJsonSpace(byte);
  return frame.may_space && byte == ' ';
}

Recognizer::State JsonMachine::FindStep(State state, uint8_t byte) {
  const auto [frame_id, text] = states_[state];
  const Frame frame = frames_[frame_id];
  switch (frame.place) {
    case Place::kString:
      return StepString(frame, text, byte);
    case Place::kNumber:
      return StepNumber(frame, text, byte);
    case Place::kConstant:
      return StepConstant(frame, text, byte);
    case Place::kName:
      return StepName(frame, text, byte);
    default:
      break;
  }
  if (AllowsSpace(frame, byte)) {
    Frame spaced = frame;
    spaced.may_space = false;
    return StateOf(spaced, frame.records ? Append(text, byte) : text);
  }
  switch (frame.place) {
    case Place::kValue:
      return BeginValue(frame, text, byte);
    case Place::kObjectStart:
    case Place::kNameEnd:
    case Place::kPropertyEnd:
    case Place::kPropertyNext:
      return StepObject(frame, frame.records ? Append(text, byte) : text, byte);
    case Place::kArrayStart:
    case Place::kItemEnd:
      return StepArray(frame, text, byte);
    default:
      return kDead;
  }
}

// --- Values without parts.

Recognizer::State JsonMachine::BeginValue(const Frame& frame, TextId text, uint8_t byte) {
  const Goal goal = goals_[frame.goal];
  const TextId with = frame.records ? Append(text, byte) : text;
  Frame next = frame;
  next.may_space = false;
  if (byte == '"') {
    next.place = Place::kString;
    next.state = strings_.Start(logic_.Strings(goal.value));
    if (next.state == kDead) return kDead;
    std::vector<RegexId> watched;
    for (const FormulaId value : goal.watched) watched.push_back(logic_.Strings(value));
    next.watched = WatchedStarts(strings_, watched);
    return StateOf(next, with);
  }
  if (byte == '-' || (byte >= '0' && byte <= '9')) {
    std::vector<FormulaId> values = {goal.value};
    values.insert(values.end(), goal.watched.begin(), goal.watched.end());
    const std::vector<RegexId> languages = logic_.Numbers(values);
    const StringDfa::State start =
        numbers_.Start(options_.plain_integers ? logic_.PlainIntegers(languages[0]) : languages[0]);
    if (start == kDead) return kDead;
    next.place = Place::kNumber;
    next.state = numbers_.Step(start, byte);
    if (next.state == kDead) return kDead;
    const int32_t watched = WatchedStarts(numbers_, std::span(languages).subspan(1));
    next.watched = StepWatched(numbers_, watched, byte);
    return StateOf(next, with);
  }
  if (byte == '{') return BeginObject(next, with);
  if (byte == '[') return BeginArray(next, with);
  for (const ValueKind kind : {ValueKind::kNull, ValueKind::kFalse, ValueKind::kTrue}) {
    const auto first = static_cast<uint8_t>(SpellingOf(kind)[0]);
    if (first != byte || !logic_.HoldsFor(goal.value, kind)) continue;
    next.place = Place::kConstant;
    next.state = static_cast<int32_t>(kind);
    next.detail = 1;
    return StateOf(next, with);
  }
  return kDead;
}

Recognizer::State JsonMachine::StepConstant(const Frame& frame, TextId text, uint8_t byte) {
  const auto kind = static_cast<ValueKind>(frame.state);
  const std::string_view spelling = SpellingOf(kind);
  const auto come = static_cast<size_t>(frame.detail);
  if (static_cast<uint8_t>(spelling[come]) != byte) return kDead;
  const TextId with = frame.records ? Append(text, byte) : text;
  if (come + 1 == spelling.size()) {
    Truths truths;
    const Goal goal = goals_[frame.goal];
    for (const FormulaId value : goal.watched) truths.push_back(logic_.HoldsFor(value, kind));
    return EndValue(frame, with, truths);
  }
  Frame next = frame;
  ++next.detail;
  return StateOf(next, with);
}

Recognizer::State JsonMachine::StepString(const Frame& frame, TextId text, uint8_t byte) {
  const TextId with = frame.records ? Append(text, byte) : text;
  if (byte == '"' && strings_.AtRest(frame.state)) {
    if (!strings_.Accepts(frame.state)) return kDead;
    return EndValue(frame, with, WatchedTruths(strings_, frame.watched));
  }
  Frame next = frame;
  next.state = strings_.Step(frame.state, byte);
  if (next.state == kDead) return kDead;
  next.watched = StepWatched(strings_, frame.watched, byte);
  return StateOf(next, with);
}

Recognizer::State JsonMachine::StepNumber(const Frame& frame, TextId text, uint8_t byte) {
  Frame next = frame;
  next.state = numbers_.Step(frame.state, byte);
  if (next.state != kDead) {
    next.watched = StepWatched(numbers_, frame.watched, byte);
    return StateOf(next, frame.records ? Append(text, byte) : text);
  }
  // It has ended with the byte before.
  if (!numbers_.Accepts(frame.state)) return kDead;
  const State end = EndValue(frame, text, WatchedTruths(numbers_, frame.watched));
  return end == kDead ? kDead : Step(end, byte);
}

int32_t JsonMachine::WatchedStarts(StringDfa& dfa, std::span<const RegexId> languages) {
  if (languages.empty()) return kNone;
  std::vector<StringDfa::State> starts;
  for (const RegexId language : languages) starts.push_back(dfa.Start(language));
  return watched_.Of(starts);
}

int32_t JsonMachine::StepWatched(StringDfa& dfa, int32_t watched, uint8_t byte) {
  if (watched == kNone) return kNone;
  std::vector<StringDfa::State> states = watched_[watched];
  for (StringDfa::State& state : states) {
    if (state != kDead) state = dfa.Step(state, byte);
  }
  return watched_.Of(states);
}

JsonMachine::Truths JsonMachine::WatchedTruths(const StringDfa& dfa, int32_t watched) const {
  Truths truths;
  if (watched == kNone) return truths;
  for (const StringDfa::State state : watched_[watched]) {
    truths.push_back(state != kDead && dfa.Accepts(state));
  }
  return truths;
}

// --- The end of a value.

Recognizer::State JsonMachine::EndValue(const Frame& frame, TextId text, const Truths& truths) {
  if (frame.parent == kNone) return StateOf({.place = Place::kEnd}, kNone);
  const Frame parent = frames_[frame.parent];
  return parent.place == Place::kItem ? EndItem(parent, text, truths)
                                      : EndProperty(parent, text, truths);
}

Recognizer::State JsonMachine::BeginElement(const Frame& around, const Element& element,
                                            TextId text, bool may_space, bool records) {
  if (element.goal == kNone) return kDead;
  return StateOf({.place = Place::kValue,
                  .may_space = may_space && options_.space == JsonSpace::kAfterSeparators,
                  .records = around.records || records,
                  .parent = frames_.Of(around),
                  .goal = element.goal},
                 text);
}

FormulaId JsonMachine::Decided(FormulaId formula, const Element& element, const Truths& truths) {
  std::unordered_map<FormulaId, FormulaId> turns;
  for (size_t i = 0; i < element.atoms.size(); ++i) {
    const ElementAtom& atom = element.atoms[i];
    const int32_t place = element.places[i];
    const bool holds = place == kNone || truths[static_cast<size_t>(place)];
    turns.emplace(atom.atom, holds ? atom.if_true : atom.if_false);
  }
  return logic_.formulas().Replace(formula, [&](FormulaId id, const Atom&) {
    const auto found = turns.find(id);
    return found == turns.end() ? id : found->second;
  });
}

// What is demanded of the element's value; and of its atoms those are watched that this does not
// decide.
void JsonMachine::SetGoal(Element& element, FormulaId value, FormulaId formula) {
  if (value == FormulaId::kFalse || !solver_.IsSatisfiable(value)) return;
  Goal goal = {.value = value, .watched = {}};
  std::unordered_map<FormulaId, int32_t> places;  // of what is watched
  for (const ElementAtom& atom : element.atoms) {
    // Of many atoms none is looked for that several alternatives have: it is watched then.
    const FormulaId without =
        std::ssize(element.atoms) > kMostDecided
            ? formula
            : logic_.formulas().Replace(formula, [&](FormulaId id, const Atom&) {
                return id == atom.atom ? atom.if_false : id;
              });
    if (without == FormulaId::kFalse || atom.value == FormulaId::kTrue) {
      element.places.push_back(kNone);
      continue;
    }
    const auto [place, is_new] =
        places.emplace(atom.value, static_cast<int32_t>(goal.watched.size()));
    element.places.push_back(place->second);
    if (is_new) goal.watched.push_back(atom.value);
  }
  element.goal = goals_.Of(goal);
}

// --- Texts that are kept.

JsonMachine::TextId JsonMachine::Append(TextId text, uint8_t byte) {
  const TextId with = texts_.Of({text, byte});
  if (static_cast<size_t>(with) == lengths_.size()) lengths_.push_back(LengthOf(text) + 1);
  return with;
}

int32_t JsonMachine::LengthOf(TextId text) const {
  return text == kNone ? 0 : lengths_[static_cast<size_t>(text)];
}

std::string JsonMachine::TextFrom(TextId text, int32_t first) const {
  std::string bytes;
  for (; LengthOf(text) > first; text = texts_[text].first) {
    bytes.push_back(static_cast<char>(texts_[text].second));
  }
  std::ranges::reverse(bytes);
  return bytes;
}

}  // namespace weft
