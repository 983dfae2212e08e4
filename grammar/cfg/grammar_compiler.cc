#include "grammar/cfg/grammar_compiler.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft {

Result<Grammar> GrammarCompiler::Compile(int32_t start) {
  regular_.Find(start);
  symbol_of_.resize(all_.nodes.size());
  sequence_of_.resize(all_.nodes.size());
  for (const int32_t node : regular_.nodes()) {
    if (!regular_.Of(node)) MakeRules(node);
  }
  // Their bodies' symbols are there only now.
  for (const int32_t node : regular_.nodes()) {
    if (regular_.Of(node) || NodeOf(node).kind != Kind::kRule) continue;
    const int32_t body = *all_.rules[NodeOf(node).first].body;
    AddRule(*symbol_of_[node], {SymbolOf(body)});
  }
  // A nonterminal, even where it is all one terminal.
  start_ = NewNonterminal();
  rules_[~start_] = {SymbolsOf(start)};
  if (rule_symbols_ > all_.limits.max_expressions) {
    return Fail(ErrorCode::kResourceExhausted, "grammar: rules of more than {} symbols",
                all_.limits.max_expressions);
  }
  ReplaceAliases();
  MakeOperatorsAssociative();
  AskTerminals();
  WEFT_RETURN_IF_ERROR(all_.regexes->status());
  const std::vector<uint8_t> is_productive = Closure(has_text_);
  if (is_productive[~start_] == 0) {
    return Fail(ErrorCode::kInvalidArgument, "grammar: it derives no text");
  }
  DropUnproductiveRules(is_productive);
  return Finish();
}

void GrammarCompiler::MakeRules(int32_t node) {
  const GrammarNode& parent = NodeOf(node);
  switch (parent.kind) {
    case Kind::kRegex:
      break;  // is regular
    case Kind::kTerminal:
      terminals_.push_back({.factory = all_.factories[parent.first]});
      symbol_of_[node] = static_cast<GrammarSymbol>(terminals_.size() - 1);
      break;
    case Kind::kSequence:
      sequence_of_[node] = SequenceSymbols(node);
      break;
    case Kind::kChoice:
      MakeChoice(node);
      break;
    case Kind::kRepeat:
      symbol_of_[node] = Repeated(SymbolOf(parent.first), parent.count, parent.max);
      break;
    case Kind::kRule:
      symbol_of_[node] = NewNonterminal();
      break;
  }
}

template <typename OfRun, typename OfOther>
void GrammarCompiler::EachRun(std::span<const int32_t> parts, const OfRun& of_run,
                              const OfOther& of_other) {
  std::vector<RegexId> run;
  int64_t cost = 0;
  const auto end_run = [&] {
    if (!run.empty()) of_run(run);
    run.clear();
    cost = 0;
  };
  for (const int32_t part : parts) {
    const std::optional<RegularParts::Part>& regex = regular_.Of(part);
    if (!regex || cost + regex->cost > regular_.max_cost()) end_run();
    if (regex) {
      run.push_back(regex->regex);
      cost += regex->cost;
    } else {
      of_other(part);
    }
  }
  end_run();
}

void GrammarCompiler::MakeChoice(int32_t node) {
  const GrammarSymbol nonterminal = NewNonterminal();
  symbol_of_[node] = nonterminal;
  std::vector<int32_t> parts = PartsOf(node);
  const auto is_regular = [this](int32_t part) { return regular_.Of(part).has_value(); };
  std::stable_partition(parts.begin(), parts.end(), is_regular);  // all of them neighbours
  EachRun(
      parts,
      [&](const std::vector<RegexId>& run) {
        AddRule(nonterminal, {RegexTerminal(all_.regexes->Or(run))});
      },
      [&](int32_t part) { AddRule(nonterminal, SymbolsOf(part)); });
}

GrammarCompiler::SymbolList GrammarCompiler::SequenceSymbols(int32_t node) {
  SymbolList symbols;
  EachRun(
      PartsOf(node),
      [&](const std::vector<RegexId>& run) {
        symbols.push_back(RegexTerminal(all_.regexes->Concat(run)));
      },
      [&](int32_t part) { symbols.push_back(SymbolOf(part)); });
  return symbols;
}

std::vector<int32_t> GrammarCompiler::PartsOf(int32_t node) const {
  const auto first = all_.parts.begin() + NodeOf(node).first;
  return {first, first + NodeOf(node).count};
}

GrammarCompiler::SymbolList GrammarCompiler::SymbolsOf(int32_t node) {
  if (!regular_.Of(node) && NodeOf(node).kind == Kind::kSequence) return sequence_of_[node];
  return {SymbolOf(node)};
}

GrammarSymbol GrammarCompiler::SymbolOf(int32_t node) {
  std::optional<GrammarSymbol>& symbol = symbol_of_[node];
  if (symbol) return *symbol;
  if (const std::optional<RegularParts::Part>& part = regular_.Of(node)) {
    symbol = RegexTerminal(part->regex);
  } else {
    symbol = NewNonterminal();
    AddRule(*symbol, sequence_of_[node]);
  }
  return *symbol;
}

