// How far a language lets texts go.
#include <algorithm>
#include <unordered_map>

#include "grammar/regex/regex.h"

namespace weft {
namespace {

constexpr size_t kMostReached = 64;  // expressions that are looked at

bool Includes(const SymbolSet& all, const SymbolSet& part) {
  auto at = all.ranges().begin();
  return std::ranges::all_of(part.ranges(), [&](const SymbolRange& range) {
    while (at != all.ranges().end() && at->last < range.first) ++at;
    return at != all.ranges().end() && at->first <= range.first && range.last <= at->last;
  });
}

// Whether every symbol of `within` has an edge; those that are used are called with `follow`.
template <typename Follow>
bool CoveredBy(std::span<const RegexEdge> edges, const SymbolSet& within, const Follow& follow) {
  bool is_covered = true;
  auto edge = edges.begin();
  for (const SymbolRange& range : within.ranges()) {
    Symbol next = range.first;
    while (edge != edges.end() && edge->last < next) ++edge;
    for (; edge != edges.end() && edge->first <= range.last; ++edge) {
      is_covered = is_covered && edge->first <= next;
      next = edge->last + 1;
      follow(edge->next);
      if (edge->last >= range.last) break;
    }
    is_covered = is_covered && next > range.last;
  }
  return is_covered;
}

}  // namespace

// What the expression's form alone says.
uint32_t RegexArena::SureReach(RegexId id, const SymbolSet& within) const {
  const RegexNode& node = table_.node(id);
  switch (node.kind) {
    case RegexKind::kRepeat: {
      const RegexId part = table_.a(id);
      const bool is_free =
          table_.node(part).kind == RegexKind::kSet && Includes(table_.set(part), within);
      return is_free ? node.max : 0;
    }
    case RegexKind::kConcat:
      return SureReach(table_.a(id), within);
    case RegexKind::kOr: {
      uint32_t farthest = 0;
      for (const RegexId part : table_.operands(id)) {
        farthest = std::max(farthest, SureReach(part, within));
      }
      return farthest;
    }
    case RegexKind::kNot:
      return table_.node(table_.a(id)).finite ? RegexNode::kUnbounded : 0;
    default:
      return 0;
  }
}

RegexReach RegexArena::ReachOf(RegexId id, const SymbolSet& within, uint32_t most) {
  if (SureReach(id, within) >= most) return {.length = most, .ends = false};
  std::unordered_map<RegexId, uint32_t> lengths = {
      {id, 0}};  // of the shortest text that leads there
  std::vector<RegexId> level = {id};
  bool goes_on = false;  // somewhere for certain
  for (uint32_t length = 0; length < most; ++length) {
    std::vector<RegexId> next;
    bool is_dead = true;
    bool is_free = true;
    for (const RegexId from : level) {
      is_free = CoveredBy(Edges(from), within,
                          [&](RegexId to) {
                            is_dead = false;
                            const auto [entry, is_new] = lengths.emplace(to, length + 1);
                            goes_on = goes_on || entry->second != length + 1;
                            if (!is_new) return;
                            if (SureReach(to, within) >= most - length) {
                              goes_on = true;
                            } else {
                              next.push_back(to);
                            }
                          }) &&
                is_free;
    }
    if (!is_free) return {.length = length, .ends = is_dead && !goes_on};
    if (next.empty()) break;
    if (lengths.size() > kMostReached) return {.length = length + 1, .ends = false};
    level = std::move(next);
  }
  return {.length = most, .ends = false};
}

}  // namespace weft
