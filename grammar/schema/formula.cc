#include "grammar/schema/formula.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace weft {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

}  // namespace

FormulaStore::FormulaStore(const FormulaLimits& limits)
    : limits_(limits), nodes_{{FormulaKind::kFalse}, {FormulaKind::kTrue}} {}

Result<void> FormulaStore::status() const {
  if (steps_ <= limits_.steps && !is_full()) return {};
  return Fail(ErrorCode::kResourceExhausted,
              "schema: to know what may come takes more than {} steps, or formulas of more than {} "
              "parts",
              limits_.steps, limits_.parts);
}

bool FormulaStore::Count(size_t steps) {
  steps_ += static_cast<int64_t>(steps);
  return steps_ <= limits_.steps && !is_full();
}

FormulaId FormulaStore::Intern(FormulaKind kind, std::span<const FormulaId> parts) {
  uint64_t hash = static_cast<uint64_t>(kind);
  for (const FormulaId part : parts) hash = Mix(hash, static_cast<uint64_t>(part));
  const auto [begin, end] = index_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    const auto known = static_cast<FormulaId>(found->second);
    if (this->kind(known) == kind && std::ranges::equal(this->parts(known), parts)) return known;
  }
  const auto id = static_cast<int32_t>(nodes_.size());
  nodes_.push_back({kind, static_cast<int32_t>(parts_.size()), static_cast<int32_t>(parts.size())});
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  index_.emplace(hash, id);
  return static_cast<FormulaId>(id);
}

FormulaId FormulaStore::Of(const Atom& atom) {
  uint64_t hash = Mix(static_cast<uint64_t>(FormulaKind::kAtom), static_cast<uint64_t>(atom.kind));
  hash = Mix(Mix(hash, static_cast<uint64_t>(atom.subject)), static_cast<uint64_t>(atom.count));
  const auto [begin, end] = index_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    const auto known = static_cast<FormulaId>(found->second);
    if (kind(known) == FormulaKind::kAtom && this->atom(known) == atom) return known;
  }
  const auto id = static_cast<int32_t>(nodes_.size());
  nodes_.push_back({FormulaKind::kAtom, static_cast<int32_t>(atoms_.size()), 0});
  atoms_.push_back(atom);
  index_.emplace(hash, id);
  return static_cast<FormulaId>(id);
}

FormulaId FormulaStore::Not(FormulaId f) {
  if (f == FormulaId::kTrue) return FormulaId::kFalse;
  if (f == FormulaId::kFalse) return FormulaId::kTrue;
  if (kind(f) == FormulaKind::kNot) return parts(f)[0];
  return Intern(FormulaKind::kNot, std::span(&f, 1));
}

std::vector<FormulaId> FormulaStore::Simplify(std::span<const FormulaId> parts, FormulaKind kind,
                                              FormulaId absorbing) {
  const FormulaId neutral = absorbing == FormulaId::kFalse ? FormulaId::kTrue : FormulaId::kFalse;
  std::vector<FormulaId> flat;
  for (const FormulaId part : parts) {
    if (part == absorbing) return {absorbing};
    if (part == neutral) continue;
    if (this->kind(part) == kind) {
      const std::span<const FormulaId> inner = this->parts(part);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(part);
    }
  }
  if (!Count(flat.size() + 1)) return {FormulaId::kFalse};
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (const FormulaId part : flat) {
    if (this->kind(part) == FormulaKind::kNot &&
        std::ranges::binary_search(flat, this->parts(part)[0])) {
      return {absorbing};
    }
  }
  return flat;
}

FormulaId FormulaStore::And(std::span<const FormulaId> parts) {
  const std::vector<FormulaId> left = Simplify(parts, FormulaKind::kAnd, FormulaId::kFalse);
  if (left.empty()) return FormulaId::kTrue;
  return left.size() == 1 ? left[0] : Intern(FormulaKind::kAnd, left);
}

FormulaId FormulaStore::And(FormulaId a, FormulaId b) { return And(std::vector<FormulaId>{a, b}); }

FormulaId FormulaStore::Or(std::span<const FormulaId> parts) {
  const std::vector<FormulaId> left = Simplify(parts, FormulaKind::kOr, FormulaId::kTrue);
  if (left.empty()) return FormulaId::kFalse;
  return left.size() == 1 ? left[0] : Intern(FormulaKind::kOr, left);
}

FormulaId FormulaStore::Or(FormulaId a, FormulaId b) { return Or(std::vector<FormulaId>{a, b}); }

