#include "grammar/regex/string_dfa.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"

namespace weft {
namespace {

// What texts are best made of where it does not matter: an index here, and a symbol.
constexpr SymbolRange kPlainFirst[] = {{'a', 'z'},          {'0', '9'},      {'A', 'Z'},
                                       {' ', '!'},          {'#', '['},      {']', '~'},
                                       {0x80, kLastSymbol}, {0, kLastSymbol}};
using PlainSymbol = std::pair<size_t, Symbol>;

PlainSymbol PlainestOf(const RegexEdge& edge) {
  size_t rank = 0;
  while (edge.last < kPlainFirst[rank].first || edge.first > kPlainFirst[rank].last) ++rank;
  return {rank, std::max(edge.first, kPlainFirst[rank].first)};
}

uint8_t FirstByteOf(Symbol symbol, Spelling spelling) {
  if (symbol > kLastCodePoint) return kSpecialByte;
  const bool is_escaped = symbol < 0x20 || symbol == '"' || symbol == '\\';
  if (spelling == Spelling::kJsonString && is_escaped) return '\\';
  std::string text;
  AppendUtf8(symbol, &text);
  return static_cast<uint8_t>(text[0]);
}

}  // namespace

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

ByteSet StringDfa::BytesTowardsEnd(State state) {
  const Place from = place(state);
  ByteSet bytes;
  if (from.prefix != 0) {
    std::unordered_set<State> kinds;
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      const State next = Step(state, static_cast<uint8_t>(byte));
      if (next != kDead && kinds.insert(next).second) bytes.set(byte);
    }
    return bytes;
  }
  std::unordered_map<RegexId, PlainSymbol> kinds;
  for (const RegexEdge& edge : arena_->Edges(from.rest)) {
    if (edge.next == from.rest) continue;
    const PlainSymbol symbol = PlainestOf(edge);
    const auto [kind, is_new] = kinds.try_emplace(edge.next, symbol);
    if (!is_new) kind->second = std::min(kind->second, symbol);
  }
  for (const auto& [next, symbol] : kinds) bytes.set(FirstByteOf(symbol.second, spelling_));
  return bytes;
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
