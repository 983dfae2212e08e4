// RegexArena's assertions. In an expression they are symbols of their own. Resolving goes through
// those that may come first: what one demands of the rest of the text becomes an intersection, what
// it demands of the text before was followed along, as a derivative of its own.
#include <algorithm>
#include <set>
#include <utility>

#include "grammar/regex/regex.h"

namespace weft {

RegexId RegexArena::Assert(const Assertion& assertion) {
  const auto [known, is_new] =
      assertions_known_.try_emplace(assertion, static_cast<uint32_t>(assertions_.size()));
  if (is_new) {
    assertions_.push_back(assertion);
    table_.Charge(3 * sizeof(Assertion));
  }
  const Symbol symbol = kFirstAssertion + known->second;
  return table_.Set(SymbolSet({{symbol, symbol}}));
}

RegexId RegexArena::Ahead(RegexId rest, bool negated) {
  return Assert({.ahead = true, .negated = negated, .rest = rest});
}

RegexId RegexArena::Behind(uint32_t place) { return Assert({.place = place}); }

RegexId RegexArena::Demand(const Assertion& assertion, std::span<const RegexId> before) {
  if (!assertion.ahead) {
    return Nullable(before[assertion.place]) ? AnyText() : RegexId::kNothing;
  }
  const RegexId rest = Asserted(assertion.rest, before);
  return assertion.negated ? Not(rest) : rest;
}

RegexId RegexArena::Asserted(RegexId id, std::span<const RegexId> before) {
  if (!table_.node(id).asserts) return id;
  using Way = std::pair<RegexId, RegexId>;  // what is left, what it demands of the text
  std::vector<Way> open = {{id, AnyText()}};
  std::set<Way> seen(open.begin(), open.end());
  std::vector<RegexId> alternatives;
  while (!open.empty() && !table_.failed()) {
    const auto [rest, demand] = open.back();
    open.pop_back();
    RegexId resolved = rest;
    if (table_.node(rest).asserts) {
      std::vector<RegexId> operands = {rest};
      operands.insert(operands.end(), before.begin(), before.end());
      resolved = table_.Nary(RegexKind::kAsserted, operands);
    }
    alternatives.push_back(And(demand, resolved));
    if (resolved == rest) continue;
    for (const RegexEdge& edge : Derive(rest)) {
      if (edge.first < kFirstAssertion) continue;
      for (Symbol symbol = edge.first; symbol <= edge.last; ++symbol) {
        const Assertion assertion = assertions_[symbol - kFirstAssertion];
        const RegexId both = And(demand, Demand(assertion, before));
        if (both == RegexId::kNothing || !seen.insert({edge.next, both}).second) continue;
        open.push_back({edge.next, both});
        table_.Charge(8 * sizeof(Way));
      }
    }
  }
  return Or(alternatives);
}

std::vector<RegexEdge> RegexArena::DerivativeOfAsserted(RegexId id) {
  const std::span<const RegexId> found = table_.operands(id);
  const RegexId rest = found.front();
  const std::vector<RegexId> before(found.begin() + 1, found.end());
  std::vector<std::span<const RegexEdge>> edges_before;
  for (const RegexId it : before) edges_before.push_back(Derive(it));
  std::vector<RegexEdge> edges;
  std::vector<RegexId> next_before(before.size());
  for (const RegexEdge& edge : Derive(rest)) {
    if (edge.first >= kFirstAssertion) break;
    for (Symbol first = edge.first; first <= edge.last && !table_.failed();) {
      Symbol last = edge.last;  // of those that what came before does not tell apart
      for (size_t i = 0; i < before.size(); ++i) {
        const auto at = std::ranges::lower_bound(edges_before[i], first, {}, &RegexEdge::last);
        next_before[i] = RegexId::kNothing;
        if (at == edges_before[i].end()) continue;
        if (at->first <= first) {
          next_before[i] = at->next;
          last = std::min(last, at->last);
        } else {
          last = std::min(last, at->first - 1);
        }
      }
      const RegexId next = Asserted(edge.next, next_before);
      if (next != RegexId::kNothing) edges.push_back({first, last, next});
      first = last + 1;
    }
  }
  return edges;
}

}  // namespace weft