GrammarSymbol GrammarCompiler::RegexTerminal(RegexId regex) {
  const auto [found, is_new] =
      regex_terminals_.try_emplace(regex, static_cast<GrammarSymbol>(terminals_.size()));
  if (is_new) terminals_.push_back({.regex = regex});
  return found->second;
}

GrammarSymbol GrammarCompiler::Repeated(GrammarSymbol symbol, int32_t min, int32_t max) {
  const bool is_bounded = max != GrammarNode::kUnbounded;
  SymbolList symbols;
  if (min > 0) symbols.push_back(Times(Counted::kExactly, symbol, min));
  if (!is_bounded) symbols.push_back(Star(symbol));
  if (is_bounded && max > min) symbols.push_back(Times(Counted::kAtMost, symbol, max - min));
  const GrammarSymbol repeated = NewNonterminal();
  AddRule(repeated, std::move(symbols));
  return repeated;
}

GrammarSymbol GrammarCompiler::Star(GrammarSymbol symbol) {
  if (const auto found = stars_.find(symbol); found != stars_.end()) return found->second;
  const GrammarSymbol star = NewNonterminal();
  AddRule(star, {});
  AddRule(star, {star, symbol});
  stars_[symbol] = star;
  return star;
}

// The halves of a count have at most two values, so there are at most two rules of each kind a
// level. At most `count` is a half, exactly, and at most the rest; or it is less than the half.
GrammarSymbol GrammarCompiler::Times(Counted counted, GrammarSymbol symbol, int32_t count) {
  if (counted == Counted::kExactly && count == 1) return symbol;
  if (const auto found = counted_.find({counted, symbol, count}); found != counted_.end()) {
    return found->second;
  }
  const GrammarSymbol times = NewNonterminal();
  counted_[{counted, symbol, count}] = times;
  const int32_t half = count / 2;
  if (counted == Counted::kExactly) {
    AddRule(times, {Times(counted, symbol, half), Times(counted, symbol, count - half)});
  } else if (count > 0) {
    const int32_t most = count - half;
    AddRule(times, {Times(counted, symbol, most - 1)});
    AddRule(times, {Times(Counted::kExactly, symbol, most), Times(counted, symbol, half)});
  } else {
    AddRule(times, {});
  }
  return times;
}

GrammarSymbol GrammarCompiler::NewNonterminal() {
  rules_.emplace_back();
  return ~static_cast<GrammarSymbol>(rules_.size() - 1);
}

// Counts on beyond the limit; Compile fails then.
void GrammarCompiler::AddRule(GrammarSymbol nonterminal, SymbolList symbols) {
  rule_symbols_ += static_cast<int64_t>(symbols.size()) + 1;
  if (rule_symbols_ > all_.limits.max_expressions) return;
  rules_[~nonterminal].push_back(std::move(symbols));
}

// A nonterminal whose only rule is a single symbol is that symbol. One that is so in a circle
// derives nothing.
void GrammarCompiler::ReplaceAliases() {
  const auto is_alias = [&](GrammarSymbol symbol) {
    return IsNonterminal(symbol) && symbol != start_ && rules_[~symbol].size() == 1 &&
           rules_[~symbol].front().size() == 1;
  };
  std::vector<uint8_t> is_on_path(rules_.size());
  for (GrammarSymbol symbol = -1; ~symbol < static_cast<GrammarSymbol>(rules_.size()); --symbol) {
    SymbolList path;
    GrammarSymbol end = symbol;
    while (is_alias(end) && is_on_path[~end] == 0) {
      is_on_path[~end] = 1;
      path.push_back(end);
      end = rules_[~end].front().front();
    }
    const bool is_circle = IsNonterminal(end) && is_on_path[~end] != 0;
    for (const GrammarSymbol alias : path) {
      is_on_path[~alias] = 0;
      if (is_circle) {
        rules_[~alias].clear();
      } else {
        rules_[~alias].front().front() = end;
      }
    }
  }
  for (std::vector<SymbolList>& rules : rules_) {
    for (SymbolList& rule : rules) {
      for (GrammarSymbol& symbol : rule) {
        if (is_alias(symbol)) symbol = rules_[~symbol].front().front();
      }
    }
    std::ranges::sort(rules);
    rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  }
}

void GrammarCompiler::MakeOperatorsAssociative() {
  const size_t count = rules_.size();
  for (size_t i = 0; i < count; ++i) {
    const GrammarSymbol whole = ~static_cast<GrammarSymbol>(i);
    const auto is_operand = [&](const SymbolList& rule) {
      return rule.size() < 2 || rule.front() != whole || rule.back() != whole;
    };
    if (std::ranges::all_of(rules_[i], is_operand)) continue;
    const GrammarSymbol operand = NewNonterminal();
    for (SymbolList& rule : std::exchange(rules_[i], {{operand}})) {
      if (is_operand(rule)) {
        rules_[~operand].push_back(std::move(rule));
      } else {
        rule.back() = operand;
        rules_[i].push_back(std::move(rule));
      }
    }
  }
}

