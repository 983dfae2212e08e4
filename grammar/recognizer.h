// A language of texts, as a deterministic automaton over bytes that is built as far as it is asked
// for.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace weft {

// States are numbers that stay what they are; what Step and Accepts have found out is kept. One
// owner at a time: asking changes it.
class Recognizer {
 public:
  using State = int32_t;
  static constexpr State kDead = -1;  // no text of the language begins so

  Recognizer() = default;
  Recognizer(const Recognizer&) = delete;
  Recognizer& operator=(const Recognizer&) = delete;
  virtual ~Recognizer() = default;

  // Before the first byte; kDead: the language is empty.
  virtual State Start() = 0;
  // Behind one more byte. From every state but kDead a text of the language can be reached.
  virtual State Step(State state, uint8_t byte) = 0;
  // Whether the text is one of the language as it stands.
  virtual bool Accepts(State state) = 0;
  // kResourceExhausted: a limit was reached, and steps were dead for that alone.
  virtual Result<void> status() const { return {}; }
};

}  // namespace weft
