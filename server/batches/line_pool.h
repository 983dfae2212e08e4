// Lines of batches on their way through an engine: requests without a connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/batches/batch_line.h"
#include "proto/usage.h"

namespace weft {

struct ServerContext;

// What is to be run.
struct PoolLine {
  uint64_t tag = 0;   // the caller's
  std::string owner;  // a key's name, as which it runs; empty without keys
  std::string url;
  std::string custom_id;
  std::string body;
};

struct PoolResult {
  PoolLine line;
  // Nullopt: the server had no room for it, or is shutting down; it was not run.
  std::optional<LineAnswer> answer;
  Usage usage;
};

// Not more than so many at once, each with the lowest priority. One thread but for Wake; the
// context, and what it serves, outlives it.
class LinePool {
 public:
  LinePool(ServerContext& context, int32_t max_lines);
  // Aborts what is under way.
  ~LinePool();
  LinePool(const LinePool&) = delete;
  LinePool& operator=(const LinePool&) = delete;

  bool has_room() const { return static_cast<int32_t>(runs_.size()) < max_lines_; }
  bool is_empty() const { return runs_.empty(); }
  // There is room. Prepares it here, which takes as long as it takes.
  void Add(PoolLine line);
  // Waits until something has ended, Wake was called or so much time has passed; what has ended.
  std::vector<PoolResult> Wait(std::chrono::milliseconds patience);
  // Any thread: Wait ends, now or the next time.
  void Wake();
  // Forgets those lines; nothing of them comes any more.
  void Abort(const std::function<bool(uint64_t tag)>& is_meant);

 private:
  class Run;
  class Signal;

  ServerContext& context_;
  const int32_t max_lines_;
  const std::shared_ptr<Signal> signal_;  // the engines' sinks hold it, too
  std::list<std::unique_ptr<Run>> runs_;
};

}  // namespace weft
