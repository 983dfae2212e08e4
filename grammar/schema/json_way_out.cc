// The machine's short ways to an end.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "grammar/schema/json_machine.h"

namespace weft {
namespace {

ByteSet BytesOf(std::string_view text) {
  ByteSet bytes;
  for (const char byte : text) bytes.set(static_cast<uint8_t>(byte));
  return bytes;
}

const ByteSet& ValueBegins() {
  static const ByteSet begins = BytesOf("\"-0123456789{[ntf");
  return begins;
}

}  // namespace

ByteSet JsonMachine::BytesTowardsEnd(State state) {
  const auto [frame_id, text] = states_[state];
  const Frame frame = frames_[frame_id];
  switch (frame.place) {
    case Place::kValue:
      return ValueBegins();
    case Place::kString: {
      ByteSet bytes = strings_.BytesTowardsEnd(frame.state);
      const bool is_watched = frame.watched != kNone;
      if (is_watched) bytes |= WatchedBytes(strings_, watched_[frame.watched]);
      return EndOr(state, '"', bytes, is_watched);
    }
    case Place::kNumber:
      return NumberBytes(frame, text);
    case Place::kConstant: {
      const auto kind = static_cast<ValueKind>(frame.state);
      return BytesOf(SpellingOf(kind).substr(static_cast<size_t>(frame.detail), 1));
    }
    case Place::kName:
      return NameBytes(state);
    case Place::kObjectStart:
      return EndOr(state, '}', BytesOf("\""), !objects_[frame.state].watched.empty());
    case Place::kNameEnd:
      return BytesOf(":");
    case Place::kPropertyEnd:
      return EndOr(state, '}', BytesOf(","), !objects_[frame.state].watched.empty());
    case Place::kPropertyNext:
      return BytesOf("\"");
    case Place::kArrayStart:
      return EndOr(state, ']', ValueBegins(), !arrays_[frame.state].watched.empty());
    case Place::kItemEnd:
      return EndOr(state, ']', BytesOf(","), !arrays_[frame.state].watched.empty());
    default:
      return {};
  }
}

ByteSet JsonMachine::EndOr(State state, char end, const ByteSet& others, bool is_watched) {
  const bool may_end = Step(state, static_cast<uint8_t>(end)) != kDead;
  ByteSet bytes = may_end && !is_watched ? ByteSet() : others;
  if (may_end) bytes.set(static_cast<uint8_t>(end));
  return bytes;
}

// What may come behind a number ends it.
ByteSet JsonMachine::NumberBytes(const Frame& frame, TextId text) {
  ByteSet bytes = numbers_.BytesTowardsEnd(frame.state);
  if (frame.watched != kNone) bytes |= WatchedBytes(numbers_, watched_[frame.watched]);
  if (!numbers_.Accepts(frame.state)) return bytes;
  const State end = EndValue(frame, text, WatchedTruths(numbers_, frame.watched));
  if (end == kDead) return bytes;
  const ByteSet behind = BytesTowardsEnd(end);
  return frame.watched == kNone ? behind : bytes | behind;
}

ByteSet JsonMachine::WatchedBytes(StringDfa& dfa, std::span<const StringDfa::State> watched) {
  ByteSet bytes;
  for (const StringDfa::State state : watched) {
    if (state != StringDfa::kDead) bytes |= dfa.BytesTowardsEnd(state);
  }
  return bytes;
}

// One of the names that must come, whichever it is: in any order there would be too many orders.
ByteSet JsonMachine::NameBytes(State state) {
  const auto [frame_id, text] = states_[state];
  const Frame frame = frames_[frame_id];
  const std::string begun = TextFrom(text, frame.detail);
  for (const std::string& name : RequiredNames(frame.object)) {
    if (!name.starts_with(begun)) continue;
    const char next = name.size() == begun.size() ? '"' : name[begun.size()];
    const std::string_view byte(&next, 1);
    if (Step(state, static_cast<uint8_t>(next)) != kDead) return BytesOf(byte);
  }
  ByteSet bytes = names_.BytesTowardsEnd(frame.state);
  bytes.set('"');
  return bytes;
}

const std::vector<std::string>& JsonMachine::RequiredNames(int32_t object) {
  const auto [entry, is_new] = required_names_.try_emplace(object);
  std::vector<std::string>& names = entry->second;
  if (!is_new) return names;
  for (const NameId name : solver_.RequiredNames(objects_[object].formula)) {
    const std::string spelling = nlohmann::json(logic_.constants().name(name)).dump();
    names.push_back(spelling.substr(1, spelling.size() - 2));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace weft
