// The texts of a language as they stand inside a string of JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/recognizer.h"

namespace weft {

// What has to be escaped is, by its short form, or by \u00 and two digits where a control character
// has none; nothing else is. Python reads such strings alike.
class QuotedRecognizer : public Recognizer {
 public:
  explicit QuotedRecognizer(std::unique_ptr<Recognizer> inner) : inner_(std::move(inner)) {}

  State Start() override;
  State Step(State state, uint8_t byte) override;
  bool Accepts(State state) override;
  Result<void> status() const override { return inner_->status(); }
  size_t bytes() const override { return inner_->bytes() + places_.size() * kBytesOfState; }
  ByteSet BytesTowardsEnd(State state) override;

 private:
  // How much of an escape has come.
  enum class Escape : uint8_t { kNone, kBegun, kU, kU0, kU00, kU000, kU001 };
  struct Place {
    State inner = 0;
    Escape escape = Escape::kNone;
  };
  static constexpr size_t kBytesOfState = sizeof(Place) + 48;  // with its place in the table

  State Intern(Place place);
  // Whether the text may go on with `byte`.
  bool Takes(State inner, uint8_t byte) { return inner_->Step(inner, byte) != kDead; }
  bool TakesControl(State inner, uint8_t first, uint8_t last);
  bool TakesEscaped(State inner);
  // Behind the escaped byte.
  State StepInner(State inner, uint8_t byte);
  State StepEscape(State inner, uint8_t byte);

  const std::unique_ptr<Recognizer> inner_;
  std::vector<Place> places_;  // by state
  std::unordered_map<uint64_t, State> states_;
};

}  // namespace weft
