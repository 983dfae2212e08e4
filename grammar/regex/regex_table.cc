#include "grammar/regex/regex_table.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr uint16_t kMaxRegexDepth = 1000;  // a derivative recurses over it

uint32_t AddLengths(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} + b, UINT32_MAX));
}

uint64_t MixHash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 32U;
}

uint64_t HashOfSet(const SymbolSet& set) {
  uint64_t hash = 0;
  for (const SymbolRange& range : set.ranges()) {
    hash = MixHash(hash, uint64_t{range.first} << 32U | range.last);
  }
  return hash;
}

AsciiSet AsciiOf(Symbol first, Symbol last) {
  AsciiSet set;
  for (Symbol symbol = first; symbol <= last && symbol < set.size(); ++symbol) set.set(symbol);
  return set;
}

}  // namespace

RegexTable::RegexTable(RegexLimits limits) : limits_(limits), slots_(64, -1) {
  Intern({.kind = RegexKind::kNothing, .min_length = UINT32_MAX}, {});
  Intern({.kind = RegexKind::kEmpty, .nullable = true}, {});
}

std::span<const RegexId> RegexTable::operands(RegexId id) const {
  return std::span(operands_).subspan(node(id).a, node(id).b);
}

const SymbolAutomaton::State& RegexTable::state(RegexId id) const {
  return automata_[node(id).a]->states[node(id).b];
}

RegexId RegexTable::Set(const SymbolSet& set) {
  const uint64_t hash = HashOfSet(set);
  const auto [begin, end] = sets_by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (sets_[at->second] == set) return Intern({.kind = RegexKind::kSet, .a = at->second}, {});
  }
  const auto index = static_cast<uint32_t>(sets_.size());
  sets_.push_back(set);
  sets_by_hash_.emplace(hash, index);
  Charge(sizeof(SymbolSet) + set.ranges().size() * sizeof(SymbolRange) + 64);
  return Intern({.kind = RegexKind::kSet, .a = index}, {});
}

RegexId RegexTable::Binary(RegexKind kind, RegexId a, RegexId b) {
  return Intern({.kind = kind, .a = static_cast<uint32_t>(a), .b = static_cast<uint32_t>(b)}, {});
}

RegexId RegexTable::Unary(RegexKind kind, RegexId a, uint32_t min, uint32_t max) {
  return Intern({.kind = kind, .a = static_cast<uint32_t>(a), .min = min, .max = max}, {});
}

RegexId RegexTable::Nary(RegexKind kind, std::span<const RegexId> operands) {
  return Intern({.kind = kind}, operands);
}

RegexId RegexTable::AutomatonState(uint32_t automaton, uint32_t state) {
  return Intern({.kind = RegexKind::kAutomaton, .a = automaton, .b = state}, {});
}

uint32_t RegexTable::AddAutomaton(std::shared_ptr<const SymbolAutomaton> automaton) {
  Charge(automaton->Bytes());
  AsciiSet possible;
  for (const SymbolAutomaton::State& state : automaton->states) {
    for (const SymbolAutomaton::Edge& edge : state.edges)
      possible |= AsciiOf(edge.first, edge.last);
  }
  automata_possible_.push_back(possible);
  automata_.push_back(std::move(automaton));
  return static_cast<uint32_t>(automata_.size() - 1);
}

void RegexTable::Charge(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limits_.bytes) Exceeded(fmt::format("{} bytes", limits_.bytes));
}

void RegexTable::CountSteps(size_t steps) {
  steps_ += steps;
  if (steps_ > limits_.steps) Exceeded(fmt::format("{} steps", limits_.steps));
}

Result<void> RegexTable::status() const {
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

RegexId RegexTable::Intern(RegexNode node, std::span<const RegexId> operands) {
  if (failed()) return RegexId::kNothing;
  const uint64_t hash = Hash(node, operands);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    if (Same(nodes_[static_cast<size_t>(slots_[slot])], node, operands)) {
      return static_cast<RegexId>(slots_[slot]);
    }
  }
  Describe(&node, operands);
  if (node.depth > kMaxRegexDepth) {
    Exceeded(fmt::format("{} levels of nesting", kMaxRegexDepth));
    return RegexId::kNothing;
  }
  if (nodes_.size() >= limits_.expressions) {
    Exceeded(fmt::format("{} states", limits_.expressions));
    return RegexId::kNothing;
  }
  if (!operands.empty()) {
    node.a = static_cast<uint32_t>(operands_.size());
    node.b = static_cast<uint32_t>(operands.size());
    operands_.insert(operands_.end(), operands.begin(), operands.end());
  }
  Charge(sizeof(RegexNode) + operands.size() * sizeof(RegexId) + 2 * sizeof(int32_t));
  const auto id = static_cast<int32_t>(nodes_.size());
  slots_[slot] = id;
  nodes_.push_back(node);
  if (nodes_.size() * 2 > slots_.size()) Grow();
  return static_cast<RegexId>(id);
}

