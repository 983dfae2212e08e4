// A deterministic automaton over symbols that is written out: what expressions are made of where
// their derivatives would be clumsy, as for many words or for the multiples of a number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/regex/symbol_set.h"

namespace weft {

struct SymbolAutomaton {
  struct Edge {
    Symbol first = 0;
    Symbol last = 0;  // included
    uint32_t next = 0;

    bool operator==(const Edge&) const = default;
  };
  struct State {
    std::vector<Edge> edges;  // ascending, disjoint
    bool accepts = false;
    // Symbols to the nearest accepting state; SetDistances finds it.
    uint32_t distance = 0;
  };
  static constexpr uint32_t kUnreachable = UINT32_MAX;

  std::vector<State> states;
  uint32_t start = 0;
  bool acyclic = false;  // its words are known to be finitely many

  // Fills in the distances and removes edges to states that no word leads on from.
  void SetDistances();
  size_t Bytes() const;
};

// The automaton of these words, with as few states as there can be. The words are valid UTF-8, in
// any order. nullopt: it may take more than `max_states`.
std::optional<SymbolAutomaton> WordsAutomaton(std::span<const std::string> words,
                                              size_t max_states);

}  // namespace weft
