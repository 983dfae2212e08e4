#include "engine/prefix_cache.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/checked_math.h"
#include "engine/live_request.h"

namespace weft {

namespace {

bool HasGroupThatKeepsAll(const BlockPools& pools) {
  for (size_t group = 0; group < pools.own_count(); ++group) {
    if (!pools.group(group).forgets()) return true;
  }
  return false;
}

constexpr int32_t kMostComputed = 1 << 15;  // 2 MiB

}  // namespace

PrefixCache::PrefixCache(BlockPools& pools)
    : pools_(pools), has_chain_(HasGroupThatKeepsAll(pools)), there_(pools.size()) {
  if (!has_chain_ && pools.state_group() && pools.keeps_contents()) {
    computed_.emplace(kMostComputed);
  }
}

const BlockDigest& PrefixCache::DigestOf(Sequence& sequence, int32_t index) {
  const auto block_size = static_cast<size_t>(pools_.block_size());
  std::vector<BlockDigest>& digests = sequence.block_digests;
  for (size_t i = digests.size(); i <= static_cast<size_t>(index); ++i) {
    digests.push_back(
        hasher_.Digest(static_cast<uint32_t>(i), i == 0 ? sequence.cache_salt : digests.back(),
                       std::span(sequence.tokens).subspan(i * block_size, block_size)));
  }
  return digests[static_cast<size_t>(index)];
}

void PrefixCache::NameSource(Sequence& sequence) {
  if (sequence.source.empty() || !pools_.keeps_contents() || !sequence.source_digests.empty()) {
    return;
  }
  // No indices of blocks of a sequence's own.
  constexpr uint32_t kWhole = std::numeric_limits<uint32_t>::max();
  constexpr uint32_t kFirstOfSource = uint32_t{1} << 31;
  sequence.cache_salt = hasher_.Digest(kWhole, sequence.cache_salt, sequence.source);
  const auto block_size = static_cast<size_t>(pools_.block_size());
  const BlockDigest* before = &sequence.cache_salt;
  sequence.source_digests.reserve(CeilDivide(sequence.source.size(), block_size));
  for (size_t first = 0; first < sequence.source.size(); first += block_size) {
    const size_t count = std::min(block_size, sequence.source.size() - first);
    before = &sequence.source_digests.emplace_back(
        hasher_.Digest(kFirstOfSource + static_cast<uint32_t>(first / block_size), *before,
                       sequence.source.subspan(first, count)));
  }
}

bool PrefixCache::HasSource(const Sequence& sequence) const {
  const std::vector<BlockDigest>& digests = sequence.source_digests;
  return !digests.empty() && std::ranges::all_of(digests, [&](const BlockDigest& digest) {
    return pools_[pools_.source_group()].Find(digest).has_value();
  });
}

bool PrefixCache::AdoptSource(Sequence& sequence) {
  if (!sequence.needs_source() || !HasSource(sequence)) return false;
  const size_t group = pools_.source_group();
  int32_t index = 0;
  for (const BlockDigest& digest : sequence.source_digests) {
    sequence.blocks.of(group).Adopt(index++, pools_[group].Find(digest).value());
  }
  sequence.source_computed = true;
  if (sequence.reached_count == 0) sequence.cached_count = sequence.source_count();
  return true;
}

int32_t PrefixCache::CountSharedSource(const Sequence& sequence) const {
  if (!HasSource(sequence)) return 0;
  const BlockPool& pool = pools_[pools_.source_group()];
  return static_cast<int32_t>(
      std::ranges::count_if(sequence.source_digests, [&](const BlockDigest& digest) {
        return pool.reference_count(pool.Find(digest).value()) > 0;
      }));
}

void PrefixCache::KeepSource(Sequence& sequence) {
  BlockPool& pool = pools_[pools_.source_group()];
  int32_t index = 0;
  for (const BlockDigest& digest : sequence.source_digests) {
    KeepBlock(digest, pool, index++, sequence.blocks.of(pools_.source_group()));
  }
}

void PrefixCache::KeepBlock(const BlockDigest& digest, BlockPool& pool, int32_t index,
                            BlockTable& table) {
  const std::optional<int32_t> known = pool.Find(digest);
  if (known) {
    table.Adopt(index, *known);
  } else {
    pool.SetContent(table.blocks()[static_cast<size_t>(index)], digest);
  }
}

int32_t PrefixCache::MostBlocks(const Sequence& sequence) const {
  if (!pools_.keeps_contents()) return 0;
  return std::min(sequence.cache_limit, sequence.chunk_end() - 1) / pools_.block_size();
}

int32_t PrefixCache::FirstNeeded(const Sequence& sequence, int32_t end, size_t group) const {
  const int32_t computed = sequence.computed_count / pools_.block_size();
  return std::max(computed, pools_.FirstVisibleBlock(group, end * pools_.block_size()));
}

int32_t PrefixCache::Match(Sequence& sequence) {
  const int32_t block_size = pools_.block_size();
  if (sequence.computed_count % block_size != 0) return sequence.computed_count;
  int32_t end = MostBlocks(sequence);
  if (end * block_size <= sequence.computed_count) return sequence.computed_count;
  const int32_t chain_limit = end;
  const int32_t chain = EndOfChain(sequence, end);
  end = chain;
  // What one group lacks may let another need more, before that.
  std::ranges::fill(there_, end);
  bool is_settled = false;
  while (!is_settled) {
    is_settled = true;
    for (size_t group = 0; group < pools_.own_count(); ++group) {
      if (!pools_.group(group).forgets()) continue;
      const int32_t found = EndWithin(sequence, end, group, there_[group]);
      is_settled = is_settled && found == end;
      end = found;
    }
  }
  sequence.last_found_block.reset();
  if (pools_.state_group()) {
    const int32_t computed = EndOfComputed(sequence, chain_limit, chain);
    if (end < computed) sequence.last_found_block = computed - 1;
  }
  return std::max(end * block_size, sequence.computed_count);
}

int32_t PrefixCache::EndOfChain(Sequence& sequence, int32_t end) {
  int32_t index = sequence.computed_count / pools_.block_size();
  const auto is_there = [&] {
    for (size_t group = 0; group < pools_.own_count(); ++group) {
      if (!pools_.group(group).forgets() && !IsThere(sequence, index, group)) return false;
    }
    return true;
  };
  while (index < end && is_there()) ++index;
  return index;
}

int32_t PrefixCache::EndOfComputed(Sequence& sequence, int32_t end, int32_t chain) {
  if (!computed_) return chain;
  int32_t index = sequence.computed_count / pools_.block_size();
  while (index < end && computed_->Find(DigestOf(sequence, index))) ++index;
  return index;
}

void PrefixCache::NoteComputed(const BlockDigest& digest) {
  if (!computed_ || computed_->Find(digest)) return;
  if (computed_->digest(next_computed_) != nullptr) computed_->Erase(next_computed_);
  computed_->Insert(next_computed_, digest);
  next_computed_ = (next_computed_ + 1) % kMostComputed;
}

int32_t PrefixCache::EndWithin(Sequence& sequence, int32_t end, size_t group, int32_t& there) {
  there = std::min(there, end);
  int32_t first = FirstNeeded(sequence, end, group);
  for (int32_t index = first; index < there;) {
    if (IsThere(sequence, index, group)) {
      ++index;
      continue;
    }
    // No end behind it will do: all of them that were left need it.
    there = first;
    end = index;
    there = std::min(there, end);
    first = index = FirstNeeded(sequence, end, group);
  }
  there = std::min(there, first);
  return end;
}

void PrefixCache::Adopt(Sequence& sequence, int32_t end) {
  const int32_t first = sequence.computed_count;
  if (end == first) return;
  const int32_t block_size = pools_.block_size();
  for (size_t group = 0; group < pools_.own_count(); ++group) {
    BlockTable& table = sequence.blocks.of(group);
    int32_t index = FirstNeeded(sequence, end / block_size, group);
    // What it sees of its own blocks is at the end of them.
    table.ReleaseBefore(pools_.FirstVisibleBlock(group, end));
    for (; index * block_size < end; ++index) {
      const std::optional<int32_t> block = pools_[group].Find(DigestOf(sequence, index));
      table.Adopt(index, block.value());
      if (group == pools_.state_group()) pools_[group].MarkWanted(*block);
    }
  }
  sequence.computed_count = end;
  if (!sequence.source.empty()) return;  // a client's text is that
  const int32_t found_from = std::max(first, sequence.reached_count);
  const int32_t found_to = std::min(sequence.computed_count, sequence.prompt_count);
  sequence.cached_count += std::max(found_to - found_from, 0);
}

int32_t PrefixCache::CountShared(Sequence& sequence, int32_t end, size_t group) {
  int32_t count = 0;
  const int32_t end_block = end / pools_.block_size();
  for (int32_t index = FirstNeeded(sequence, end_block, group); index < end_block; ++index) {
    const std::optional<int32_t> block = pools_[group].Find(DigestOf(sequence, index));
    if (pools_[group].reference_count(block.value()) > 0) ++count;
  }
  return count;
}

bool PrefixCache::ComputesFor(Sequence& older, int32_t end, Sequence& newer) {
  const int32_t block_size = pools_.block_size();
  const int32_t first = newer.computed_count;
  const int32_t index = older.computed_count / block_size;  // of its next block
  const bool has_states = pools_.state_group().has_value();
  if (first % block_size != 0 || older.computed_count < first || index >= MostBlocks(newer) ||
      older.token_count() < (index + 1) * block_size ||
      DigestOf(older, index) != DigestOf(newer, index)) {
    return false;
  }
  if (!has_states) return older.computed_count == first && end >= first + block_size;
  // It can go on only where there is a state.
  const int32_t last = CountCommonBlocks(older, newer) - 1;
  if (std::ranges::count(older.parting_blocks, last) == 0) older.parting_blocks.push_back(last);
  return true;
}

int32_t PrefixCache::CountCommonBlocks(Sequence& older, Sequence& newer) {
  // As many as `low` are, more than `high` are not: a digest is one of all that comes before.
  int32_t low = 0;
  int32_t high = std::min(MostBlocks(newer), older.token_count() / pools_.block_size());
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (DigestOf(older, middle - 1) == DigestOf(newer, middle - 1)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

bool PrefixCache::IsStateWanted(const Sequence& sequence, int32_t index) const {
  const int32_t block_size = pools_.block_size();
  const int64_t interval = pools_.group(pools_.state_group().value()).state_interval;
  const int32_t end = (index + 1) * block_size;
  if (interval > 0 && end / interval > index * block_size / interval) return true;
  const SharedCounts& shared = sequence.request->shared_counts();
  const auto is_last_of = [&](int32_t count) {
    return index == std::min(count, sequence.prompt_count - 1) / block_size - 1;
  };
  return is_last_of(shared.prompt) || is_last_of(shared.before_message) ||
         index == sequence.last_found_block ||
         std::ranges::count(sequence.parting_blocks, index) > 0;
}

void PrefixCache::CoverStates(Sequence& sequence, int32_t end) {
  const std::optional<size_t> group = pools_.state_group();
  if (!group || !pools_.keeps_contents()) return;
  const int32_t block_size = pools_.block_size();
  for (int32_t index = sequence.computed_count / block_size; (index + 1) * block_size <= end;
       ++index) {
    if (IsStateWanted(sequence, index) && !sequence.blocks.of(*group).Fill(index)) return;
  }
}

void PrefixCache::Keep(Sequence& sequence, int32_t first_position) {
  if (!pools_.keeps_contents()) return;
  const int32_t block_size = pools_.block_size();
  int32_t index = first_position / block_size;
  for (; (index + 1) * block_size <= sequence.computed_count; ++index) {
    const BlockDigest& digest = DigestOf(sequence, index);
    NoteComputed(digest);
    for (size_t group = 0; group < pools_.own_count(); ++group) {
      BlockTable& table = sequence.blocks.of(group);
      const int32_t block = table.blocks()[static_cast<size_t>(index)];
      if (block == kNoBlock) continue;  // a state that nobody wants
      KeepBlock(digest, pools_[group], index, table);
      if (group != pools_.state_group()) continue;
      const int32_t kept = table.blocks()[static_cast<size_t>(index)];
      if (IsStateWanted(sequence, index)) {
        pools_[group].MarkWanted(kept);
      } else if (kept == block) {
        sequence.passing_states.push_back(index);
      }
    }
  }
}

void PrefixCache::DropPassingStates(Sequence& sequence) {
  const int32_t next = sequence.computed_count / pools_.block_size();
  std::erase_if(sequence.parting_blocks, [&](int32_t index) { return index < next; });
  std::vector<int32_t>& passing = sequence.passing_states;
  if (passing.size() < 2) return;
  BlockPool& pool = pools_[pools_.state_group().value()];
  for (const int32_t index : std::span(passing).first(passing.size() - 1)) {
    const std::optional<int32_t> block = pool.Find(DigestOf(sequence, index));
    if (block && !pool.is_wanted(*block) && pool.reference_count(*block) == 0) {
      pool.DropContent(*block);
    }
  }
  passing.erase(passing.begin(), passing.end() - 1);
}

}  // namespace weft
