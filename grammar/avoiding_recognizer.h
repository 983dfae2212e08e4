// The texts of a language in which certain words do not stand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/recognizer.h"
#include "grammar/word_automaton.h"

namespace weft {

// For languages that can say everything without the words, as JSON can with escapes: otherwise
// there would be states that no text can be reached from.
class AvoidingRecognizer : public Recognizer {
 public:
  // See WordAutomaton.
  AvoidingRecognizer(std::unique_ptr<Recognizer> inner, std::span<const std::string_view> words)
      : inner_(std::move(inner)), words_(words) {}

  State Start() override;
  State Step(State state, uint8_t byte) override;
  bool Accepts(State state) override { return inner_->Accepts(PlaceOf(state).inner); }
  Result<void> status() const override { return inner_->status(); }
  size_t bytes() const override;
  // Of the inner language, if it has no words to avoid of its own.
  std::optional<TextRun> RunAt(State state) override;
  int64_t RunEndClass(State state, std::string_view rest) override;
  State RunEnd(State state, std::string_view rest) override;
  ByteSet BytesTowardsEnd(State state) override;

 private:
  using Node = WordAutomaton::Node;

  struct Place {
    State inner = 0;
    Node node = WordAutomaton::kStart;
  };

  const Place& PlaceOf(State state) const { return places_[static_cast<size_t>(state)]; }
  State Intern(State inner, Node node);
  // Behind a run of the inner language that goes on with `rest`, and its end.
  Node NodeBehindRun(const Place& place, std::string_view rest) const;

  const std::unique_ptr<Recognizer> inner_;
  const WordAutomaton words_;
  std::vector<Place> places_;  // by state
  std::unordered_map<uint64_t, State> states_;
};

}  // namespace weft
