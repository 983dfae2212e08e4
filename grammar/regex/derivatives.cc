// RegexArena's derivatives, and what they are searched for.
#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "grammar/regex/regex.h"

namespace weft {
namespace {

// Appends an edge, or makes the last one longer.
void AddEdge(const RegexEdge& edge, std::vector<RegexEdge>* edges) {
  if (edge.next == RegexId::kNothing) return;
  if (!edges->empty() && edges->back().next == edge.next && edges->back().last + 1 == edge.first) {
    edges->back().last = edge.last;
  } else {
    edges->push_back(edge);
  }
}

// The readable one among symbols that do as well.
Symbol ReadableSymbol(const RegexEdge& edge) {
  return edge.first < '0' && edge.last >= '0' ? '0' : edge.first;
}

uint64_t AddUpTo(uint64_t limit, uint64_t a, uint64_t b) {
  return a >= limit || b >= limit - a ? limit : a + b;
}

uint64_t MultiplyUpTo(uint64_t limit, uint64_t a, uint64_t b) {
  return b != 0 && a >= (limit + b - 1) / b ? limit : a * b;
}

}  // namespace

RegexArena::Facts& RegexArena::FactsOf(RegexId id) {
  if (facts_.size() < table_.size()) facts_.resize(table_.size());
  return facts_[static_cast<size_t>(id)];
}

std::span<const RegexEdge> RegexArena::Derive(RegexId id) {
  if (table_.failed()) return {};
  if (!FactsOf(id).derived) {
    std::vector<RegexEdge> edges = Derivative(id);
    if (table_.failed()) return {};
    edges.shrink_to_fit();
    table_.Charge(sizeof(Facts) + edges.size() * sizeof(RegexEdge));
    Facts& facts = FactsOf(id);
    facts.edges = std::move(edges);
    facts.derived = true;
  }
  return FactsOf(id).edges;
}

std::vector<RegexEdge> RegexArena::Derivative(RegexId id) {
  std::vector<RegexEdge> edges;
  const RegexNode node = table_.node(id);
  switch (node.kind) {
    case RegexKind::kNothing:
    case RegexKind::kEmpty:
      break;
    case RegexKind::kSet:
      for (const SymbolRange& range : table_.set(id).ranges()) {
        edges.push_back({range.first, range.last, RegexId::kEmpty});
      }
      break;
    case RegexKind::kConcat:
      return DerivativeOfConcat(id);
    case RegexKind::kOr:
    case RegexKind::kAnd: {
      const std::span<const RegexId> found = table_.operands(id);
      const std::vector<RegexId> parts(found.begin(), found.end());
      Operands operands;
      for (const RegexId part : parts) operands.push_back(Derive(part));
      return Combine(operands, node.kind == RegexKind::kAnd);
    }
    case RegexKind::kNot:
      return DerivativeOfNot(id);
    case RegexKind::kAsserted:
      return DerivativeOfAsserted(id);
    case RegexKind::kRepeat: {
      const bool unbounded = node.max == RegexNode::kUnbounded;
      const RegexId rest = Repeat(table_.a(id), node.min == 0 ? 0 : node.min - 1,
                                  unbounded ? std::nullopt : std::optional<uint32_t>(node.max - 1));
      for (const RegexEdge& edge : Derive(table_.a(id))) {
        AddEdge({edge.first, edge.last, Concat(edge.next, rest)}, &edges);
      }
      break;
    }
    case RegexKind::kAutomaton:
      for (const SymbolAutomaton::Edge& edge : table_.state(id).edges) {
        AddEdge({edge.first, edge.last, table_.AutomatonState(node.a, edge.next)}, &edges);
      }
      break;
  }
  return edges;
}

// A loop over the parts, not a recursion: there may be many that can be empty.
std::vector<RegexEdge> RegexArena::DerivativeOfConcat(RegexId id) {
  std::vector<std::vector<RegexEdge>> parts;
  for (bool goes_on = true; goes_on && !table_.failed();) {
    const bool chain = table_.node(id).kind == RegexKind::kConcat;
    const RegexId head = chain ? table_.a(id) : id;
    const RegexId tail = chain ? table_.b(id) : RegexId::kEmpty;
    parts.emplace_back();
    for (const RegexEdge& edge : Derive(head)) {
      AddEdge({edge.first, edge.last, Concat(edge.next, tail)}, &parts.back());
    }
    goes_on = chain && Nullable(head);
    id = tail;
  }
  if (parts.size() == 1) return std::move(parts.front());
  return Combine(Operands(parts.begin(), parts.end()), false);
}

std::vector<RegexEdge> RegexArena::DerivativeOfNot(RegexId id) {
  std::vector<RegexEdge> edges;
  const std::span<const RegexEdge> inner = Derive(table_.a(id));
  const RegexId any = AnyText();
  constexpr SymbolRange kTexts[] = {{0, 0xD7FF}, {0xE000, kLastCodePoint}};
  for (const SymbolRange& whole : kTexts) {
    Symbol next = whole.first;
    for (const RegexEdge& edge : inner) {
      if (edge.last < next || edge.first > whole.last) continue;
      if (edge.first > next) AddEdge({next, edge.first - 1, any}, &edges);
      const Symbol first = std::max(edge.first, next);
      const Symbol last = std::min(edge.last, whole.last);
      AddEdge({first, last, Not(edge.next)}, &edges);
      next = last + 1;
    }
    if (next <= whole.last) AddEdge({next, whole.last, any}, &edges);
  }
  return edges;
}

// Goes through the symbols once, with those edges at hand that the current one is on. Of classes
// with hundreds of ranges few combinations come again and again: each is made once.
std::vector<RegexEdge> RegexArena::Combine(const Operands& operands, bool all) {
  struct Change {
    Symbol at;
    bool begins;
    size_t operand;
    const RegexEdge* edge;
  };
  const auto is_later = [](const Change& a, const Change& b) { return a.at > b.at; };
  std::priority_queue<Change, std::vector<Change>, decltype(is_later)> changes(is_later);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].empty()) continue;
    changes.push({operands[i].front().first, true, i, operands[i].data()});
  }
  std::vector<RegexEdge> combined;
  std::vector<RegexId> active;  // ascending
  std::map<std::vector<RegexId>, RegexId> known;
  while (!changes.empty() && !table_.failed()) {
    const Symbol at = changes.top().at;
    while (!changes.empty() && changes.top().at == at) {
      const auto [from, begins, operand, edge] = changes.top();
      changes.pop();
      table_.CountSteps(1);
      const auto place = std::ranges::lower_bound(active, edge->next);
      if (begins) {
        active.insert(place, edge->next);
        changes.push({edge->last + 1, false, operand, edge});
        continue;
      }
      active.erase(place);
      const std::span<const RegexEdge> edges = operands[operand];
      if (edge + 1 == edges.data() + edges.size()) continue;
      changes.push({edge[1].first, true, operand, edge + 1});
    }
    if (active.empty() || (all && active.size() < operands.size())) continue;
    const auto [same, is_new] = known.try_emplace(active, RegexId::kNothing);
    if (is_new) {
      table_.CountSteps(active.size());
      same->second = all ? And(active) : Or(active);
    }
    AddEdge({at, changes.top().at - 1, same->second}, &combined);
  }
  return combined;
}

