// A language of texts, as a deterministic automaton over bytes that is built as far as it is asked
// for.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "grammar/word_automaton.h"

namespace weft {

class StringDfa;

// The inside of a string: bytes of which an automaton decides that many states share, up to the
// one that ends it.
struct TextRun {
  StringDfa* dfa = nullptr;
  int32_t state = 0;     // of `dfa`
  uint8_t end = 0;       // may come where `dfa` accepts, and is then no byte of the run
  bool is_name = false;  // of a property, which may not come again
  // Words that must not come in the text, of which this much has come; nullptr: any may.
  const WordAutomaton* avoided = nullptr;
  WordAutomaton::Node node = WordAutomaton::kStart;
};

using ByteSet = std::bitset<256>;

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
  // kResourceExhausted once a limit was reached: steps may have been dead for that alone.
  virtual Result<void> status() const { return {}; }

  // What it has found out takes, roughly; 0: nothing worth counting.
  virtual size_t bytes() const { return 0; }
  // For searches for a short way to an end: of the bytes that may come behind `state` enough to
  // come to an end with, one of each kind, and none that only puts the end off, as far as that is
  // known. There may be dead ones among them. Depends on the text alone, not on what was asked
  // before.
  virtual ByteSet BytesTowardsEnd(State /*state*/) { return ByteSet().set(); }

  // A short cut for masks: nullopt where there is none.
  virtual std::optional<TextRun> RunAt(State /*state*/) { return std::nullopt; }
  // What a run that goes on with `rest` and then ends comes to, as a number: where it is the same,
  // the same bytes may follow, up to the inside of a name that may not be the same.
  virtual int64_t RunEndClass(State /*state*/, std::string_view /*rest*/) { return 0; }
  // A state behind such a run, of that class; or kDead.
  virtual State RunEnd(State /*state*/, std::string_view /*rest*/) { return kDead; }
};

}  // namespace weft
