// The texts of a context-free grammar (Earley, "An efficient context-free parsing algorithm", 1970)
// as an automaton over bytes, built as far as it is asked for.
//
// A column is what may be expected behind some text: items, that is, places in rules, each with
// where to go on when its rule has ended. Columns that expect the same are one; so the automaton of
// a list is finite however long the list gets, and what was found out about one place in a text is
// known in all others like it. A state of the automaton is the set of terminals that have begun,
// each with the state of its own automaton.
//
// Rules that may be empty are skipped where they are predicted (Aycock and Horspool, "Practical
// Earley parsing", 2002). A rule that ends with another one does not wait for its end, but hands on
// where to continue (after Leo, "A general context-free parsing algorithm running in linear time on
// every LR(k) grammar without using lookahead", 1991): recursion on the right takes no more than
// recursion on the left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/cfg/grammar.h"
#include "grammar/recognizer.h"
#include "grammar/regex/regex.h"
#include "grammar/regex/string_dfa.h"

namespace weft {

struct EarleyLimits {
  size_t max_bytes = 256U << 20U;  // of columns, states and transitions
  // Of a column, and terminals that have begun at one place of a text.
  size_t max_items = 20'000;
  // That are looked at for one column, over and over where the grammar is ambiguous.
  size_t max_work = 500'000;
  size_t max_work_in_all = 100'000'000;  // each less than 100 ns
};

class EarleyRecognizer : public Recognizer {
 public:
  explicit EarleyRecognizer(std::shared_ptr<const Grammar> grammar, EarleyLimits limits = {});

  State Start() override;
  State Step(State state, uint8_t byte) override {
    const std::unique_ptr<Row>& row = states_[static_cast<size_t>(state)].next;
    if (row != nullptr && (*row)[byte] != kUnknown) return (*row)[byte];
    return FindStep(state, byte);
  }
  bool Accepts(State state) override { return states_[static_cast<size_t>(state)].accepts; }
  // Where only one terminal has begun, that one's.
  std::optional<TextRun> RunAt(State state) override;
  // Those of all terminals that have begun: an end can be reached with the bytes of one.
  ByteSet BytesTowardsEnd(State state) override;
  int64_t RunEndClass(State state, std::string_view rest) override;
  State RunEnd(State state, std::string_view rest) override;

  // kResourceExhausted once a limit was reached, of this or of the regexes: steps that were not
  // taken before are dead from then on.
  Result<void> status() const override;
  size_t bytes() const override;

 private:
  static constexpr State kUnknown = -2;
  using Row = std::array<State, 256>;
  // Part of an array that only grows.
  struct Range {
    int32_t begin = 0;
    int32_t end = 0;
  };
  using ReturnId = int32_t;
  static constexpr ReturnId kWholeText = 0;
  // What is expected at `position`, and where to go on behind the rule.
  struct Item {
    Grammar::Position position = 0;
    ReturnId next = kWholeText;

    auto operator<=>(const Item&) const = default;
  };
  struct Column {
    Range kernel;    // in items_: all items but those that were predicted
    Range expected;  // in expected_
    bool accepts = false;
  };
  // A terminal that may begin in a column, and the items behind it.
  struct Expected {
    GrammarSymbol terminal = 0;
    Range items;
  };
  struct Thread {
    int32_t expected = 0;  // in expected_
    State state = 0;       // of the terminal's automaton

    auto operator<=>(const Thread&) const = default;
  };
  struct StateEntry {
    Range threads;
    bool accepts = false;
    std::unique_ptr<Row> next;
  };
  // While a column is made: `item` comes behind `symbol`.
  struct Waiting {
    GrammarSymbol symbol = 0;
    Item item;

    auto operator<=>(const Waiting&) const = default;
  };

  State FindStep(State state, uint8_t byte);
  const Thread& FirstThread(State state) const {
    return threads_[static_cast<size_t>(states_[static_cast<size_t>(state)].threads.begin)];
  }
  // A step begins, one of its threads comes to `next`, and it ends: the state of all of them.
  void BeginStep();
  void Advance(int32_t expected, State next);
  State EndStep();
  // The state with the threads of new_threads_.
  State InternState(bool accepts);
  State StepTerminal(GrammarSymbol terminal, State state, uint8_t byte);
  // Whether the terminal may end in `state`, and whether it may go on.
  bool MayEnd(GrammarSymbol terminal, State state);
  bool MayGoOn(GrammarSymbol terminal, State state);
  State TerminalStart(GrammarSymbol terminal);

  // The column with the items of pending_, and what follows from them.
  int32_t ColumnOfPending();
  int32_t InternColumn(bool accepts);
  void Predict(Column* column);
  void ResolveReturns();
  void StoreWaiting(Column* column);
  Range StoreItems(std::span<const Waiting> waiting);
  Item Resolved(Item item) const;
  void AppendThreads(const Column& column);
  // Counts memory, and fails where it is more than the limit.
  void Charge(size_t bytes);
  // Counts the work of a column, and fails where all of it is more than the limit.
  void CountWork(size_t work);
  // Fails where so many items are more than the limit, or looking at them so often; false then.
  bool CheckItems(size_t count, size_t work = 0);

  std::shared_ptr<const Grammar> grammar_;
  EarleyLimits limits_;
  RegexArena regexes_;
  StringDfa regex_dfa_{&regexes_, Spelling::kPlain};
  std::vector<std::unique_ptr<Recognizer>> terminals_;  // those that are no regexes, when asked for
  size_t bytes_ = 0;
  size_t work_in_all_ = 0;
  std::optional<Error> failure_;

  std::vector<Item> items_;
  std::vector<Expected> expected_;
  std::vector<Column> columns_;
  std::vector<Range> returns_;  // in items_: those that wait for a rule to end, by ReturnId
  std::unordered_multimap<uint64_t, int32_t> columns_by_hash_;
  std::vector<Thread> threads_;
  std::vector<StateEntry> states_;
  std::unordered_multimap<uint64_t, State> states_by_hash_;

  // --- Used within a step.
  std::vector<Item> pending_;
  std::vector<Item> kernel_;
  std::vector<ReturnId> completed_;
  std::vector<uint8_t> is_completed_;  // by ReturnId
  std::vector<Thread> new_threads_;
  std::vector<Waiting> waiting_;
  // Nonterminals that were predicted, in order; item.next is ~i for what the i-th one waits for
  // until it is known.
  std::vector<GrammarSymbol> predicted_;
  std::vector<ReturnId> predicted_returns_;  // by place in predicted_; ~j: the j-th one's
  std::vector<uint8_t> is_handed_on_;        // by place in predicted_: the return is another one's
  std::vector<int32_t> place_in_predicted_;  // by symbol, -1: not there
};

}  // namespace weft
