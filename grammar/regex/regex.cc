// RegexArena's expressions: what is simplified when one is made.
#include "grammar/regex/regex.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace weft {

RegexId RegexArena::Set(const SymbolSet& set) {
  const SymbolSet surrogates({{0xD800, 0xDFFF}});
  if (!set.Intersection(surrogates).empty()) {
    // What no bytes spell is left out: each edge must be one that a text can take.
    return Or(Set(set.Intersection(SymbolSet::AllCodePoints())),
              Set(set.Intersection(SymbolSet({{kFirstSpecialSymbol, kLastSymbol}}))));
  }
  return set.empty() ? RegexId::kNothing : table_.Set(set);
}

RegexId RegexArena::Literal(std::string_view utf8) {
  std::vector<RegexId> symbols;
  for (size_t at = 0; at < utf8.size();) {
    const Utf8Character character = DecodeUtf8(utf8, at);
    WEFT_CHECK(character.status == Utf8Status::kValid);
    symbols.push_back(Set(SymbolSet({{character.code_point, character.code_point}})));
    at += character.size_bytes;
  }
  return Concat(symbols);
}

RegexId RegexArena::Words(std::span<const std::string> words) {
  if (words.empty()) return RegexId::kNothing;
  if (words.size() == 1) return Literal(words.front());
  constexpr size_t kStateBytes = 128;  // while it is made
  const size_t max_states = table_.max_bytes() / kStateBytes;
  std::optional<SymbolAutomaton> automaton = WordsAutomaton(words, max_states);
  if (automaton) return Automaton(*std::move(automaton));
  table_.Charge(table_.max_bytes());
  return RegexId::kNothing;
}

RegexId RegexArena::AnyText() {
  if (table_.failed()) return RegexId::kNothing;
  if (any_text_ == RegexId::kNothing) any_text_ = Repeat(Set(SymbolSet::AllCodePoints()), 0);
  return any_text_;
}

RegexId RegexArena::Automaton(SymbolAutomaton automaton) {
  automaton.SetDistances();
  const uint32_t start = automaton.start;
  if (automaton.states[start].distance == SymbolAutomaton::kUnreachable) return RegexId::kNothing;
  const uint32_t added =
      table_.AddAutomaton(std::make_shared<const SymbolAutomaton>(std::move(automaton)));
  return table_.AutomatonState(added, start);
}

RegexId RegexArena::Concat(RegexId first, RegexId second) {
  if (first == RegexId::kNothing || second == RegexId::kNothing) return RegexId::kNothing;
  if (second == RegexId::kEmpty) return first;
  std::vector<RegexId> heads;
  while (table_.node(first).kind == RegexKind::kConcat) {
    heads.push_back(table_.a(first));
    first = table_.b(first);
  }
  RegexId whole = Prepend(first, second);
  for (size_t i = heads.size(); i-- > 0;) whole = Prepend(heads[i], whole);
  return whole;
}

RegexId RegexArena::Concat(std::span<const RegexId> parts) {
  RegexId whole = RegexId::kEmpty;
  for (size_t i = parts.size(); i-- > 0;) whole = Concat(parts[i], whole);
  return whole;
}

// `head` is no concatenation. Neighbours that repeat the same become one.
RegexId RegexArena::Prepend(RegexId head, RegexId tail) {
  if (head == RegexId::kEmpty) return tail;
  if (tail == RegexId::kEmpty) return head;
  if (head == RegexId::kNothing || tail == RegexId::kNothing) return RegexId::kNothing;
  const auto repeated = [&](RegexId id) -> std::tuple<RegexId, uint32_t, uint32_t> {
    const RegexNode& node = table_.node(id);
    if (node.kind == RegexKind::kRepeat) return {table_.a(id), node.min, node.max};
    return {id, 1, 1};
  };
  const bool chain = table_.node(tail).kind == RegexKind::kConcat;
  const auto [base, min, max] = repeated(head);
  const auto [next_base, next_min, next_max] = repeated(chain ? table_.a(tail) : tail);
  if (base != next_base || min > UINT32_MAX - next_min) {
    return table_.Binary(RegexKind::kConcat, head, tail);
  }
  std::optional<uint32_t> both;
  if (max != RegexNode::kUnbounded && next_max != RegexNode::kUnbounded) {
    if (max >= RegexNode::kUnbounded - next_max) {
      return table_.Binary(RegexKind::kConcat, head, tail);
    }
    both = max + next_max;
  }
  const RegexId merged = Repeat(base, min + next_min, both);
  return chain ? table_.Binary(RegexKind::kConcat, merged, table_.b(tail)) : merged;
}

