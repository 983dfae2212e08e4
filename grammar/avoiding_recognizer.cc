#include "grammar/avoiding_recognizer.h"

namespace weft {

Recognizer::State AvoidingRecognizer::Start() {
  return Intern(inner_->Start(), WordAutomaton::kStart);
}

Recognizer::State AvoidingRecognizer::Step(State state, uint8_t byte) {
  const Place place = PlaceOf(state);
  const Node node = words_.Step(place.node, byte);
  return node == WordAutomaton::kWord ? kDead : Intern(inner_->Step(place.inner, byte), node);
}

size_t AvoidingRecognizer::bytes() const {
  constexpr size_t kBytesOfState = sizeof(Place) + 48;  // with its place in the table
  return inner_->bytes() + places_.size() * kBytesOfState;
}

std::optional<TextRun> AvoidingRecognizer::RunAt(State state) {
  const Place& place = PlaceOf(state);
  std::optional<TextRun> run = inner_->RunAt(place.inner);
  if (!run || run->avoided != nullptr) return std::nullopt;
  run->avoided = &words_;
  run->node = place.node;
  return run;
}

WordAutomaton::Node AvoidingRecognizer::NodeBehindRun(const Place& place,
                                                      std::string_view rest) const {
  const Node node = words_.Behind(place.node, rest);
  if (node == WordAutomaton::kWord) return node;
  return words_.Step(node, inner_->RunAt(place.inner)->end);
}

int64_t AvoidingRecognizer::RunEndClass(State state, std::string_view rest) {
  const Place place = PlaceOf(state);
  constexpr int kNodeBits = 16;
  const auto inner = static_cast<uint64_t>(inner_->RunEndClass(place.inner, rest));
  const uint64_t both =
      (inner << kNodeBits | inner >> (64 - kNodeBits)) ^ NodeBehindRun(place, rest);
  return static_cast<int64_t>(both);
}

Recognizer::State AvoidingRecognizer::RunEnd(State state, std::string_view rest) {
  const Place place = PlaceOf(state);
  const Node node = NodeBehindRun(place, rest);
  return node == WordAutomaton::kWord ? kDead : Intern(inner_->RunEnd(place.inner, rest), node);
}

// Where a word would end, JSON can spell its last byte otherwise.
ByteSet AvoidingRecognizer::BytesTowardsEnd(State state) {
  const Place place = PlaceOf(state);
  ByteSet bytes = inner_->BytesTowardsEnd(place.inner);
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    if (bytes[byte] && words_.Step(place.node, static_cast<uint8_t>(byte)) == WordAutomaton::kWord)
      bytes.set('\\');
  }
  return bytes;
}

Recognizer::State AvoidingRecognizer::Intern(State inner, Node node) {
  if (inner == kDead) return kDead;
  const uint64_t key = static_cast<uint64_t>(inner) << 16U | node;
  const auto [entry, is_new] = states_.emplace(key, static_cast<State>(places_.size()));
  if (is_new) places_.push_back({inner, node});
  return entry->second;
}

}  // namespace weft
