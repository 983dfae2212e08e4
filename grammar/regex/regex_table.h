// Where expressions are kept, each once: RegexArena's store.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/regex/symbol_automaton.h"
#include "grammar/regex/symbol_set.h"

namespace weft {

// An expression of one arena.
enum class RegexId : int32_t { kNothing = 0, kEmpty = 1 };

struct RegexLimits {
  size_t expressions = 250'000;  // derivatives among them
  size_t bytes = 128U << 20U;    // of expressions and what is known about them
  size_t steps = 30'000'000;     // of putting edges together, each less than 100 ns
};

enum class RegexKind : uint8_t {
  kNothing,
  kEmpty,
  kSet,        // a: the set
  kConcat,     // a, then b; a is no kConcat
  kOr,         // b operands from a on, ascending
  kAnd,        // b operands from a on, ascending
  kNot,        // a
  kRepeat,     // a, min to max times
  kAutomaton,  // a: the automaton, b: its state
  kAsserted,   // b operands from a on: an expression with assertions, which is only read up to the
               // next of them, and what must have come before where it asserts that
};

// In expressions whose assertions are not resolved, they are symbols too: those of no text.
inline constexpr Symbol kFirstAssertion = kLastSymbol + 2;

using AsciiSet = std::bitset<128>;

struct RegexNode {
  static constexpr uint32_t kUnbounded = UINT32_MAX;

  RegexKind kind = RegexKind::kNothing;
  bool nullable = false;
  bool positive = true;   // without intersection and complement: not empty, unless Nothing
  bool finite = false;    // its texts are known to be finitely many
  bool specials = false;  // texts of it may have special tokens
  bool asserts = false;   // has assertions that are not resolved
  uint16_t depth = 1;     // how deep the recursion over it goes
  uint32_t min_length = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t min = 0;
  uint32_t max = 0;
  AsciiSet possible = {};  // the ASCII characters that texts of it may have, or more
  AsciiSet needed = {};    // those that every text of it has, or fewer

  bool text_only() const { return !specials && !asserts; }
  bool nary() const {
    return kind == RegexKind::kOr || kind == RegexKind::kAnd || kind == RegexKind::kAsserted;
  }
};

class RegexTable {
 public:
  explicit RegexTable(RegexLimits limits);

  const RegexNode& node(RegexId id) const { return nodes_[static_cast<size_t>(id)]; }
  RegexId a(RegexId id) const { return static_cast<RegexId>(node(id).a); }
  RegexId b(RegexId id) const { return static_cast<RegexId>(node(id).b); }
  std::span<const RegexId> operands(RegexId id) const;
  const SymbolSet& set(RegexId id) const { return sets_[node(id).a]; }
  const SymbolAutomaton::State& state(RegexId id) const;
  size_t size() const { return nodes_.size(); }

  // The expression with these operands; Nothing once a limit has been reached.
  RegexId Set(const SymbolSet& set);
  RegexId Binary(RegexKind kind, RegexId a, RegexId b);                  // kConcat
  RegexId Unary(RegexKind kind, RegexId a, uint32_t min, uint32_t max);  // kNot, kRepeat
  RegexId Nary(RegexKind kind, std::span<const RegexId> operands);       // where node.nary()
  RegexId AutomatonState(uint32_t automaton, uint32_t state);            // of AddAutomaton
  uint32_t AddAutomaton(std::shared_ptr<const SymbolAutomaton> automaton);

  size_t max_bytes() const { return limits_.bytes; }
  // Counts memory that somebody else holds for the arena.
  void Charge(size_t bytes);
  size_t bytes() const { return bytes_; }
  void CountSteps(size_t steps);
  bool failed() const { return failure_.has_value(); }
  Result<void> status() const;

 private:
  RegexId Intern(RegexNode node, std::span<const RegexId> operands);
  void Describe(RegexNode* node, std::span<const RegexId> operands) const;
  uint64_t Hash(const RegexNode& node, std::span<const RegexId> operands) const;
  bool Same(const RegexNode& a, const RegexNode& b, std::span<const RegexId> operands) const;
  void Grow();
  void Exceeded(std::string what);

  RegexLimits limits_;
  size_t bytes_ = 0;
  size_t steps_ = 0;
  std::optional<Error> failure_;
  std::vector<RegexNode> nodes_;
  std::vector<RegexId> operands_;
  std::vector<int32_t> slots_;  // open addressing over nodes_, a power of two; -1: free
  std::vector<SymbolSet> sets_;
  std::unordered_multimap<uint64_t, uint32_t> sets_by_hash_;
  std::vector<std::shared_ptr<const SymbolAutomaton>> automata_;
  std::vector<AsciiSet> automata_possible_;
};

}  // namespace weft
