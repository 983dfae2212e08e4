// Regular expressions over symbols, with union, intersection and complement, matched by their
// derivatives (Brzozowski, "Derivatives of Regular Expressions", 1964; over ranges of symbols as in
// Owens, Reppy and Turon, "Regular-expression derivatives re-examined", 2009). Expressions that are
// the same are one: an expression is a state of its own automaton, which is built as far as it is
// asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/regex/regex_table.h"
#include "grammar/regex/symbol_automaton.h"
#include "grammar/regex/symbol_set.h"

namespace weft {

// What may come next, and what must follow then.
struct RegexEdge {
  Symbol first = 0;
  Symbol last = 0;  // included
  RegexId next = RegexId::kNothing;

  bool operator==(const RegexEdge&) const = default;
};

// How far texts of certain symbols alone go without a language having its say.
struct RegexReach {
  uint32_t length = 0;  // each of so many symbols begins a text of the language
  bool ends = false;    // and none of more does

  bool operator==(const RegexReach&) const = default;
};

// Owns expressions and what is known about them. One owner at a time: asking changes it. A copy
// goes on by itself, with the same ids.
//
// A limit that is reached stays reached: status() is an error from then on, every expression that
// is made is Nothing, none has edges, all are empty. So no text is accepted that should not be; who
// builds or asks looks at status() when he is done.
class RegexArena {
 public:
  explicit RegexArena(RegexLimits limits = {}) : table_(limits) {}

  // kResourceExhausted: a limit was reached.
  Result<void> status() const { return table_.status(); }
  // Counts memory that somebody else holds for the arena's expressions.
  void Charge(size_t bytes) { table_.Charge(bytes); }
  // Of expressions and what is known about them, with what was charged.
  size_t bytes() const { return table_.bytes(); }

  // --- Expressions, simplified as far as that is cheap.
  static RegexId Nothing() { return RegexId::kNothing; }  // no text
  static RegexId Empty() { return RegexId::kEmpty; }      // the empty text alone
  RegexId Set(const SymbolSet& set);                      // texts of one symbol; no surrogates
  RegexId Literal(std::string_view utf8);                 // valid UTF-8
  RegexId Words(std::span<const std::string> words);      // any of them, valid UTF-8; many are fine
  RegexId AnyText();                                      // all texts of code points
  RegexId Concat(RegexId first, RegexId second);
  RegexId Concat(std::span<const RegexId> parts);
  RegexId Or(std::span<const RegexId> parts);  // of none: Nothing
  RegexId Or(RegexId a, RegexId b);
  RegexId And(std::span<const RegexId> parts);  // of none: AnyText
  RegexId And(RegexId a, RegexId b);
  RegexId Not(RegexId id);  // the texts of code points that are not of `id`
  // So many times, without `max` any number from `min` on.
  RegexId Repeat(RegexId id, uint32_t min, std::optional<uint32_t> max = std::nullopt);
  RegexId Optional(RegexId id) { return Repeat(id, 0, 1); }
  RegexId Automaton(SymbolAutomaton automaton);  // its edges have no surrogates

  // --- Assertions: parts of expressions that take no symbol, but say what surrounds them. An
  // expression that has some means nothing before Asserted has resolved them; until then it must
  // not be an operand of And or Not.
  // What follows, to the end of the text, is one of `rest`, which may have assertions; `negated`:
  // is none of them.
  RegexId Ahead(RegexId rest, bool negated);
  // What came before, from the beginning of the text, is one of the expression that Asserted gets
  // at this place.
  RegexId Behind(uint32_t place);
  // The texts of `id` in which all that is asserted is so.
  RegexId Asserted(RegexId id, std::span<const RegexId> before);

  // --- Questions.
  // Whether the empty text is one of `id`.
  bool Nullable(RegexId id) const { return table_.node(id).nullable; }
  // What may come next: ascending, disjoint, none leads to an expression that is empty. Valid as
  // long as the arena.
  std::span<const RegexEdge> Edges(RegexId id);
  // Whether there is no text of `id` at all.
  bool IsEmpty(RegexId id);
  // A text of `id` with as few symbols as there can be; nullopt: there is none.
  std::optional<std::vector<Symbol>> ShortestWord(RegexId id);
  // Of texts of symbols in `within`, which is not empty. `length` is `most` at most, and may be
  // found too small where the language is intricate.
  RegexReach ReachOf(RegexId id, const SymbolSet& within, uint32_t most);
  // How many texts `id` has, at most `limit`.
  uint64_t CountWords(RegexId id, uint64_t limit);
  // A lower bound of the symbols in a text of `id`, found without looking at derivatives.
  uint32_t MinLength(RegexId id) const { return table_.node(id).min_length; }

 private:
  enum class Life : uint8_t { kUnknown, kLive, kEmpty };
  struct Facts {
    bool derived = false;  // `edges` are known
    bool pruned = false;   // none of them leads to an empty expression
    Life life = Life::kUnknown;
    std::vector<RegexEdge> edges;
  };
  struct Assertion {
    bool ahead = false;
    bool negated = false;
    RegexId rest = RegexId::kNothing;  // if ahead
    uint32_t place = 0;                // if not

    auto operator<=>(const Assertion&) const = default;
  };
  using Operands = std::vector<std::span<const RegexEdge>>;

  Facts& FactsOf(RegexId id);
  std::span<const RegexEdge> Derive(RegexId id);  // may lead to empty expressions
  std::vector<RegexEdge> Derivative(RegexId id);
  std::vector<RegexEdge> DerivativeOfConcat(RegexId id);
  std::vector<RegexEdge> DerivativeOfNot(RegexId id);
  std::vector<RegexEdge> DerivativeOfAsserted(RegexId id);
  RegexId Assert(const Assertion& assertion);
  // What `assertion` demands of the text that follows; Nothing: it does not hold.
  RegexId Demand(const Assertion& assertion, std::span<const RegexId> before);
  std::vector<RegexEdge> Combine(const Operands& operands, bool all);
  bool KnownLive(RegexId id);
  uint32_t SureReach(RegexId id, const SymbolSet& within) const;
  // Sorted, without duplicates; what operands of the same kind have is taken in.
  std::vector<RegexId> Flatten(std::span<const RegexId> parts, RegexKind kind) const;
  void UniteSets(std::vector<RegexId>* parts);
  void IntersectSets(std::vector<RegexId>* parts);
  void UniteRepeats(std::vector<RegexId>* parts);
  void IntersectRepeats(std::vector<RegexId>* parts);
  RegexId Prepend(RegexId head, RegexId tail);

  RegexTable table_;
  RegexId any_text_ = RegexId::kNothing;  // until it is made
  std::vector<Facts> facts_;              // by id
  std::vector<Assertion> assertions_;
  std::map<Assertion, uint32_t> assertions_known_;
};

}  // namespace weft
