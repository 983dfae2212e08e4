// Texts of a regular expression, in bytes.
#pragma once

#include <cstdint>

#include "grammar/recognizer.h"
#include "grammar/regex/regex.h"
#include "grammar/regex/string_dfa.h"

namespace weft {

// Bytes are UTF-8, strictly, and special tokens (symbol_set.h); a sequence that has begun is alive
// as long as a symbol that it may become is.
class TextRecognizer : public Recognizer {
 public:
  // Takes the arena; `id` is one of its expressions.
  TextRecognizer(RegexArena arena, RegexId id) : arena_(std::move(arena)), id_(id) {}

  State Start() override { return dfa_.Start(id_); }
  State Step(State state, uint8_t byte) override { return dfa_.Step(state, byte); }
  bool Accepts(State state) override { return dfa_.Accepts(state); }
  ByteSet BytesTowardsEnd(State state) override { return dfa_.BytesTowardsEnd(state); }

  // An error once a limit of the arena was reached: steps may have been dead for that alone.
  Result<void> status() const override { return arena_.status(); }
  size_t bytes() const override { return arena_.bytes(); }

 private:
  RegexArena arena_;
  RegexId id_;
  StringDfa dfa_{&arena_, Spelling::kPlain};
};

}  // namespace weft
