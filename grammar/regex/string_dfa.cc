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
  if (row == nullptr) row = NewRow(from);
  (*row)[byte] = found;
  return found;
}

// Most states allow few symbols: of what they spell in one byte it is known at once that others are
// dead.
std::unique_ptr<StringDfa::Row> StringDfa::NewRow(const Place& from) {
  constexpr Symbol kLastOfOneByte = 0x7F;
  arena_->Charge(sizeof(Row));
  auto row = std::make_unique<Row>();
  row->fill(kUnknown);
  if (from.prefix != 0) return row;
  const auto one_byte = row->begin() + kLastOfOneByte + 1;
  const std::span<const RegexEdge> edges = arena_->Edges(from.rest);
  std::fill(row->begin(), one_byte, kDead);
  for (const RegexEdge& edge : edges) {
    if (edge.first > kLastOfOneByte) break;
    std::fill(row->begin() + edge.first, row->begin() + std::min(edge.last, kLastOfOneByte) + 1,
              kUnknown);
  }
  if (spelling_ == Spelling::kJsonString) (*row)['\\'] = kUnknown;
  if (edges.empty() || edges.back().last <= kLastOfOneByte) {
    std::fill(one_byte, row->end(), kDead);
  }
  return row;
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
