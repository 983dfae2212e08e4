#include "server/api/structured/matcher_pool.h"

#include <algorithm>
#include <iterator>

#include "base/format_bytes.h"

namespace weft {

MatcherPool::~MatcherPool() = default;

bool MatcherPool::Reserve(size_t bytes) {
  held_bytes_ += bytes;
  while (held_bytes_ > limit_bytes_) {
    if (DropOldest()) continue;
    held_bytes_ -= bytes;
    return false;
  }
  return true;
}

bool MatcherPool::DropOldest() {
  std::list<Idle> dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return false;
  dropped.splice(dropped.begin(), idle_, std::prev(idle_.end()));
  return true;
}

std::unique_ptr<SharedRecognizer> MatcherPool::Take(Owner owner) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(idle_, owner, &Idle::owner);
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<SharedRecognizer> shared = std::move(found->shared);
  idle_.erase(found);
  return shared;
}

void MatcherPool::Give(Owner owner, std::unique_ptr<SharedRecognizer> shared) {
  if (shared->counted_bytes() > largest_bytes()) return;
  std::list<Idle> dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  idle_.push_front({owner, std::move(shared)});
  if (idle_.size() > kMostIdle) dropped.splice(dropped.begin(), idle_, std::prev(idle_.end()));
}

void MatcherPool::Drop(Owner owner) {
  std::list<Idle> dropped;
  const std::lock_guard lock(mutex_);
  for (auto idle = idle_.begin(); idle != idle_.end();) {
    const auto next = std::next(idle);
    if (idle->owner == owner) dropped.splice(dropped.begin(), idle_, idle);
    idle = next;
  }
}

Result<void> SharedRecognizer::FillMask(Recognizer::State state, TokenMask mask) {
  const auto known = masks_.find(state);
  if (known != masks_.end()) {
    std::ranges::copy(known->second, mask.begin());
    return {};
  }
  maker_.Fill(state, mask);
  if (masks_.size() == kMostMasks) masks_.clear();
  masks_.emplace(state, std::vector<uint32_t>(mask.begin(), mask.end()));
  return CountMemory();
}

Result<void> SharedRecognizer::CountMemory() {
  WEFT_RETURN_IF_ERROR(recognizer->status());
  const size_t mask_bytes =
      masks_.empty() ? 0 : masks_.size() * masks_.begin()->second.size() * sizeof(uint32_t);
  const size_t bytes = recognizer->bytes() + maker_.bytes() + mask_bytes;
  if (bytes <= counted_bytes_) return {};
  if (bytes - before_bytes_ > pool_.largest_bytes()) {
    return Fail(ErrorCode::kResourceExhausted,
                "what the text may be takes {} of memory, {} at most are for one request",
                FormatBytes(bytes - before_bytes_), FormatBytes(pool_.largest_bytes()));
  }
  if (!pool_.Reserve(bytes - counted_bytes_)) {
    return Fail(ErrorCode::kUnavailable,
                "what the texts of all requests may be takes more than the memory that is for it; "
                "try again when there are fewer");
  }
  counted_bytes_ = bytes;
  return {};
}

}  // namespace weft