std::span<const RegexEdge> RegexArena::Edges(RegexId id) {
  Derive(id);
  if (table_.failed()) return {};
  if (!FactsOf(id).pruned) {
    std::vector<RegexEdge> live;
    for (const RegexEdge& edge : std::vector<RegexEdge>(FactsOf(id).edges)) {
      if (!IsEmpty(edge.next)) live.push_back(edge);
    }
    if (table_.failed()) return {};
    Facts& facts = FactsOf(id);
    facts.edges = std::move(live);
    facts.pruned = true;
  }
  return FactsOf(id).edges;
}

bool RegexArena::KnownLive(RegexId id) {
  const RegexNode& node = table_.node(id);
  return node.nullable || (node.positive && id != RegexId::kNothing) ||
         FactsOf(id).life == Life::kLive;
}

// The nearest text first, as far as lengths can tell; a way that is found makes all on it live, a
// search that ends without one makes all that it came by empty.
bool RegexArena::IsEmpty(RegexId id) {
  if (table_.failed() || id == RegexId::kNothing || FactsOf(id).life == Life::kEmpty) return true;
  if (KnownLive(id)) return false;
  using Open = std::pair<uint32_t, size_t>;  // length, place in `seen`
  struct Seen {
    RegexId id;
    size_t from;
  };
  std::vector<Seen> seen = {{id, 0}};
  std::unordered_map<RegexId, size_t> places = {{id, 0}};
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  open.push({MinLength(id), 0});
  while (!open.empty()) {
    const size_t place = open.top().second;
    open.pop();
    for (const RegexEdge& edge : Derive(seen[place].id)) {
      if (FactsOf(edge.next).life == Life::kEmpty) continue;
      if (KnownLive(edge.next)) {
        for (size_t back = place;; back = seen[back].from) {
          FactsOf(seen[back].id).life = Life::kLive;
          if (back == 0) return false;
        }
      }
      if (!places.try_emplace(edge.next, seen.size()).second) continue;
      open.push({MinLength(edge.next), seen.size()});
      seen.push_back({edge.next, place});
    }
    if (table_.failed()) return true;
  }
  for (const Seen& it : seen) FactsOf(it.id).life = Life::kEmpty;
  return true;
}