RegexId RegexArena::Repeat(RegexId id, uint32_t min, std::optional<uint32_t> max) {
  uint32_t most = max.value_or(RegexNode::kUnbounded);
  if (min > most) return RegexId::kNothing;
  if (most == 0 || id == RegexId::kEmpty) return RegexId::kEmpty;
  if (id == RegexId::kNothing) return min == 0 ? RegexId::kEmpty : RegexId::kNothing;
  const RegexNode node = table_.node(id);
  if (node.nullable) min = 0;
  if (min == 1 && most == 1) return id;
  if (node.kind == RegexKind::kRepeat && node.min <= 1) {
    // (R*){m,n}, (R+)*, (R?)* and the like.
    if (node.max == RegexNode::kUnbounded) return Repeat(table_.a(id), node.min * min);
    if (most == RegexNode::kUnbounded) return Repeat(table_.a(id), node.min * min);
  }
  if (most == 1 && node.nullable) return id;
  return table_.Unary(RegexKind::kRepeat, id, min, most);
}

RegexId RegexArena::Not(RegexId id) {
  if (table_.failed()) return RegexId::kNothing;
  if (id == RegexId::kNothing) return AnyText();
  if (id == AnyText()) return RegexId::kNothing;
  if (table_.node(id).kind == RegexKind::kNot) return And(table_.a(id), AnyText());
  return table_.Unary(RegexKind::kNot, id, 0, 0);
}

RegexId RegexArena::Or(RegexId a, RegexId b) { return Or(std::array{a, b}); }
RegexId RegexArena::And(RegexId a, RegexId b) { return And(std::array{a, b}); }

std::vector<RegexId> RegexArena::Flatten(std::span<const RegexId> parts, RegexKind kind) const {
  std::vector<RegexId> flat;
  for (const RegexId id : parts) {
    if (table_.node(id).kind == kind) {
      const std::span<const RegexId> inner = table_.operands(id);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(id);
    }
  }
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  return flat;
}

RegexId RegexArena::Or(std::span<const RegexId> parts) {
  const RegexId any = AnyText();
  std::vector<RegexId> flat = Flatten(parts, RegexKind::kOr);
  std::erase(flat, RegexId::kNothing);
  bool is_any = std::ranges::binary_search(flat, any);
  bool nullable = false;  // by another one than the empty text
  for (const RegexId id : flat) {
    const RegexNode& node = table_.node(id);
    nullable = nullable || (node.nullable && id != RegexId::kEmpty);
    is_any =
        is_any || (node.kind == RegexKind::kNot && std::ranges::binary_search(flat, table_.a(id)));
  }
  if (is_any) {
    std::erase_if(flat, [&](RegexId id) { return table_.node(id).text_only(); });
    flat.push_back(any);
  } else if (nullable) {
    std::erase(flat, RegexId::kEmpty);
  }
  if (flat.size() > 1) {
    UniteSets(&flat);
    UniteRepeats(&flat);
    std::ranges::sort(flat);
  }
  if (flat.empty()) return RegexId::kNothing;
  return flat.size() == 1 ? flat.front() : table_.Nary(RegexKind::kOr, flat);
}

RegexId RegexArena::And(std::span<const RegexId> parts) {
  const RegexId any = AnyText();
  std::vector<RegexId> flat = Flatten(parts, RegexKind::kAnd);
  if (flat.empty()) return any;
  if (flat.front() == RegexId::kNothing) return RegexId::kNothing;
  const bool restricted = std::ranges::any_of(
      flat, [&](RegexId id) { return id != any && table_.node(id).text_only(); });
  if (restricted) std::erase(flat, any);
  if (flat.size() > 1) {
    for (const RegexId id : flat) {
      if (table_.node(id).kind != RegexKind::kNot) continue;
      if (std::ranges::binary_search(flat, table_.a(id))) return RegexId::kNothing;
    }
    IntersectSets(&flat);
    IntersectRepeats(&flat);
    std::ranges::sort(flat);
    if (flat.front() == RegexId::kNothing) return RegexId::kNothing;
    if (flat.front() == RegexId::kEmpty) {
      const bool all = std::ranges::all_of(flat, [&](RegexId id) { return Nullable(id); });
      return all ? RegexId::kEmpty : RegexId::kNothing;
    }
    // One needs a character that another does not have: no search has to find that out.
    AsciiSet possible = AsciiSet().set();
    AsciiSet needed;
    for (const RegexId id : flat) {
      possible &= table_.node(id).possible;
      needed |= table_.node(id).needed;
    }
    if ((needed & ~possible).any()) return RegexId::kNothing;
  }
  return flat.size() == 1 ? flat.front() : table_.Nary(RegexKind::kAnd, flat);
}

