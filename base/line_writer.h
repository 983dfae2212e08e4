// Lines on their way to a file. With a thread, whoever adds one never waits for the file: what it
// does not take in time, or there is no memory for, is lost, and a line says how much.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft {

// Thread-safe, but for Start and Stop, which one thread calls.
class LineWriter {
 public:
  // The descriptor stays the caller's. Lines that wait take so many bytes at most, an allowance for
  // what holds them included. `notice` makes the line that says how many were lost; it must not
  // add one itself.
  LineWriter(int descriptor, size_t max_bytes, std::function<std::string(uint64_t)> notice);
  ~LineWriter();  // waits until the file has taken what waits
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // `line` ends with its line feed. Without the thread it is in the file when this returns.
  void Add(std::string line) noexcept;
  // A line that could not be made.
  void AddLost() noexcept;
  // Until everything added so far is in the file or lost, at most so long. False: it is not.
  bool Flush(std::chrono::milliseconds patience);

  // From now on a thread writes. Throws std::system_error if there can be none.
  void Start();
  // Ends that as soon as nothing waits. False: that has not come in time, and the thread goes on.
  bool Stop(std::chrono::milliseconds patience);

  // Lines that have not come into the file and never will.
  uint64_t lost_count() const;

 private:
  // A line, or the place where some are missing.
  struct Entry {
    std::string line;
    uint64_t lost_count = 0;
  };
  // The mutex is held.
  void Lose() noexcept;
  bool Write(Entry& entry) const noexcept;
  static size_t SizeOf(const Entry& entry) { return sizeof(Entry) + entry.line.size(); }

  void Run();

  const int descriptor_;
  const size_t max_bytes_;
  const std::function<std::string(uint64_t)> notice_;
  mutable std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable work_done_;
  std::deque<Entry> entries_;
  size_t waiting_bytes_ = 0;  // lines that are being written included
  uint64_t added_count_ = 0;  // entries
  uint64_t done_count_ = 0;
  uint64_t lost_count_ = 0;
  bool has_thread_ = false;
  std::thread thread_;
};

}  // namespace weft