void GrammarCompiler::AskTerminals() {
  RegexArena& arena = *all_.regexes;
  for (const Grammar::Terminal& terminal : terminals_) {
    if (terminal.factory == nullptr) {
      has_text_.push_back(!arena.IsEmpty(terminal.regex));
      is_nullable_.push_back(arena.Nullable(terminal.regex));
      continue;
    }
    const std::unique_ptr<Recognizer> recognizer = terminal.factory();
    const Recognizer::State start = recognizer->Start();
    has_text_.push_back(start != Recognizer::kDead);
    is_nullable_.push_back(start != Recognizer::kDead && recognizer->Accepts(start));
  }
}

std::vector<uint8_t> GrammarCompiler::Closure(const std::vector<uint8_t>& terminals) const {
  struct Use {
    int32_t nonterminal;
    int32_t rule;  // among all rules
  };
  std::vector<std::vector<Use>> uses(rules_.size());  // of nonterminals, by nonterminal
  std::vector<int32_t> missing;                       // by rule: symbols that are not known to hold
  std::vector<uint8_t> holds(rules_.size());
  std::vector<int32_t> found;
  const auto add = [&](int32_t nonterminal) {
    if (holds[nonterminal] == 0) found.push_back(nonterminal);
    holds[nonterminal] = 1;
  };
  for (int32_t nonterminal = 0; nonterminal < static_cast<int32_t>(rules_.size()); ++nonterminal) {
    for (const SymbolList& rule : rules_[nonterminal]) {
      const auto index = static_cast<int32_t>(missing.size());
      int32_t count = 0;
      for (const GrammarSymbol symbol : rule) {
        if (!IsNonterminal(symbol) && terminals[symbol] != 0) continue;
        ++count;
        if (IsNonterminal(symbol)) uses[~symbol].push_back({nonterminal, index});
      }
      missing.push_back(count);
      if (count == 0) add(nonterminal);
    }
  }
  while (!found.empty()) {
    const int32_t nonterminal = found.back();
    found.pop_back();
    for (const Use& use : uses[nonterminal]) {
      if (--missing[use.rule] == 0) add(use.nonterminal);
    }
  }
  return holds;
}

void GrammarCompiler::DropUnproductiveRules(const std::vector<uint8_t>& is_productive) {
  const auto derives_nothing = [&](GrammarSymbol symbol) {
    return IsNonterminal(symbol) ? is_productive[~symbol] == 0 : has_text_[symbol] == 0;
  };
  for (std::vector<SymbolList>& rules : rules_) {
    std::erase_if(
        rules, [&](const SymbolList& rule) { return std::ranges::any_of(rule, derives_nothing); });
  }
}

std::map<GrammarSymbol, GrammarSymbol> GrammarCompiler::Number() const {
  std::map<GrammarSymbol, GrammarSymbol> numbers = {{start_, 0}};
  SymbolList found = {start_};
  while (!found.empty()) {
    const GrammarSymbol symbol = found.back();
    found.pop_back();
    if (!IsNonterminal(symbol)) continue;
    for (const SymbolList& rule : rules_[~symbol]) {
      for (const GrammarSymbol part : rule) {
        if (numbers.try_emplace(part, 0).second) found.push_back(part);
      }
    }
  }
  GrammarSymbol number = 0;
  const auto terminals = numbers.lower_bound(0);
  for (auto i = terminals; i != numbers.end(); ++i) i->second = number++;
  for (auto i = numbers.begin(); i != terminals; ++i) i->second = number++;
  return numbers;
}

Grammar GrammarCompiler::Finish() {
  const std::vector<uint8_t> is_nullable = Closure(is_nullable_);
  const std::map<GrammarSymbol, GrammarSymbol> numbers = Number();
  Grammar grammar;
  grammar.start_ = numbers.at(start_);
  grammar.is_nullable_.resize(numbers.size());
  const auto terminals = numbers.lower_bound(0);
  for (auto i = terminals; i != numbers.end(); ++i) {
    grammar.terminals_.push_back(std::move(terminals_[i->first]));
    grammar.is_nullable_[i->second] = is_nullable_[i->first];
  }
  grammar.terminal_count_ = static_cast<int32_t>(grammar.terminals_.size());
  for (auto i = numbers.begin(); i != terminals; ++i) {
    grammar.is_nullable_[i->second] = is_nullable[~i->first];
    grammar.first_rule_.push_back(static_cast<int32_t>(grammar.rules_.size()));
    for (const SymbolList& rule : rules_[~i->first]) {
      grammar.rules_.push_back(static_cast<Grammar::Position>(grammar.symbols_.size()));
      for (const GrammarSymbol symbol : rule) grammar.symbols_.push_back(numbers.at(symbol));
      grammar.symbols_.push_back(Grammar::kRuleEnd);
    }
  }
  grammar.first_rule_.push_back(static_cast<int32_t>(grammar.rules_.size()));
  grammar.regexes_ = all_.regexes;
  return grammar;
}

}  // namespace weft
