// From a builder's nodes to rules. Used by GrammarBuilder::Build alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "grammar/cfg/grammar.h"
#include "grammar/cfg/grammar_nodes.h"
#include "grammar/cfg/regular_parts.h"

namespace weft {

// Rules for all expressions that are not regular (RegularParts says which are): in a sequence
// regular neighbours become one terminal, in a choice all regular alternatives do. Counted
// repetitions take a number of rules that is logarithmic in the count. Left out in the end is what
// stands for another symbol alone, derives nothing or is not used.
class GrammarCompiler {
 public:
  explicit GrammarCompiler(GrammarNodes& nodes) : all_(nodes), regular_(nodes) {}

  Result<Grammar> Compile(int32_t start);

 private:
  using Kind = GrammarNode::Kind;
  // Until Finish terminal i is i, nonterminal i is ~i.
  using SymbolList = std::vector<GrammarSymbol>;
  enum class Counted : uint8_t { kExactly, kAtMost };

  const GrammarNode& NodeOf(int32_t node) const { return all_.nodes[node]; }
  static bool IsNonterminal(GrammarSymbol symbol) { return symbol < 0; }

  std::vector<int32_t> PartsOf(int32_t node) const;  // of a sequence or a choice
  void MakeRules(int32_t node);
  // `of_run`: regular neighbours, as many as may become one terminal. `of_other`: what is not
  // regular.
  template <typename OfRun, typename OfOther>
  void EachRun(std::span<const int32_t> parts, const OfRun& of_run, const OfOther& of_other);
  void MakeChoice(int32_t node);
  SymbolList SequenceSymbols(int32_t node);
  // The rule of what a part of a choice or a rule is.
  SymbolList SymbolsOf(int32_t node);
  GrammarSymbol SymbolOf(int32_t node);
  GrammarSymbol RegexTerminal(RegexId regex);
  GrammarSymbol Repeated(GrammarSymbol symbol, int32_t min, int32_t max);
  GrammarSymbol Star(GrammarSymbol symbol);
  GrammarSymbol Times(Counted counted, GrammarSymbol symbol, int32_t count);
  GrammarSymbol NewNonterminal();
  void AddRule(GrammarSymbol nonterminal, SymbolList symbols);

  void ReplaceAliases();
  // N: N a N | b derives b (a b)*, in as many ways as there are trees. It becomes N: N a M | M with
  // M: b, which derives each in one way.
  void MakeOperatorsAssociative();
  void AskTerminals();
  // For each nonterminal whether one of its rules has only symbols for which `terminals` says yes,
  // or this does.
  std::vector<uint8_t> Closure(const std::vector<uint8_t>& terminals) const;
  void DropUnproductiveRules(const std::vector<uint8_t>& is_productive);
  // Terminals first, then nonterminals, as far as they are reached from the start: their numbers in
  // the grammar.
  std::map<GrammarSymbol, GrammarSymbol> Number() const;
  Grammar Finish();

  GrammarNodes& all_;
  RegularParts regular_;
  GrammarSymbol start_ = 0;
  std::vector<std::optional<GrammarSymbol>> symbol_of_;  // by node
  std::vector<SymbolList> sequence_of_;                  // by node, of kSequence
  std::vector<std::vector<SymbolList>> rules_;           // by nonterminal
  std::vector<Grammar::Terminal> terminals_;
  std::vector<uint8_t> has_text_;     // by terminal
  std::vector<uint8_t> is_nullable_;  // by terminal
  std::map<RegexId, GrammarSymbol> regex_terminals_;
  std::map<GrammarSymbol, GrammarSymbol> stars_;
  std::map<std::tuple<Counted, GrammarSymbol, int32_t>, GrammarSymbol> counted_;
  int64_t rule_symbols_ = 0;
};

}  // namespace weft
