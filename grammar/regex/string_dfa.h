// The automaton of regular expressions over the bytes that spell their symbols.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "grammar/recognizer.h"
#include "grammar/regex/regex.h"
#include "grammar/regex/symbol_decoder.h"

namespace weft {

// Built as far as it is asked for; one for all expressions of an arena that are spelled the same
// way. (Those of JSON strings must not have special tokens in them, which no string spells.) From
// every state but kDead a text can be reached. Once the arena has reached a limit, steps that were
// not taken before are dead: look at its status().
class StringDfa {
 public:
  using State = Recognizer::State;
  static constexpr State kDead = Recognizer::kDead;

  // The arena is the caller's and stays where it is.
  StringDfa(RegexArena* arena, Spelling spelling) : arena_(arena), spelling_(spelling) {}

  // Before the first byte of a text of `id`.
  State Start(RegexId id);
  State Step(State state, uint8_t byte) {
    const std::unique_ptr<Row>& row = rows_[static_cast<size_t>(state)];
    if (row != nullptr && (*row)[byte] != kUnknown) return (*row)[byte];
    return FindStep(state, byte);
  }
  // Whether no symbol has begun that has not ended.
  bool AtRest(State state) const { return place(state).prefix == 0; }
  // At rest, behind a whole text. A JSON string's closing quote may come then.
  bool Accepts(State state) const { return AtRest(state) && arena_->Nullable(place(state).rest); }
  // Whether any text may follow, at rest.
  bool IsAnyText(State state) const { return AtRest(state) && Rest(state) == arena_->AnyText(); }
  // Of a state at rest: see RegexArena::ReachOf.
  RegexReach ReachOf(State state, const SymbolSet& within, uint32_t most) const {
    return arena_->ReachOf(Rest(state), within, most);
  }
  // One for each expression that may follow, but this one: see Recognizer. What ends the string is
  // not among them.
  ByteSet BytesTowardsEnd(State state);
  Spelling spelling() const { return spelling_; }
  // What must follow, from where the symbol that has begun began.
  RegexId Rest(State state) const { return place(state).rest; }

 private:
  static constexpr State kUnknown = -2;
  using Row = std::array<State, 256>;
  struct Place {
    RegexId rest;
    SpellingPrefix prefix;
  };

  const Place& place(State state) const { return places_[static_cast<size_t>(state)]; }
  State FindStep(State state, uint8_t byte);
  State Intern(RegexId rest, SpellingPrefix prefix);
  std::unique_ptr<Row> NewRow(const Place& from);
  bool CanBecome(RegexId rest, SpellingPrefix prefix);

  RegexArena* arena_;
  Spelling spelling_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<Row>> rows_;  // of states that steps were taken from
  std::unordered_map<uint64_t, State> states_;
};

}  // namespace weft
