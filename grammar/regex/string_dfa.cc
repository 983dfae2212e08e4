#include "grammar/regex/string_dfa.h"

#include <algorithm>

namespace weft {

StringDfa::State StringDfa::Start(RegexId id) {
  return arena_->IsEmpty(id) ? kDead : Intern(id, 0);
}

StringDfa::State StringDfa::FindStep(State state, uint8_t byte) {
  const Place from = place(state);
  const DecodeStep step = DecodeByte(spelling_, from.prefix, byte);
  State found = kDead;
  if (step.kind == DecodeStep::Kind::kPrefix && CanBecome(from.rest, step.prefix)) {
    found = Intern(from.rest, step.prefix);
  } else if (step.kind == DecodeStep::Kind::kSymbol) {
    const std::span<const RegexEdge> edges = arena_->Edges(from.rest);
    const auto edge = std::ranges::lower_bound(edges, step.symbol, {}, &RegexEdge::last);
    if (edge != edges.end() && edge->first <= step.symbol) found = Intern(edge->next, 0);
  }
  std::unique_ptr<Row>& row = rows_[static_cast<size_t>(state)];
  if (row == nullptr) {
    arena_->Charge(sizeof(Row));
    row = std::make_unique<Row>();
    row->fill(kUnknown);
  }
  (*row)[byte] = found;
  return found;
}

StringDfa::State StringDfa::Intern(RegexId rest, SpellingPrefix prefix) {
  if (!arena_->status()) return kDead;
  const uint64_t key = static_cast<uint64_t>(rest) << 32U | prefix;
  const auto [at, is_new] = states_.try_emplace(key, static_cast<State>(places_.size()));
  if (is_new) {
    arena_->Charge(sizeof(Place) + sizeof(std::unique_ptr<Row>) + 64);
    places_.push_back({rest, prefix});
    rows_.emplace_back();
  }
  return at->second;
}

bool StringDfa::CanBecome(RegexId rest, SpellingPrefix prefix) {
  const std::span<const RegexEdge> edges = arena_->Edges(rest);
  const PossibleSymbols possible(prefix);
  return std::ranges::any_of(possible.ranges(), [&](const SymbolRange& range) {
    const auto edge = std::ranges::lower_bound(edges, range.first, {}, &RegexEdge::last);
    return edge != edges.end() && edge->first <= range.last;
  });
}

}  // namespace weft