// A formula that stands there twice counts twice.
FormulaId FormulaStore::ExactlyOne(std::span<const FormulaId> parts) {
  std::vector<FormulaId> left;
  std::vector<FormulaId> others;
  int true_count = 0;
  for (const FormulaId part : parts) {
    true_count += part == FormulaId::kTrue ? 1 : 0;
    if (part != FormulaId::kFalse && part != FormulaId::kTrue) left.push_back(part);
  }
  if (true_count > 1) return FormulaId::kFalse;
  if (true_count == 1) {
    for (const FormulaId part : left) others.push_back(Not(part));
    return And(others);
  }
  if (left.empty() || !Count(left.size())) return FormulaId::kFalse;
  std::ranges::sort(left);
  std::vector<FormulaId> twice;
  for (size_t i = 1; i < left.size(); ++i) {
    if (left[i] == left[i - 1]) twice.push_back(left[i]);
  }
  if (!twice.empty()) {
    std::vector<FormulaId> once;
    for (const FormulaId part : left) {
      if (std::ranges::find(twice, part) == twice.end()) once.push_back(part);
    }
    others.push_back(ExactlyOne(once));
    for (const FormulaId part : twice) others.push_back(Not(part));
    return And(others);
  }
  return left.size() == 1 ? left[0] : Intern(FormulaKind::kExactlyOne, left);
}

FormulaId FormulaStore::Replace(FormulaId f, const Replacement& value) {
  if (kind(f) == FormulaKind::kFalse || kind(f) == FormulaKind::kTrue) return f;
  // Replacements may ask for others.
  Scratch scratch = std::move(scratch_);
  scratch.replaced.resize(std::max(scratch.replaced.size(), nodes_.size()), kUnknown);
  const auto replaced = [&](FormulaId id) -> FormulaId& {
    return scratch.replaced[static_cast<size_t>(id)];
  };
  replaced(FormulaId::kFalse) = FormulaId::kFalse;
  replaced(FormulaId::kTrue) = FormulaId::kTrue;
  // In the order in which what a formula is made of comes before it.
  scratch.stack.assign(1, {f, false});
  scratch.touched.clear();
  while (!scratch.stack.empty()) {
    const auto [next, parts_are_done] = scratch.stack.back();
    scratch.stack.pop_back();
    if (replaced(next) != kUnknown) continue;
    Count(1);
    if (kind(next) == FormulaKind::kAtom) {
      const Atom said = atom(next);
      const FormulaId made = value(next, said);
      replaced(next) = made;
      scratch.touched.push_back(next);
    } else if (!parts_are_done) {
      scratch.stack.emplace_back(next, true);
      for (const FormulaId part : parts(next)) {
        if (replaced(part) == kUnknown) scratch.stack.emplace_back(part, false);
      }
    } else {
      scratch.made.clear();
      bool is_same = true;
      for (const FormulaId part : parts(next)) {
        scratch.made.push_back(replaced(part));
        is_same = is_same && replaced(part) == part;
      }
      replaced(next) = is_same ? next : Make(kind(next), scratch.made);
      scratch.touched.push_back(next);
    }
  }
  const FormulaId result = replaced(f);
  for (const FormulaId id : scratch.touched) replaced(id) = kUnknown;
  scratch_ = std::move(scratch);
  return result;
}

FormulaId FormulaStore::Make(FormulaKind kind, std::span<const FormulaId> parts) {
  switch (kind) {
    case FormulaKind::kNot:
      return Not(parts[0]);
    case FormulaKind::kAnd:
      return And(parts);
    case FormulaKind::kOr:
      return Or(parts);
    default:
      return ExactlyOne(parts);
  }
}

const std::vector<FormulaStore::Occurrence>& FormulaStore::Occurrences(FormulaId f) {
  const auto [entry, is_new] = occurrences_.try_emplace(f);
  if (is_new) {
    entry->second = FindOccurrences(f);
    occurrence_count_ += std::ssize(entry->second);
  }
  return entry->second;
}

std::vector<FormulaStore::Occurrence> FormulaStore::FindOccurrences(FormulaId f) {
  constexpr uint8_t kPositive = 1;
  constexpr uint8_t kNegative = 2;
  std::unordered_map<FormulaId, uint8_t> seen;
  std::vector<Occurrence> atoms;
  std::unordered_map<FormulaId, size_t> place;
  std::vector<std::pair<FormulaId, uint8_t>> stack = {{f, kPositive}};
  while (!stack.empty()) {
    const auto [next, signs] = stack.back();
    stack.pop_back();
    if (!Count(1)) return {};
    uint8_t& known = seen[next];
    if ((known | signs) == known) continue;
    known |= signs;
    const FormulaKind kind = this->kind(next);
    if (kind == FormulaKind::kAtom) {
      const auto [entry, is_new] = place.emplace(next, atoms.size());
      if (is_new) atoms.push_back({.atom = next});
      Occurrence& occurrence = atoms[entry->second];
      occurrence.positive = (known & kPositive) != 0;
      occurrence.negative = (known & kNegative) != 0;
    } else if (kind == FormulaKind::kNot) {
      const auto swapped = static_cast<uint8_t>(((signs & kPositive) != 0 ? kNegative : 0) |
                                                ((signs & kNegative) != 0 ? kPositive : 0));
      stack.emplace_back(parts(next)[0], swapped);
    } else if (kind != FormulaKind::kFalse && kind != FormulaKind::kTrue) {
      const uint8_t inner = kind == FormulaKind::kExactlyOne ? kPositive | kNegative : signs;
      for (const FormulaId part : parts(next)) stack.emplace_back(part, inner);
    }
  }
  return atoms;
}

}  // namespace weft
