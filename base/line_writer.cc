#include "base/line_writer.h"

#include <cerrno>
#include <exception>
#include <new>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace weft {
namespace {

// False: the file does not take it, and nothing can be done about it.
bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {  // another process's doing, who shares the file
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

LineWriter::LineWriter(int descriptor, size_t max_bytes,
                       std::function<std::string(uint64_t)> notice)
    : descriptor_(descriptor), max_bytes_(max_bytes), notice_(std::move(notice)) {}

LineWriter::~LineWriter() {
  while (!Stop(std::chrono::minutes(1))) {
  }
}

void LineWriter::Add(std::string line) noexcept {
  const std::lock_guard lock(mutex_);
  if (!has_thread_) {
    if (!WriteAll(descriptor_, line)) ++lost_count_;
    return;
  }
  Entry entry{.line = std::move(line)};
  const bool is_losing = !entries_.empty() && entries_.back().lost_count > 0;
  // Half of it must be free then, so that not every line has a notice before it.
  const size_t limit_bytes = is_losing ? max_bytes_ / 2 : max_bytes_;
  const size_t size_bytes = SizeOf(entry);
  if (waiting_bytes_ + size_bytes <= limit_bytes) {
    try {
      entries_.push_back(std::move(entry));
      waiting_bytes_ += size_bytes;
      ++added_count_;
    } catch (const std::bad_alloc&) {
      Lose();
    }
  } else {
    Lose();
  }
  work_came_.notify_one();
}

void LineWriter::AddLost() noexcept {
  const std::lock_guard lock(mutex_);
  if (has_thread_) {
    Lose();
    work_came_.notify_one();
  } else {
    ++lost_count_;
  }
}

void LineWriter::Lose() noexcept {
  ++lost_count_;
  try {
    if (entries_.empty() || entries_.back().lost_count == 0) {
      entries_.emplace_back();
      ++added_count_;
    }
    ++entries_.back().lost_count;
  } catch (const std::bad_alloc&) {  // it is counted, if no line says so
  }
}

bool LineWriter::Flush(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return work_done_.wait_for(lock, patience,
                             [this, wanted = added_count_] { return done_count_ >= wanted; });
}

void LineWriter::Start() {
  const std::lock_guard lock(mutex_);
  thread_ = std::thread([this] { Run(); });
  has_thread_ = true;
}

bool LineWriter::Stop(std::chrono::milliseconds patience) {
  {
    std::unique_lock lock(mutex_);
    if (!has_thread_) return true;
    if (!work_done_.wait_for(lock, patience, [this] { return done_count_ == added_count_; })) {
      return false;
    }
    has_thread_ = false;
    work_came_.notify_one();
  }
  thread_.join();
  return true;
}

uint64_t LineWriter::lost_count() const {
  const std::lock_guard lock(mutex_);
  return lost_count_;
}

bool LineWriter::Write(Entry& entry) const noexcept {
  try {
    if (entry.lost_count > 0) entry.line = notice_(entry.lost_count);
  } catch (const std::exception&) {
    return false;
  }
  return WriteAll(descriptor_, entry.line);
}

void LineWriter::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_came_.wait(lock, [this] { return !entries_.empty() || !has_thread_; });
    if (entries_.empty()) return;
    Entry entry = std::move(entries_.front());
    const size_t size_bytes = SizeOf(entry);
    entries_.pop_front();
    lock.unlock();
    const bool is_written = Write(entry);
    lock.lock();
    ++done_count_;
    if (entry.lost_count == 0) {
      waiting_bytes_ -= size_bytes;
      if (!is_written) ++lost_count_;
    }
    work_done_.notify_all();
  }
}

}  // namespace weft
