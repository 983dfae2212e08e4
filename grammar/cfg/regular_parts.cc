#include "grammar/cfg/regular_parts.h"

#include <algorithm>
#include <utility>

namespace weft {

// Tarjan's algorithm for strongly connected components ("Depth-first search and linear graph
// algorithms", 1972), with a stack of its own: rules may be a long chain.
void RegularParts::Find(int32_t start) {
  struct Frame {
    int32_t node;
    int32_t next_child;
  };
  constexpr int32_t kUnseen = -1;
  constexpr int32_t kDone = INT32_MAX;
  const size_t count = all_.nodes.size();
  parts_.resize(count);
  linear_.resize(count);
  std::vector<int32_t> order(count, kUnseen);  // in which nodes were met; kDone: component is known
  std::vector<int32_t> low(count);
  std::vector<int32_t> open;  // nodes whose component is not known
  std::vector<Frame> frames;
  int32_t met = 0;
  const auto enter = [&](int32_t node) {
    order[node] = low[node] = met++;
    open.push_back(node);
    frames.push_back({node, 0});
  };
  enter(start);
  while (!frames.empty()) {
    const int32_t node = frames.back().node;
    if (frames.back().next_child < all_.ChildCount(node)) {
      const int32_t child = all_.Child(node, frames.back().next_child++);
      if (order[child] == kUnseen) {
        enter(child);
      } else if (order[child] != kDone) {
        low[node] = std::min(low[node], order[child]);
      }
      continue;
    }
    frames.pop_back();
    if (!frames.empty()) {
      const int32_t parent = frames.back().node;
      low[parent] = std::min(low[parent], low[node]);
    }
    if (low[node] != order[node]) continue;
    const auto begin = std::ranges::find(open.rbegin(), open.rend(), node).base() - 1;
    std::sort(begin, open.end());
    FindInComponent(std::span(begin, open.end()));
    for (auto i = begin; i != open.end(); ++i) order[*i] = kDone;
    nodes_.insert(nodes_.end(), begin, open.end());
    open.erase(begin, open.end());
  }
  // By number: what an expression is made of was there before it.
  std::ranges::sort(nodes_);
}

void RegularParts::FindInComponent(std::span<const int32_t> component) {
  const int32_t node = component.front();
  const bool is_recursive =
      component.size() > 1 || (all_.ChildCount(node) == 1 && all_.Child(node, 0) == node);
  if (is_recursive) {
    const auto is_rule = [&](int32_t i) { return NodeOf(i).kind == Kind::kRule; };
    if (std::ranges::count_if(component, is_rule) != 1) return;
    const int32_t rule = *std::ranges::find_if(component, is_rule);
    parts_[rule] = SolveRule(component, rule, /*first=*/false);
    if (!parts_[rule]) parts_[rule] = SolveRule(component, rule, /*first=*/true);
    for (const int32_t i : component) linear_[i].reset();
    if (!parts_[rule]) return;
  }
  for (const int32_t i : component) {
    if (!parts_[i]) parts_[i] = Fuse(i);
  }
}

std::optional<RegularParts::Part> RegularParts::Fuse(int32_t node) {
  const GrammarNode& parent = NodeOf(node);
  if (parent.kind == Kind::kRegex) return Part{static_cast<RegexId>(parent.first), 1};
  if (parent.kind == Kind::kTerminal) return std::nullopt;
  Part whole = {RegexId::kEmpty, 1};
  std::vector<RegexId> regexes;
  for (int32_t i = 0; i < all_.ChildCount(node); ++i) {
    const std::optional<Part>& part = parts_[all_.Child(node, i)];
    if (!part) return std::nullopt;
    whole.cost += part->cost;
    if (whole.cost > max_cost()) return std::nullopt;
    regexes.push_back(part->regex);
  }
  RegexArena& arena = *all_.regexes;
  switch (parent.kind) {
    case Kind::kSequence:
      whole.regex = arena.Concat(regexes);
      break;
    case Kind::kChoice:
      whole.regex = arena.Or(regexes);
      break;
    case Kind::kRepeat:
      whole.regex =
          arena.Repeat(regexes.front(), parent.count,
                       parent.max == GrammarNode::kUnbounded ? std::nullopt
                                                             : std::optional<uint32_t>(parent.max));
      break;
    default:
      whole.regex = regexes.front();
  }
  return whole;
}

// Arden's rule: the least language with R = AR | B is A*B, the least with R = RA | B is BA*.
std::optional<RegularParts::Part> RegularParts::SolveRule(std::span<const int32_t> component,
                                                          int32_t rule, bool first) {
  for (const int32_t node : component) linear_[node].reset();
  RegexArena& arena = *all_.regexes;
  linear_[rule] = Linear{RegexId::kEmpty, RegexId::kNothing, 1};
  for (const int32_t node : component) {
    if (node == rule) continue;
    linear_[node] = LinearOf(node, first);
    if (!linear_[node] || linear_[node]->cost > max_cost()) return std::nullopt;
  }
  const Linear& body = *linear_[all_.Child(rule, 0)];
  const RegexId again = arena.Repeat(body.again, 0);
  return Part{first ? arena.Concat(body.end, again) : arena.Concat(again, body.end), body.cost + 1};
}

std::optional<RegularParts::Linear> RegularParts::LinearOf(int32_t node, bool first) {
  const GrammarNode& parent = NodeOf(node);
  RegexArena& arena = *all_.regexes;
  if (parent.kind == Kind::kSequence) return LinearSequence(node, first);
  if (parent.kind == Kind::kRepeat) {
    if (parent.max != 1) return std::nullopt;
    std::optional<Linear> body = linear_[parent.first];
    if (body && parent.count == 0) body->end = arena.Optional(body->end);
    return body;
  }
  Linear whole = {RegexId::kNothing, RegexId::kNothing, 1};
  std::vector<RegexId> again;
  std::vector<RegexId> end;
  for (int32_t i = 0; i < all_.ChildCount(node); ++i) {
    const int32_t child = all_.Child(node, i);
    if (linear_[child]) {
      again.push_back(linear_[child]->again);
      end.push_back(linear_[child]->end);
      whole.cost += linear_[child]->cost;
    } else if (parts_[child]) {
      end.push_back(parts_[child]->regex);
      whole.cost += parts_[child]->cost;
    } else {
      return std::nullopt;
    }
  }
  whole.again = arena.Or(again);
  whole.end = arena.Or(end);
  return whole;
}

std::optional<RegularParts::Linear> RegularParts::LinearSequence(int32_t node, bool first) {
  const int32_t count = all_.ChildCount(node);
  const int32_t recursive = all_.Child(node, first ? 0 : count - 1);
  std::vector<RegexId> others;
  Linear whole = {RegexId::kNothing, RegexId::kNothing, 1};
  for (int32_t i = first ? 1 : 0; i < (first ? count : count - 1); ++i) {
    const std::optional<Part>& part = parts_[all_.Child(node, i)];
    if (!part) return std::nullopt;
    others.push_back(part->regex);
    whole.cost += part->cost;
  }
  // Some part is recursive, and none of the others is.
  if (!linear_[recursive]) return std::nullopt;
  RegexArena& arena = *all_.regexes;
  const RegexId other = arena.Concat(others);
  const auto join = [&](RegexId part) {
    return first ? arena.Concat(part, other) : arena.Concat(other, part);
  };
  whole.again = join(linear_[recursive]->again);
  whole.end = join(linear_[recursive]->end);
  whole.cost += linear_[recursive]->cost;
  return whole;
}

}  // namespace weft