// What the node's kind and operands say about it.
void RegexTable::Describe(RegexNode* described, std::span<const RegexId> operands) const {
  RegexNode& it = *described;
  const auto is_or = it.kind == RegexKind::kOr;
  switch (it.kind) {
    case RegexKind::kNothing:
    case RegexKind::kEmpty:
      it.finite = true;
      return;
    case RegexKind::kSet:
      it.finite = true;
      it.asserts = sets_[it.a].ranges().back().last >= kFirstAssertion;
      it.specials =
          !sets_[it.a].Intersection(SymbolSet({{kFirstSpecialSymbol, kLastSymbol}})).empty();
      it.min_length = it.asserts ? 0 : 1;
      for (const SymbolRange& range : sets_[it.a].ranges())
        it.possible |= AsciiOf(range.first, range.last);
      if (sets_[it.a].ranges().size() == 1 &&
          sets_[it.a].ranges().front().first == sets_[it.a].ranges().front().last) {
        it.needed = it.possible;
      }
      return;
    case RegexKind::kConcat: {
      const RegexNode& a = nodes_[it.a];
      const RegexNode& b = nodes_[it.b];
      it.nullable = a.nullable && b.nullable;
      it.positive = a.positive && b.positive;
      it.finite = a.finite && b.finite;
      it.specials = a.specials || b.specials;
      it.asserts = a.asserts || b.asserts;
      it.depth = std::max<uint16_t>(a.depth + 1, b.depth);
      it.min_length = AddLengths(a.min_length, b.min_length);
      it.possible = a.possible | b.possible;
      it.needed = a.needed | b.needed;
      return;
    }
    case RegexKind::kOr:
    case RegexKind::kAnd:
      it.nullable = !is_or;
      it.positive = is_or;
      it.finite = is_or;
      it.specials = !is_or;
      it.min_length = is_or ? UINT32_MAX : 0;
      (is_or ? it.needed : it.possible).set();
      for (const RegexId id : operands) {
        const RegexNode& part = node(id);
        it.nullable = is_or ? it.nullable || part.nullable : it.nullable && part.nullable;
        it.positive = it.positive && part.positive;
        it.finite = is_or ? it.finite && part.finite : it.finite || part.finite;
        it.specials = is_or ? it.specials || part.specials : it.specials && part.specials;
        it.asserts = it.asserts || part.asserts;
        it.min_length = is_or ? std::min(it.min_length, part.min_length)
                              : std::max(it.min_length, part.min_length);
        it.depth = std::max<uint16_t>(it.depth, part.depth + 1);
        it.possible = is_or ? it.possible | part.possible : it.possible & part.possible;
        it.needed = is_or ? it.needed & part.needed : it.needed | part.needed;
      }
      return;
    case RegexKind::kNot:
      it.nullable = !nodes_[it.a].nullable;
      it.positive = false;
      it.min_length = it.nullable ? 0 : 1;
      it.depth = nodes_[it.a].depth + 1;
      it.possible.set();
      return;
    case RegexKind::kRepeat: {
      const RegexNode& a = nodes_[it.a];
      it.nullable = it.min == 0 || a.nullable;
      it.positive = a.positive;
      it.finite = a.finite && it.max != RegexNode::kUnbounded;
      it.specials = a.specials;
      it.asserts = a.asserts;
      it.depth = a.depth + 1;
      it.min_length =
          static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a.min_length} * it.min, UINT32_MAX));
      it.possible = a.possible;
      if (it.min > 0) it.needed = a.needed;
      return;
    }
    case RegexKind::kAutomaton: {
      const SymbolAutomaton::State& state = automata_[it.a]->states[it.b];
      it.nullable = state.accepts;
      it.finite = automata_[it.a]->acyclic;
      it.min_length = state.distance;
      it.possible = automata_possible_[it.a];
      return;
    }
    case RegexKind::kAsserted:
      it.nullable = node(operands.front()).nullable;
      it.positive = false;
      it.specials = node(operands.front()).specials;
      it.min_length = node(operands.front()).min_length;
      it.possible.set();
      for (const RegexId id : operands) it.depth = std::max<uint16_t>(it.depth, node(id).depth + 1);
      return;
  }
}

uint64_t RegexTable::Hash(const RegexNode& node, std::span<const RegexId> operands) const {
  uint64_t hash = MixHash(static_cast<uint64_t>(node.kind), uint64_t{node.min} << 32U | node.max);
  if (operands.empty()) return MixHash(hash, uint64_t{node.a} << 32U | node.b);
  for (const RegexId id : operands) hash = MixHash(hash, static_cast<uint64_t>(id));
  return hash;
}

bool RegexTable::Same(const RegexNode& a, const RegexNode& b,
                      std::span<const RegexId> operands) const {
  if (a.kind != b.kind || a.min != b.min || a.max != b.max) return false;
  if (operands.empty()) return a.a == b.a && a.b == b.b;
  return std::ranges::equal(std::span(operands_).subspan(a.a, a.b), operands);
}

void RegexTable::Grow() {
  std::vector<int32_t> wider(slots_.size() * 2, -1);
  const size_t mask = wider.size() - 1;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const RegexNode& node = nodes_[i];
    size_t slot = Hash(node, node.nary() ? std::span(operands_).subspan(node.a, node.b)
                                         : std::span<const RegexId>()) &
                  mask;
    while (wider[slot] >= 0) slot = (slot + 1) & mask;
    wider[slot] = static_cast<int32_t>(i);
  }
  slots_ = std::move(wider);
}

void RegexTable::Exceeded(std::string what) {
  if (failure_) return;
  failure_ = Error{ErrorCode::kResourceExhausted, fmt::format("regex: needs more than {}", what)};
}

}  // namespace weft
