// The threads that prepare what is long, and who of those that wait for them is next: the shortest,
// where each waits as if it were shorter by all that has been begun since it came. So a short
// request does not wait behind long ones that were there before it, and a long one waits at most
// for as many bytes of others as it has itself. Of several threads, one never takes long work: what
// is not short never holds all of them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include <boost/asio/thread_pool.hpp>

namespace weft {

class PreparationQueue {
 public:
  // More is long.
  static constexpr size_t kShortBytes = 1 << 20;

  explicit PreparationQueue(int thread_count);
  ~PreparationQueue();
  PreparationQueue(const PreparationQueue&) = delete;
  PreparationQueue& operator=(const PreparationQueue&) = delete;

  // `work`, of which the size says how long it takes, is called once on one of the threads, and
  // must not throw.
  void Add(size_t size_bytes, std::function<void()> work);
  // Returns when all that was added is done, and the threads have ended.
  void Join();

 private:
  struct Work {
    size_t size_bytes = 0;
    std::function<void()> run;
  };
  using Line = std::multimap<uint64_t, Work>;  // by when its turn is, in bytes begun

  // A thread's turn, one for every work that was added and every long one that has ended.
  void RunNext();
  // The next work that may run now; end: none.
  Line::iterator Next();

  const int most_long_;  // at a time
  std::mutex mutex_;
  Line line_;                 // guarded by the mutex, as what follows
  uint64_t begun_bytes_ = 0;  // of all work that has begun
  int long_count_ = 0;        // running
  boost::asio::thread_pool threads_;
};

}  // namespace weft
