// The machine's short ways to an end.
#include <algorithm>
#include <iterator>
#include <optional>
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
// Else those of which something is said, as long as there are some, before any others.
ByteSet JsonMachine::NameBytes(State state) {
  const auto [frame_id, text] = states_[state];
  const Frame frame = frames_[frame_id];
  const std::string begun = TextFrom(text, frame.detail);
  const NameSpellings& names = SpellingsOf(frame.object);
  const auto next_of = [&](const std::string& name) -> std::optional<uint8_t> {
    if (!name.starts_with(begun)) return std::nullopt;
    const char next = name.size() == begun.size() ? '"' : name[begun.size()];
    const auto byte = static_cast<uint8_t>(next);
    return Step(state, byte) == kDead ? std::nullopt : std::optional(byte);
  };
  for (const std::string& name : names.required) {
    if (const std::optional<uint8_t> byte = next_of(name)) return ByteSet().set(*byte);
  }
  ByteSet bytes;
  for (const std::string& name : names.spoken) {
    if (const std::optional<uint8_t> byte = next_of(name)) bytes.set(*byte);
  }
  const bool is_spoken = bytes.any() && !names.has_patterns;
  if (!is_spoken) bytes |= names_.BytesTowardsEnd(frame.state);
  if (!is_spoken || !begun.empty()) bytes.set('"');
  return bytes;
}

const JsonMachine::NameSpellings& JsonMachine::SpellingsOf(int32_t object) {
  const auto [entry, is_new] = name_spellings_.try_emplace(object);
  NameSpellings& names = entry->second;
  if (!is_new) return names;
  const auto spelled = [](const std::string& name) {
    const std::string text = nlohmann::json(name).dump();
    return text.substr(1, text.size() - 2);
  };
  for (const NameId name : solver_.RequiredNames(objects_[object].formula)) {
    names.required.push_back(spelled(logic_.constants().name(name)));
  }
  std::ranges::sort(names.required);
  const NameKinds& kinds = NameKindsOf(object);
  names.has_patterns = !kinds.patterns.empty();
  std::ranges::transform(kinds.spoken, std::back_inserter(names.spoken), spelled);
  return names;
}

}  // namespace weft
