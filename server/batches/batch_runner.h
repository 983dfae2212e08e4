// The thread that runs batches, from the check of their input to their output files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "server/batches/batch_input.h"
#include "server/batches/batch_store.h"
#include "server/batches/line_pool.h"
#include "server/http/byte_budget.h"

namespace weft {

// Works on the oldest batch of each key at a time, on their lines in turn. What it knows is on the
// disk before it goes on: whenever the process ends, the next one goes on where this one was.
class BatchRunner {
 public:
  // Starts the thread. All outlives it.
  BatchRunner(ServerContext& context, FileStore& files, BatchStore& batches);
  // As Stop.
  ~BatchRunner();
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  // Any thread: a batch has come, or is to be cancelled.
  void Notify();
  // Returns when the thread has ended. Lines under way are given up; the next process runs them.
  void Stop();

 private:
  // A batch that is being worked on.
  struct Active {
    StoredBatch batch;
    RegularFile file;
    std::vector<InputLine> lines;            // still to be run, the next one last
    std::map<int64_t, InputLine> under_way;  // by their numbers
    std::optional<ByteBudget::Hold> hold;    // of what the lines take
  };
  using Actives = std::vector<std::unique_ptr<Active>>;

  void Work();
  // What there is to do now, then a wait. Error: the disk fails.
  Result<void> Turn();
  // Checks the inputs of all that are new, whosoever's turn it is.
  Result<void> CheckInputs();
  Result<void> CheckInput(StoredBatch batch);
  // Opens the file, too; that there is none is an error in the input.
  Result<BatchInput> ReadInput(const BatchObject& batch, RegularFile& file) const;
  Result<void> SetFailed(StoredBatch& batch, std::vector<BatchError> errors);
  // Looks what there is to work on, and what has become of it.
  Result<void> TakeUp();
  // Reads the batch's input again. nullptr: there is nothing to run.
  Result<std::unique_ptr<Active>> Begin(StoredBatch batch);
  Result<void> EndWhatIsDone();
  Result<void> End(Active& active, BatchStatus status);
  Result<void> AddLines();
  Result<void> AddLine(Active& active);
  Result<void> KeepResults(std::vector<PoolResult> results);
  Result<void> KeepResultsOf(Active& active, std::vector<PoolResult>& results);
  // Of the lines that were not run.
  Result<void> AddExpiredLines(Active& active);
  Result<void> CleanUp();

  ServerContext& context_;
  FileStore& files_;
  BatchStore& batches_;
  LinePool pool_;
  Actives active_;
  size_t turn_ = 0;                                   // counts lines: whose is next
  std::chrono::steady_clock::time_point not_before_;  // the next line, since there was no room
  int64_t cleaned_at_ = 0;
  std::atomic<bool> is_stopped_{false};
  std::thread thread_;
};

}  // namespace weft
