// A context-free grammar whose terminals are languages of their own: a regex, or whatever has a
// Recognizer, such as a JSON value under a schema. Immutable; GrammarBuilder makes one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "grammar/recognizer.h"
#include "grammar/regex/regex.h"

namespace weft {

// Makes a terminal's recognizer. Called by any thread, at the same time, too.
using RecognizerFactory = std::function<std::unique_ptr<Recognizer>()>;

// Terminals come first, 0 .. terminal_count() - 1, then nonterminals.
using GrammarSymbol = int32_t;

// Every symbol derives a text: rules that do not are left out, and of terminals only those are here
// whose language is not empty.
class Grammar {
 public:
  // A place in a rule: in front of a symbol, or at the rule's end. The next place is the next
  // number.
  using Position = int32_t;
  static constexpr GrammarSymbol kRuleEnd = -1;

  struct Terminal {
    RegexId regex = {};                   // of regexes()
    RecognizerFactory factory = nullptr;  // if set, the terminal is what it makes, not the regex
  };

  int32_t symbol_count() const { return static_cast<int32_t>(is_nullable_.size()); }
  int32_t terminal_count() const { return terminal_count_; }
  bool IsTerminal(GrammarSymbol symbol) const { return symbol < terminal_count_; }
  // Whether the symbol derives the empty text, too.
  bool IsNullable(GrammarSymbol symbol) const { return is_nullable_[symbol] != 0; }
  GrammarSymbol start() const { return start_; }
  // What follows the position, or kRuleEnd.
  GrammarSymbol SymbolAt(Position position) const { return symbols_[position]; }
  // Where the rules of a nonterminal begin.
  std::span<const Position> Rules(GrammarSymbol nonterminal) const {
    const int32_t index = nonterminal - terminal_count_;
    return std::span(rules_).subspan(first_rule_[index],
                                     first_rule_[index + 1] - first_rule_[index]);
  }

  // The regexes of the grammar's terminals. An arena changes as it is asked: who runs the grammar
  // makes a copy.
  const RegexArena& regexes() const { return *regexes_; }
  const Terminal& terminal(GrammarSymbol symbol) const { return terminals_[symbol]; }

 private:
  friend class GrammarCompiler;

  Grammar() = default;

  int32_t terminal_count_ = 0;
  GrammarSymbol start_ = 0;
  std::vector<uint8_t> is_nullable_;    // by symbol
  std::vector<GrammarSymbol> symbols_;  // of all rules, each with kRuleEnd behind it
  std::vector<Position> rules_;         // where they begin, in the order of their nonterminals
  std::vector<int32_t> first_rule_;     // by nonterminal, and one more
  std::vector<Terminal> terminals_;
  std::shared_ptr<const RegexArena> regexes_;
};

}  // namespace weft
