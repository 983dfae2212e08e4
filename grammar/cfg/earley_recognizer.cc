#include "grammar/cfg/earley_recognizer.h"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

uint64_t MixInto(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

uint64_t PairOf(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32U | static_cast<uint32_t>(b);
}

}  // namespace

EarleyRecognizer::EarleyRecognizer(std::shared_ptr<const Grammar> grammar, EarleyLimits limits)
    : grammar_(std::move(grammar)),
      limits_(limits),
      regexes_(grammar_->regexes()),
      terminals_(static_cast<size_t>(grammar_->terminal_count())),
      returns_(1),
      is_completed_(1),
      place_in_predicted_(static_cast<size_t>(grammar_->symbol_count()), -1) {
  for (const Grammar::Position rule : grammar_->Rules(grammar_->start())) {
    pending_.push_back({rule, kWholeText});
  }
  const Column& column = columns_[ColumnOfPending()];
  AppendThreads(column);
  InternState(column.accepts);
}

Recognizer::State EarleyRecognizer::Start() { return failure_ ? kDead : 0; }

Result<void> EarleyRecognizer::status() const {
  WEFT_RETURN_IF_ERROR(regexes_.status());
  for (const std::unique_ptr<Recognizer>& terminal : terminals_) {
    if (terminal != nullptr) WEFT_RETURN_IF_ERROR(terminal->status());
  }
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

size_t EarleyRecognizer::bytes() const {
  size_t bytes = bytes_ + regexes_.bytes();
  for (const std::unique_ptr<Recognizer>& terminal : terminals_) {
    if (terminal != nullptr) bytes += terminal->bytes();
  }
  return bytes;
}

Recognizer::State EarleyRecognizer::FindStep(State state, uint8_t byte) {
  if (failure_) return kDead;
  BeginStep();
  const Range threads = states_[state].threads;
  CountWork(static_cast<size_t>(threads.end - threads.begin));
  for (int32_t i = threads.begin; i < threads.end; ++i) {
    const Thread& thread = threads_[i];
    Advance(thread.expected, StepTerminal(expected_[thread.expected].terminal, thread.state, byte));
  }
  const State next = EndStep();
  std::unique_ptr<Row>& row = states_[state].next;
  if (row == nullptr) {
    Charge(sizeof(Row));
    row = std::make_unique<Row>();
    row->fill(kUnknown);
  }
  Row& transitions = *row;
  // What ended for want of memory is not known to be dead.
  if (failure_ || !regexes_.status()) return kDead;
  return transitions[byte] = next;
}

void EarleyRecognizer::BeginStep() {
  new_threads_.clear();
  pending_.clear();
}

void EarleyRecognizer::Advance(int32_t thread, State next) {
  if (next == kDead) return;
  const Expected& expected = expected_[thread];
  bool goes_on = true;
  if (MayEnd(expected.terminal, next)) {
    pending_.insert(pending_.end(), items_.begin() + expected.items.begin,
                    items_.begin() + expected.items.end);
    goes_on = MayGoOn(expected.terminal, next);
  }
  if (goes_on) new_threads_.push_back({thread, next});
}

Recognizer::State EarleyRecognizer::EndStep() {
  bool accepts = false;
  if (!pending_.empty()) {
    const Column& column = columns_[ColumnOfPending()];
    AppendThreads(column);
    accepts = column.accepts;
    CheckItems(new_threads_.size());
  }
  return new_threads_.empty() && !accepts ? kDead : InternState(accepts);
}

std::optional<TextRun> EarleyRecognizer::RunAt(State state) {
  const StateEntry& entry = states_[static_cast<size_t>(state)];
  if (entry.threads.end - entry.threads.begin != 1) return std::nullopt;
  const Thread& thread = FirstThread(state);
  const auto terminal = static_cast<size_t>(expected_[thread.expected].terminal);
  return terminals_[terminal] == nullptr ? std::nullopt : terminals_[terminal]->RunAt(thread.state);
}

ByteSet EarleyRecognizer::BytesTowardsEnd(State state) {
  ByteSet bytes;
  const Range threads = states_[static_cast<size_t>(state)].threads;
  for (int32_t i = threads.begin; i < threads.end; ++i) {
    const Thread& thread = threads_[i];
    const GrammarSymbol terminal = expected_[thread.expected].terminal;
    bytes |= terminals_[terminal] != nullptr ? terminals_[terminal]->BytesTowardsEnd(thread.state)
                                             : regex_dfa_.BytesTowardsEnd(thread.state);
  }
  return bytes;
}

int64_t EarleyRecognizer::RunEndClass(State state, std::string_view rest) {
  const Thread& thread = FirstThread(state);
  const auto terminal = static_cast<size_t>(expected_[thread.expected].terminal);
  return terminals_[terminal]->RunEndClass(thread.state, rest);
}

Recognizer::State EarleyRecognizer::RunEnd(State state, std::string_view rest) {
  const Thread thread = FirstThread(state);
  const auto terminal = static_cast<size_t>(expected_[thread.expected].terminal);
  BeginStep();
  Advance(thread.expected, terminals_[terminal]->RunEnd(thread.state, rest));
  return failure_ ? kDead : EndStep();
}

Recognizer::State EarleyRecognizer::InternState(bool accepts) {
  std::ranges::sort(new_threads_);
  uint64_t hash = accepts ? 1 : 0;
  for (const Thread& thread : new_threads_)
    hash = MixInto(hash, PairOf(thread.expected, thread.state));
  const auto [begin, end] = states_by_hash_.equal_range(hash);
  for (auto i = begin; i != end; ++i) {
    const StateEntry& entry = states_[i->second];
    if (entry.accepts == accepts &&
        std::ranges::equal(std::span(threads_).subspan(entry.threads.begin,
                                                       entry.threads.end - entry.threads.begin),
                           new_threads_)) {
      return i->second;
    }
  }
  Charge(sizeof(StateEntry) + new_threads_.size() * sizeof(Thread) + 64);
  const auto first = static_cast<int32_t>(threads_.size());
  threads_.insert(threads_.end(), new_threads_.begin(), new_threads_.end());
  const auto state = static_cast<State>(states_.size());
  states_.push_back({{first, static_cast<int32_t>(threads_.size())}, accepts, nullptr});
  states_by_hash_.emplace(hash, state);
  return state;
}

Recognizer::State EarleyRecognizer::StepTerminal(GrammarSymbol terminal, State state,
                                                 uint8_t byte) {
  if (terminals_[terminal] != nullptr) return terminals_[terminal]->Step(state, byte);
  return regex_dfa_.Step(state, byte);
}

bool EarleyRecognizer::MayEnd(GrammarSymbol terminal, State state) {
  if (terminals_[terminal] != nullptr) return terminals_[terminal]->Accepts(state);
  return regex_dfa_.Accepts(state);
}

// At the end of a regex's text. Of another terminal it is not known; then a state has a thread that
// nothing comes of.
bool EarleyRecognizer::MayGoOn(GrammarSymbol terminal, State state) {
  return terminals_[terminal] != nullptr || !regexes_.Edges(regex_dfa_.Rest(state)).empty();
}

Recognizer::State EarleyRecognizer::TerminalStart(GrammarSymbol symbol) {
  const Grammar::Terminal& terminal = grammar_->terminal(symbol);
  if (terminal.factory == nullptr) return regex_dfa_.Start(terminal.regex);
  if (terminals_[symbol] == nullptr) terminals_[symbol] = terminal.factory();
  return terminals_[symbol]->Start();
}

void EarleyRecognizer::AppendThreads(const Column& column) {
  for (int32_t i = column.expected.begin; i < column.expected.end; ++i) {
    const State start = TerminalStart(expected_[i].terminal);
    if (start != kDead) new_threads_.push_back({i, start});
  }
}

int32_t EarleyRecognizer::ColumnOfPending() {
  bool accepts = false;
  kernel_.clear();
  completed_.clear();
  const auto add = [&](Item item) {
    GrammarSymbol symbol = grammar_->SymbolAt(item.position);
    for (; symbol != Grammar::kRuleEnd; symbol = grammar_->SymbolAt(++item.position)) {
      kernel_.push_back(item);
      if (!grammar_->IsNullable(symbol)) return;
    }
    accepts = accepts || item.next == kWholeText;
    if (is_completed_[item.next] != 0) return;
    is_completed_[item.next] = 1;
    completed_.push_back(item.next);
  };
  // Ambiguity finds an item many times.
  size_t unsorted = 0;
  size_t work = 0;
  const auto remove_doubles = [&] {
    std::ranges::sort(kernel_);
    kernel_.erase(std::unique(kernel_.begin(), kernel_.end()), kernel_.end());
    unsorted = 0;
  };
  for (const Item& item : pending_) add(item);
  for (size_t i = 0; i < completed_.size() && CheckItems(kernel_.size() - unsorted, work); ++i) {
    const Range waiting = returns_[completed_[i]];
    work += static_cast<size_t>(waiting.end - waiting.begin);
    const size_t before = kernel_.size();
    for (int32_t j = waiting.begin; j < waiting.end; ++j) add(items_[j]);
    unsorted += kernel_.size() - before;
    if (unsorted > limits_.max_items) remove_doubles();
  }
  for (const ReturnId completed : completed_) is_completed_[completed] = 0;
  CountWork(work + pending_.size() + kernel_.size());
  remove_doubles();
  CheckItems(kernel_.size());
  return InternColumn(accepts);
}

int32_t EarleyRecognizer::InternColumn(bool accepts) {
  uint64_t hash = accepts ? 1 : 0;
  for (const Item& item : kernel_) hash = MixInto(hash, PairOf(item.position, item.next));
  const auto [begin, end] = columns_by_hash_.equal_range(hash);
  for (auto i = begin; i != end; ++i) {
    const Column& column = columns_[i->second];
    if (column.accepts == accepts &&
        std::ranges::equal(
            std::span(items_).subspan(column.kernel.begin, column.kernel.end - column.kernel.begin),
            kernel_)) {
      return i->second;
    }
  }
  Charge(sizeof(Column) + kernel_.size() * sizeof(Item) + 64);
  const auto first = static_cast<int32_t>(items_.size());
  items_.insert(items_.end(), kernel_.begin(), kernel_.end());
  Column column = {{first, static_cast<int32_t>(items_.size())}, {}, accepts};
  Predict(&column);
  columns_.push_back(column);
  const auto index = static_cast<int32_t>(columns_.size() - 1);
  columns_by_hash_.emplace(hash, index);
  return index;
}

void EarleyRecognizer::Predict(Column* column) {
  waiting_.clear();
  predicted_.clear();
  const auto add = [&](Item item) {
    const GrammarSymbol symbol = grammar_->SymbolAt(item.position);
    waiting_.push_back({symbol, {item.position + 1, item.next}});
    if (grammar_->IsTerminal(symbol) || place_in_predicted_[symbol] >= 0) return;
    place_in_predicted_[symbol] = static_cast<int32_t>(predicted_.size());
    predicted_.push_back(symbol);
  };
  for (const Item& item : kernel_) add(item);
  for (size_t i = 0; i < predicted_.size() && CheckItems(waiting_.size()); ++i) {
    for (const Grammar::Position rule : grammar_->Rules(predicted_[i])) {
      for (Grammar::Position position = rule;; ++position) {
        const GrammarSymbol symbol = grammar_->SymbolAt(position);
        if (symbol == Grammar::kRuleEnd) break;
        add({position, ~static_cast<ReturnId>(i)});
        if (!grammar_->IsNullable(symbol)) break;
      }
    }
  }
  CountWork(waiting_.size());
  std::ranges::sort(waiting_);
  ResolveReturns();
  StoreWaiting(column);
  for (const GrammarSymbol symbol : predicted_) place_in_predicted_[symbol] = -1;
}

// Where all that wait for a rule wait at their own ends, for one and the same thing, the rule waits
// for that.
void EarleyRecognizer::ResolveReturns() {
  predicted_returns_.resize(predicted_.size());
  is_handed_on_.assign(predicted_.size(), 0);
  for (size_t i = 0; i < predicted_.size(); ++i) {
    const auto first = std::ranges::lower_bound(waiting_, predicted_[i], {}, &Waiting::symbol);
    const ReturnId next = first->item.next;
    const auto differs = std::find_if(first, waiting_.end(), [&](const Waiting& one) {
      return one.symbol != first->symbol || one.item.next != next ||
             grammar_->SymbolAt(one.item.position) != Grammar::kRuleEnd;
    });
    if (differs == waiting_.end() || differs->symbol != first->symbol) {
      is_handed_on_[i] = 1;
      predicted_returns_[i] = next;
      continue;
    }
    predicted_returns_[i] = static_cast<ReturnId>(returns_.size());
    returns_.emplace_back();
    is_completed_.push_back(0);
  }
  // No circles: what is predicted was so because of an item of the kernel.
  for (ReturnId& next : predicted_returns_) {
    while (next < 0) next = predicted_returns_[~next];
  }
}

EarleyRecognizer::Item EarleyRecognizer::Resolved(Item item) const {
  return {item.position, item.next < 0 ? predicted_returns_[~item.next] : item.next};
}

EarleyRecognizer::Range EarleyRecognizer::StoreItems(std::span<const Waiting> waiting) {
  const auto begin = static_cast<int32_t>(items_.size());
  for (const Waiting& one : waiting) items_.push_back(Resolved(one.item));
  // Items that differed may have come to be the same.
  std::sort(items_.begin() + begin, items_.end());
  items_.erase(std::unique(items_.begin() + begin, items_.end()), items_.end());
  Charge((items_.size() - begin) * sizeof(Item));
  return {begin, static_cast<int32_t>(items_.size())};
}

void EarleyRecognizer::StoreWaiting(Column* column) {
  column->expected.begin = static_cast<int32_t>(expected_.size());
  for (auto i = waiting_.begin(); i != waiting_.end();) {
    const auto end = std::find_if(i, waiting_.end(),
                                  [&](const Waiting& one) { return one.symbol != i->symbol; });
    if (grammar_->IsTerminal(i->symbol)) {
      expected_.push_back({i->symbol, StoreItems({i, end})});
      Charge(sizeof(Expected));
    } else {
      const int32_t place = place_in_predicted_[i->symbol];
      if (is_handed_on_[place] == 0) returns_[predicted_returns_[place]] = StoreItems({i, end});
      Charge(sizeof(Range));
    }
    i = end;
  }
  column->expected.end = static_cast<int32_t>(expected_.size());
}

void EarleyRecognizer::Charge(size_t bytes) {
  bytes_ += bytes;
  if (failure_ || bytes_ <= limits_.max_bytes) return;
  failure_ = {
      ErrorCode::kResourceExhausted,
      fmt::format("grammar: what the text may be takes more than {} bytes", limits_.max_bytes)};
}

void EarleyRecognizer::CountWork(size_t work) {
  work_in_all_ += work;
  if (failure_ || work_in_all_ <= limits_.max_work_in_all) return;
  failure_ = {ErrorCode::kResourceExhausted,
              fmt::format("grammar: to know what the text may be takes more than {} steps",
                          limits_.max_work_in_all)};
}

bool EarleyRecognizer::CheckItems(size_t count, size_t work) {
  if (!failure_ && (count > limits_.max_items || work > limits_.max_work)) {
    failure_ = {ErrorCode::kResourceExhausted,
                fmt::format("grammar: {} parts come into question at one place of the text, "
                            "expected at most {}; looked at {} times, expected at most {}",
                            count, limits_.max_items, work, limits_.max_work)};
  }
  return !failure_;
}

}  // namespace weft
