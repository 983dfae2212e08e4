#include "engine/prefix_cache.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace weft {

PrefixCache::PrefixCache(BlockPool& pool, int32_t block_size)
    : pool_(pool), block_size_(block_size) {}

BlockContent PrefixCache::ContentOf(const Sequence& sequence, int32_t index,
                                    ContentId parent) const {
  const auto block_size = static_cast<size_t>(block_size_);
  return {
      .parent = parent,
      .salt = sequence.cache_salt,
      .tokens =
          std::span(sequence.tokens).subspan(static_cast<size_t>(index) * block_size, block_size)};
}

ContentId PrefixCache::ParentOf(const Sequence& sequence, int32_t index) const {
  if (index == 0) return kNoContent;
  const ContentId parent =
      pool_.content_id(sequence.blocks.blocks()[static_cast<size_t>(index) - 1]);
  WEFT_CHECK(parent != kNoContent);  // every block before the last one is full, and kept
  return parent;
}

bool PrefixCache::MayAdopt(const Sequence& sequence, int32_t index) const {
  const int32_t end = (index + 1) * block_size_;
  return pool_.keeps_contents() && end <= sequence.cache_limit && end < sequence.chunk_end();
}

std::span<const int32_t> PrefixCache::Match(const Sequence& sequence) {
  match_.clear();
  int32_t index = sequence.computed_count / block_size_;
  if (sequence.computed_count % block_size_ != 0 || !MayAdopt(sequence, index)) return match_;
  ContentId parent = ParentOf(sequence, index);
  for (; MayAdopt(sequence, index); ++index) {
    const std::optional<int32_t> block = pool_.Find(ContentOf(sequence, index, parent));
    if (!block) break;
    match_.push_back(*block);
    parent = pool_.content_id(*block);
  }
  return match_;
}

void PrefixCache::Adopt(Sequence& sequence, std::span<const int32_t> blocks) const {
  const int32_t first = sequence.computed_count;
  for (const int32_t block : blocks) {
    sequence.blocks.Adopt(sequence.computed_count / block_size_, block);
    sequence.computed_count += block_size_;
  }
  const int32_t found_from = std::max(first, sequence.reached_count);
  const int32_t found_to = std::min(sequence.computed_count, sequence.prompt_count);
  sequence.cached_count += std::max(found_to - found_from, 0);
}

bool PrefixCache::ComputesNextBlockOf(const Sequence& older, const Sequence& newer) const {
  const int32_t first = newer.computed_count;
  const int32_t index = first / block_size_;
  if (older.computed_count != first || first % block_size_ != 0 || !MayAdopt(newer, index) ||
      older.token_count() < first + block_size_ || older.cache_salt != newer.cache_salt ||
      ParentOf(older, index) != ParentOf(newer, index)) {
    return false;
  }
  return std::ranges::equal(ContentOf(older, index, kNoContent).tokens,
                            ContentOf(newer, index, kNoContent).tokens);
}

void PrefixCache::Keep(Sequence& sequence, int32_t first_position) {
  if (!pool_.keeps_contents()) return;
  int32_t index = first_position / block_size_;
  for (; (index + 1) * block_size_ <= sequence.computed_count; ++index) {
    const BlockContent content = ContentOf(sequence, index, ParentOf(sequence, index));
    const std::optional<int32_t> known = pool_.Find(content);
    if (known) {
      sequence.blocks.Adopt(index, *known);
    } else {
      pool_.SetContent(sequence.blocks.blocks()[static_cast<size_t>(index)], content);
    }
  }
}

}  // namespace weft