void RegexArena::UniteSets(std::vector<RegexId>* parts) {
  std::vector<SymbolRange> ranges;
  size_t sets = 0;
  for (const RegexId id : *parts) {
    if (table_.node(id).kind != RegexKind::kSet) continue;
    const std::span<const SymbolRange> more = table_.set(id).ranges();
    ranges.insert(ranges.end(), more.begin(), more.end());
    ++sets;
  }
  if (sets < 2) return;
  std::erase_if(*parts, [&](RegexId id) { return table_.node(id).kind == RegexKind::kSet; });
  parts->push_back(Set(SymbolSet(std::move(ranges))));
}

void RegexArena::IntersectSets(std::vector<RegexId>* parts) {
  std::optional<SymbolSet> common;
  size_t sets = 0;
  for (const RegexId id : *parts) {
    if (table_.node(id).kind != RegexKind::kSet) continue;
    common = common ? common->Intersection(table_.set(id)) : table_.set(id);
    ++sets;
  }
  if (sets < 2) return;
  std::erase_if(*parts, [&](RegexId id) { return table_.node(id).kind == RegexKind::kSet; });
  parts->push_back(Set(*common));
}

// R{a,b}T and R{c,d}T are R{a,d}T where the counts meet.
void RegexArena::UniteRepeats(std::vector<RegexId>* parts) {
  struct Repeated {
    RegexId base, tail;
    uint32_t min, max;
    RegexId whole;
  };
  std::vector<Repeated> repeats;
  for (const RegexId id : *parts) {
    const bool chain = table_.node(id).kind == RegexKind::kConcat;
    const RegexId head = chain ? table_.a(id) : id;
    const RegexNode& node = table_.node(head);
    if (node.kind != RegexKind::kRepeat) continue;
    repeats.push_back(
        {table_.a(head), chain ? table_.b(id) : RegexId::kEmpty, node.min, node.max, id});
  }
  if (repeats.size() < 2) return;
  std::ranges::sort(
      repeats, {}, [](const Repeated& it) { return std::tuple(it.base, it.tail, it.min, it.max); });
  for (size_t i = 0; i < repeats.size();) {
    Repeated united = repeats[i];
    size_t next = i + 1;
    for (; next < repeats.size(); ++next) {
      const Repeated& more = repeats[next];
      if (more.base != united.base || more.tail != united.tail) break;
      if (united.max != RegexNode::kUnbounded && more.min > united.max + 1) break;
      united.max = std::max(united.max, more.max);
    }
    if (next > i + 1) {
      for (size_t k = i; k < next; ++k) std::erase(*parts, repeats[k].whole);
      const RegexId repeat =
          Repeat(united.base, united.min,
                 united.max == RegexNode::kUnbounded ? std::nullopt : std::optional(united.max));
      parts->push_back(Concat(repeat, united.tail));
    }
    i = next;
  }
}

// Of sets of symbols, S{a,b} and S{c,d} have in common what both counts allow.
void RegexArena::IntersectRepeats(std::vector<RegexId>* parts) {
  const auto counts_symbols = [&](RegexId id) {
    return table_.node(id).kind == RegexKind::kRepeat &&
           table_.node(table_.a(id)).kind == RegexKind::kSet;
  };
  std::vector<RegexId> repeats;
  std::ranges::copy_if(*parts, std::back_inserter(repeats), counts_symbols);
  if (repeats.size() < 2) return;
  std::erase_if(*parts, counts_symbols);
  std::ranges::sort(repeats, {}, [&](RegexId id) { return table_.a(id); });
  for (size_t i = 0; i < repeats.size();) {
    const RegexId base = table_.a(repeats[i]);
    uint32_t min = 0;
    uint32_t max = RegexNode::kUnbounded;
    for (; i < repeats.size() && table_.a(repeats[i]) == base; ++i) {
      min = std::max(min, table_.node(repeats[i]).min);
      max = std::min(max, table_.node(repeats[i]).max);
    }
    parts->push_back(
        Repeat(base, min, max == RegexNode::kUnbounded ? std::nullopt : std::optional(max)));
  }
}

}  // namespace weft
