// The texts of a language in which certain words do not stand.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/recognizer.h"

namespace weft {

// For languages that can say everything without the words, as JSON can with escapes: otherwise
// there would be states that no text can be reached from.
class AvoidingRecognizer : public Recognizer {
 public:
  // Of at most 60,000 bytes together; empty words do not count.
  AvoidingRecognizer(std::unique_ptr<Recognizer> inner, std::span<const std::string_view> words);

  State Start() override;
  State Step(State state, uint8_t byte) override;
  bool Accepts(State state) override { return inner_->Accepts(places_[state].inner); }
  Result<void> status() const override { return inner_->status(); }
  ByteSet BytesTowardsEnd(State state) override;

 private:
  // The longest beginning of a word that the text ends with, as in Aho and Corasick, "Efficient
  // string matching" (1975).
  using Node = uint16_t;
  static constexpr Node kWord = 0xFFFF;

  struct Place {
    State inner = 0;
    Node node = 0;
  };

  State Intern(Place place);

  const std::unique_ptr<Recognizer> inner_;
  std::vector<std::array<Node, 256>> next_;  // by node
  std::vector<Place> places_;                // by state
  std::unordered_map<uint64_t, State> states_;
};

}  // namespace weft
