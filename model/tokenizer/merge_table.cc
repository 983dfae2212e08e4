#include "model/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace weft {
namespace {

constexpr TokenId kMerged = std::numeric_limits<TokenId>::min();  // its symbol went to the left
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// Up to here a scan for the lowest rank beats the heap; long pieces need the heap's O(n log n).
constexpr size_t kScanLimit = 24;

// std::push_heap builds a maximum heap: "less" is "merges later".
bool MergesLater(const MergeScratch::Candidate& a, const MergeScratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

const MergeRule* FindRule(const MergeTable& table, TokenId left, TokenId right) {
  return left < 0 || right < 0 ? nullptr : table.Find(left, right);
}

// For short pieces: ranks beside the symbols, scanned once a merge.
void MergeByScan(const MergeTable& table, std::vector<TokenId>* symbols) {
  constexpr uint64_t kNoRule = std::numeric_limits<uint64_t>::max();
  uint64_t ranks[kScanLimit];  // of the pair (i, i + 1)
  TokenId results[kScanLimit];
  size_t count = symbols->size();
  TokenId* ids = symbols->data();
  const auto look_up = [&](size_t i) {
    const MergeRule* rule = FindRule(table, ids[i], ids[i + 1]);
    ranks[i] = rule ? rule->rank : kNoRule;
    results[i] = rule ? rule->result : 0;
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    const size_t best = static_cast<size_t>(std::min_element(ranks, ranks + count - 1) - ranks);
    if (ranks[best] == kNoRule) break;
    ids[best] = results[best];
    --count;
    std::copy(ids + best + 2, ids + count + 1, ids + best + 1);
    std::copy(ranks + best + 1, ranks + count, ranks + best);
    std::copy(results + best + 1, results + count, results + best);
    if (best + 1 < count) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols->resize(count);
}

class HeapMerge {
 public:
  HeapMerge(const MergeTable& table, std::vector<TokenId>* symbols, MergeScratch* scratch)
      : table_(table), symbols_(*symbols), scratch_(*scratch) {}

  void Run() {
    const size_t count = symbols_.size();
    WEFT_CHECK(count < kNone);
    Link(count);
    for (uint32_t i = 0; i + 1 < count; ++i) Add(i, i + 1);
    std::make_heap(scratch_.heap.begin(), scratch_.heap.end(), MergesLater);
    while (!scratch_.heap.empty()) {
      std::pop_heap(scratch_.heap.begin(), scratch_.heap.end(), MergesLater);
      const MergeScratch::Candidate candidate = scratch_.heap.back();
      scratch_.heap.pop_back();
      Merge(candidate);
    }
    std::erase(symbols_, kMerged);
  }

 private:
  void Link(size_t count) {
    scratch_.heap.clear();
    scratch_.previous.resize(count);
    scratch_.next.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      scratch_.previous[i] = i == 0 ? kNone : i - 1;
      scratch_.next[i] = i + 1 == count ? kNone : i + 1;
    }
  }

  // Appends the candidate of two neighbours, if they merge; true if it did.
  bool Add(uint32_t left, uint32_t right) {
    const MergeRule* rule = FindRule(table_, symbols_[left], symbols_[right]);
    if (rule == nullptr) return false;
    scratch_.heap.push_back({rule->rank, left, symbols_[left], symbols_[right], rule->result});
    return true;
  }

  void Push(uint32_t left, uint32_t right) {
    if (Add(left, right)) {
      std::push_heap(scratch_.heap.begin(), scratch_.heap.end(), MergesLater);
    }
  }

  // A candidate is outdated if one of its symbols has changed since: then it no longer counts.
  void Merge(const MergeScratch::Candidate& candidate) {
    const uint32_t left = candidate.position;
    if (symbols_[left] != candidate.left) return;
    const uint32_t right = scratch_.next[left];
    if (right == kNone || symbols_[right] != candidate.right) return;
    symbols_[left] = candidate.result;
    symbols_[right] = kMerged;
    const uint32_t after = scratch_.next[right];
    scratch_.next[left] = after;
    if (after != kNone) {
      scratch_.previous[after] = left;
      Push(left, after);
    }
    if (scratch_.previous[left] != kNone) Push(scratch_.previous[left], left);
  }

  const MergeTable& table_;
  std::vector<TokenId>& symbols_;
  MergeScratch& scratch_;
};

}  // namespace

MergeTable::MergeTable(size_t expected_rules) {
  const size_t slot_count = std::bit_ceil(std::max<size_t>(16, expected_rules * 2));
  slots_.resize(slot_count);
  shift_ = 64 - std::countr_zero(slot_count);
}

void MergeTable::Insert(TokenId left, TokenId right, MergeRule rule) {
  WEFT_CHECK(left >= 0 && right >= 0);
  if ((rule_count_ + 1) * 2 > slots_.size()) Grow();
  const uint64_t key = Key(left, right);
  Slot& slot = slots_[SlotOf(key)];
  if (slot.key == kEmpty) ++rule_count_;
  slot = {key, rule};
}

void MergeTable::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) slots_[SlotOf(slot.key)] = slot;
  }
}

void ApplyMerges(const MergeTable& table, std::vector<TokenId>* symbols, MergeScratch* scratch) {
  if (symbols->size() < 2) return;
  if (symbols->size() <= kScanLimit) {
    MergeByScan(table, symbols);
  } else {
    HeapMerge(table, symbols, scratch).Run();
  }
}

}  // namespace weft
