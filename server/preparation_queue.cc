#include "server/preparation_queue.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

namespace weft {

PreparationQueue::PreparationQueue(int thread_count)
    : most_long_(std::max(thread_count - 1, 1)), threads_(static_cast<size_t>(thread_count)) {}

PreparationQueue::~PreparationQueue() { Join(); }

void PreparationQueue::Join() { threads_.join(); }

void PreparationQueue::Add(size_t size_bytes, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    line_.emplace(begun_bytes_ + size_bytes, Work{size_bytes, std::move(work)});
  }
  boost::asio::post(threads_, [this] { RunNext(); });
}

PreparationQueue::Line::iterator PreparationQueue::Next() {
  const bool takes_long = long_count_ < most_long_;
  return std::ranges::find_if(line_, [&](const auto& entry) {
    return takes_long || entry.second.size_bytes <= kShortBytes;
  });
}

void PreparationQueue::RunNext() {
  Line::node_type node;
  {
    const std::lock_guard lock(mutex_);
    const auto next = Next();
    if (next == line_.end()) return;  // long work: its turn comes when another has ended
    node = line_.extract(next);
    begun_bytes_ += node.mapped().size_bytes;
    if (node.mapped().size_bytes > kShortBytes) ++long_count_;
  }
  node.mapped().run();
  if (node.mapped().size_bytes <= kShortBytes) return;
  {
    const std::lock_guard lock(mutex_);
    --long_count_;
  }
  boost::asio::post(threads_, [this] { RunNext(); });
}

}  // namespace weft
