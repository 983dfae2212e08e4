// The machine's strings as runs, for masks.
#include <functional>

#include "base/check.h"
#include "grammar/schema/json_machine.h"

namespace weft {

std::optional<TextRun> JsonMachine::RunAt(State state) {
  const Frame& frame = frames_[states_[state].first];
  const bool is_name = frame.place == Place::kName;
  if (!is_name && frame.place != Place::kString) return std::nullopt;
  return TextRun{
      .dfa = is_name ? &names_ : &strings_, .state = frame.state, .end = '"', .is_name = is_name};
}

// Values are alike by what holds of them, unless what they say is kept; names by what the object
// says of them.
int64_t JsonMachine::RunEndClass(State state, std::string_view rest) {
  const auto [frame_id, text] = states_[state];
  const Frame& frame = frames_[frame_id];
  if (frame.records) return static_cast<int64_t>(std::hash<std::string_view>()(rest));
  if (frame.place == Place::kName) return static_cast<int64_t>(NameLike(frame, text, rest));
  if (frame.watched == kNone) return 0;
  return static_cast<int64_t>(std::hash<Truths>()(TruthsBehind(frame, rest)));
}

Recognizer::State JsonMachine::RunEnd(State state, std::string_view rest) {
  auto [frame_id, text] = states_[state];
  const Frame frame = frames_[frame_id];
  if (frame.place == Place::kName) {
    Frame next = frame;
    next.detail = static_cast<int32_t>(NameLike(frame, text, rest));
    next.place = Place::kNameEnd;
    next.state = frame.object;
    next.object = kNone;
    if (!frame.records) return StateOf(next, kNone);
    for (const char byte : rest) text = Append(text, static_cast<uint8_t>(byte));
    return StateOf(next, Append(text, '"'));
  }
  if (frame.records) {
    for (const char byte : rest) text = Append(text, static_cast<uint8_t>(byte));
    text = Append(text, '"');
  }
  return EndValue(frame, text, TruthsBehind(frame, rest));
}

JsonMachine::Truths JsonMachine::TruthsBehind(const Frame& frame, std::string_view rest) {
  Truths truths;
  if (frame.watched == kNone) return truths;
  for (StringDfa::State state : watched_[frame.watched]) {
    for (size_t i = 0; i < rest.size() && state != StringDfa::kDead; ++i) {
      state = strings_.Step(state, static_cast<uint8_t>(rest[i]));
    }
    truths.push_back(state != StringDfa::kDead && strings_.Accepts(state));
  }
  return truths;
}

NameId JsonMachine::NameLike(const Frame& frame, TextId text, std::string_view rest) {
  const std::string spelling = TextFrom(text, frame.detail).append(rest);
  return NameLike(frame.object, NameSpelled(spelling));
}

NameId JsonMachine::NameLike(int32_t object, const std::string& name) {
  NameKinds& kinds = NameKindsOf(object);
  if (kinds.spoken.contains(name)) return logic_.constants().NameOf(name);
  std::vector<bool> matches;
  for (const RegexId pattern : kinds.patterns) matches.push_back(logic_.Matches(pattern, name));
  const auto known = kinds.like.find(matches);
  if (known != kinds.like.end()) return known->second;
  const NameId like = logic_.constants().NameOf(name);
  kinds.like.emplace(std::move(matches), like);
  return like;
}

JsonMachine::NameKinds& JsonMachine::NameKindsOf(int32_t object) {
  const auto [entry, is_new] = name_kinds_.try_emplace(object);
  NameKinds& kinds = entry->second;
  if (!is_new) return kinds;
  const ObjectState& state = objects_[object];
  const auto add = [&](FormulaId formula) {
    for (const NameId name : solver_.SpokenNames(formula, state.context)) {
      kinds.spoken.insert(logic_.constants().name(name));
    }
    const std::vector<RegexId> patterns = solver_.PatternsOf(formula);
    kinds.patterns.insert(kinds.patterns.end(), patterns.begin(), patterns.end());
  };
  add(state.formula);
  for (const FormulaId watched : state.watched) add(watched);
  return kinds;
}

}  // namespace weft
