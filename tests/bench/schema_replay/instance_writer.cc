#include "tests/bench/schema_replay/instance_writer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weft {
WriteOutcome InstanceWriter::Write(const nlohmann::ordered_json& value) {
  byte_count_ = 0;
  const bool is_accepted = WriteValue(value, recognizer_.Start(),
                                      [this](State state) { return recognizer_.Accepts(state); });
  if (is_accepted) return WriteOutcome::kAccepted;
  return byte_count_ > options_.max_bytes ? WriteOutcome::kUndecided : WriteOutcome::kRefused;
}

Recognizer::State InstanceWriter::Text(State state, std::string_view text) {
  for (const char c : text) {
    if (state == Recognizer::kDead || ++byte_count_ > options_.max_bytes) return Recognizer::kDead;
    state = recognizer_.Step(state, static_cast<uint8_t>(c));
  }
  return state;
}

bool InstanceWriter::WriteValue(const nlohmann::ordered_json& value, State state,
                                const Rest& rest) {
  if (value.is_array()) {
    state = Text(state, "[");
    return state != Recognizer::kDead && WriteItems(value, 0, state, rest);
  }
  if (value.is_object()) {
    std::vector<Member> members;
    for (const auto& [name, member] : value.items()) {
      const char* const colon = options_.is_spaced ? ": " : ":";
      members.push_back({nlohmann::ordered_json(name).dump() + colon, &member});
    }
    std::vector<bool> written(members.size());
    state = Text(state, "{");
    return state != Recognizer::kDead && WriteMembers(members, written, {}, state, rest);
  }
  state = Text(state, value.dump());
  return state != Recognizer::kDead && rest(state);
}

bool InstanceWriter::WriteItems(const nlohmann::ordered_json& array, size_t index, State state,
                                const Rest& rest) {
  if (index == array.size()) {
    state = Text(state, "]");
    return state != Recognizer::kDead && rest(state);
  }
  if (index > 0) state = Text(state, options_.is_spaced ? ", " : ",");
  if (state == Recognizer::kDead) return false;
  return WriteValue(array[index], state,
                    [&, index](State next) { return WriteItems(array, index + 1, next, rest); });
}

bool InstanceWriter::WriteMembers(const std::vector<Member>& members, std::vector<bool>& written,
                                  const std::vector<size_t>& due, State state, const Rest& rest) {
  const auto first = std::ranges::find(written, false);
  if (first == written.end()) {
    state = Text(state, "}");
    return state != Recognizer::kDead && rest(state);
  }
  if (std::ranges::find(written, true) != written.end()) {
    state = Text(state, options_.is_spaced ? ", " : ",");
  }
  std::vector<std::pair<size_t, State>> next;
  for (auto i = static_cast<size_t>(first - written.begin()); i < members.size(); ++i) {
    if (written[i]) continue;
    const State named = Text(state, members[i].name);
    if (named != Recognizer::kDead) {
      next.emplace_back(i, named);
    } else if (std::ranges::find(due, i) != due.end()) {
      return false;
    }
    if (!options_.any_order) break;
  }
  for (const auto& [member, named] : next) {
    std::vector<size_t> still_due;
    for (const auto& [other, state_of_other] : next) {
      if (other != member) still_due.push_back(other);
    }
    written[member] = true;
    const bool is_accepted = WriteValue(*members[member].value, named, [&](State behind) {
      return WriteMembers(members, written, still_due, behind, rest);
    });
    if (is_accepted) return true;
    written[member] = false;
    if (byte_count_ > options_.max_bytes) return false;
  }
  return false;
}

}  // namespace weft
