#include "grammar/regex/symbol_set.h"

#include <algorithm>
#include <utility>

namespace weft {

SymbolSet::SymbolSet(std::vector<SymbolRange> ranges) {
  std::ranges::sort(ranges, {}, &SymbolRange::first);
  for (const SymbolRange& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

SymbolSet SymbolSet::AllCodePoints() { return SymbolSet().Complement(); }

bool SymbolSet::Contains(Symbol symbol) const {
  const auto behind = std::ranges::upper_bound(ranges_, symbol, {}, &SymbolRange::first);
  return behind != ranges_.begin() && std::prev(behind)->last >= symbol;
}

SymbolSet SymbolSet::Union(const SymbolSet& other) const {
  std::vector<SymbolRange> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return SymbolSet(std::move(all));
}

SymbolSet SymbolSet::Intersection(const SymbolSet& other) const {
  std::vector<SymbolRange> common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const SymbolRange both = {std::max(a->first, b->first), std::min(a->last, b->last)};
    if (both.first <= both.last) common.push_back(both);
    ++(a->last < b->last ? a : b);
  }
  return SymbolSet(std::move(common));
}

SymbolSet SymbolSet::Complement() const {
  constexpr SymbolRange kAll[] = {{0, 0xD7FF}, {0xE000, kLastCodePoint}};
  std::vector<SymbolRange> others;
  for (const SymbolRange& whole : kAll) {
    Symbol next = whole.first;
    for (const SymbolRange& range : ranges_) {
      if (range.last < next || range.first > whole.last) continue;
      if (range.first > next) others.push_back({next, range.first - 1});
      next = range.last + 1;
    }
    if (next <= whole.last) others.push_back({next, whole.last});
  }
  return SymbolSet(std::move(others));
}

}  // namespace weft