// A* with the lengths that are known without a search; of ways that promise the same, the longer
// first, which has less left to go.
std::optional<std::vector<Symbol>> RegexArena::ShortestWord(RegexId id) {
  if (IsEmpty(id)) return std::nullopt;
  struct Way {
    uint32_t length = UINT32_MAX;
    RegexId from = RegexId::kNothing;
    Symbol by = 0;
  };
  using Open =
      std::tuple<uint64_t, uint32_t, RegexId>;  // lower bound of the whole, its rest, where
  std::unordered_map<RegexId, Way> ways = {{id, {.length = 0}}};
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  open.push({MinLength(id), MinLength(id), id});
  while (!open.empty()) {
    const auto [bound, rest, at] = open.top();
    open.pop();
    const uint32_t length = ways[at].length;
    if (length + uint64_t{rest} < bound) continue;  // there is a shorter way here by now
    if (Nullable(at)) {
      std::vector<Symbol> word;
      for (RegexId back = at; back != id; back = ways[back].from) word.push_back(ways[back].by);
      std::ranges::reverse(word);
      return word;
    }
    for (const RegexEdge& edge : Edges(at)) {
      Way& way = ways[edge.next];
      if (length + 1 >= way.length) continue;
      way = {length + 1, at, ReadableSymbol(edge)};
      const uint32_t next_rest = MinLength(edge.next);
      open.push({uint64_t{length} + 1 + next_rest, next_rest, edge.next});
    }
  }
  return std::nullopt;  // a limit was reached
}

uint64_t RegexArena::CountWords(RegexId id, uint64_t limit) {
  if (IsEmpty(id)) return 0;
  struct Frame {
    RegexId id;
    size_t next_edge = 0;
    uint64_t words = 0;
  };
  // Absent: not seen yet; nullopt: on the way here, so that coming by again is a cycle.
  std::unordered_map<RegexId, std::optional<uint64_t>> counts = {{id, std::nullopt}};
  std::vector<Frame> path = {{.id = id, .words = Nullable(id) ? 1U : 0U}};
  while (true) {
    Frame& frame = path.back();
    const std::span<const RegexEdge> edges = Edges(frame.id);
    if (table_.failed()) return 0;
    if (frame.next_edge == edges.size()) {
      counts[frame.id] = frame.words;
      const uint64_t words = frame.words;
      path.pop_back();
      if (path.empty()) return std::min(words, limit);
      continue;
    }
    const RegexEdge& edge = edges[frame.next_edge];
    const auto [known, is_new] = counts.try_emplace(edge.next, std::nullopt);
    if (is_new) {
      path.push_back({.id = edge.next, .words = Nullable(edge.next) ? 1U : 0U});
      continue;
    }
    if (!known->second) return limit;
    frame.words = AddUpTo(limit, frame.words,
                          MultiplyUpTo(limit, *known->second, edge.last - edge.first + 1));
    if (frame.words >= limit) return limit;  // every state here is on a way to a text
    ++frame.next_edge;
  }
}

}  // namespace weft
