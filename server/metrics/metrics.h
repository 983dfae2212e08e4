// Everything that /metrics shows. Thread-safe; prometheus-cpp stays behind this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/metrics/watch_history.h"

namespace weft {

class Engine;
class EngineMeter;
struct EngineFacts;

// What became of spans of traces: taken by the collector, without room in the queue, refused or not
// to be sent.
enum class SpanFate { kExported, kDropped, kFailed };

// What the sessions count themselves. What engines do is in their meters, which Render reads.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  // For the whole process, and of it what is for no model.
  void SetMemoryLimit(uint64_t limit_bytes, uint64_t reserve_bytes);
  // From now on it is shown, until it is removed, before it goes.
  void AddEngine(EngineFacts facts, std::shared_ptr<EngineMeter> meter, const Engine& engine);
  void RemoveEngine(const Engine& engine);

  // The sequences of one of the engines that were added, between two steps a moment ago.
  int32_t RunningOf(const Engine& engine) const;

  void CountHttpRequest(std::string_view route, int status, double duration_s);
  // A request with an API key, by the key's name.
  void CountKey(const std::string& name, int64_t prompt_tokens, int64_t completion_tokens);
  // Its tokens alone: of a batch's line, which is no request of HTTP.
  void CountKeyTokens(const std::string& name, int64_t prompt_tokens, int64_t completion_tokens);
  void CountBatchLine(bool is_answered);
  // What files and results take on disk, and may take.
  void SetFilesDisk(uint64_t used_bytes, uint64_t limit_bytes);
  void CountUnknownFields(int32_t count);
  // Tools that the schema of their arguments does not hold all of.
  void CountLooseTools(int32_t count);
  void ChangeConnections(int change);
  void CountRefusedConnection();
  void CountFailedHandshake();
  // What requests and connections hold now, and may hold together.
  void SetRequestMemory(uint64_t held_bytes, uint64_t limit_bytes);
  // The client went away, or was cut because it did not read, before its answer was complete.
  void CountDisconnect();
  void CountSpans(SpanFate fate, int64_t count);
  // A model that was loaded while others served, or could not be.
  void CountModelLoad(bool is_loaded, double duration_s);
  // One that left. `reason`: "idle", "room" or "asked".
  void CountModelLeft(std::string_view reason);

  // What the engines have done, for WatchHistory. By one caller alone: the longest step is that
  // since its last call.
  WatchTotals TakeWatchTotals();

  // Prometheus text format 0.0.4. Takes half a millisecond of the calling thread and more with many
  // experts (metrics_bench measures it), and nothing of the engines' threads.
  // With `only_key`, without the series of API keys of other names.
  std::string Render(const std::string* only_key = nullptr);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace weft
