// What a step costs on this machine now, learned from the steps that ran. Used by the engine thread
// alone; no clock of its own.
//
//   seconds = pace * (fixed + per decode row + per prompt row + per position that each reads)
//
// The five costs are fitted, none below zero, to samples of the relative error, so that a short
// step counts as much as a long one. Samples are kept by the size of the step: a thousand alike do
// not drown the one that is different; old ones count less. Outliers (another process had the core)
// hardly count. The pace is the median of what the last few steps took against the fit: it follows
// within three steps when the machine becomes slower or faster as a whole.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weft {

// What the duration of a step depends on. A chunk is what a sequence with several positions to
// compute gets of a step; a row reads its own position and all before it.
struct StepShape {
  int32_t decode_rows = 0;
  int32_t chunk_rows = 0;
  int64_t decode_reads = 0;  // positions, summed over decode rows
  int64_t chunk_reads = 0;   // likewise over the chunks' rows

  void AddDecode(int32_t position);
  void AddChunk(int32_t first_position, int32_t row_count);
};

class StepCostModel {
 public:
  // The very first step is left out: it also pays for memory that is touched for the first time.
  void Observe(const StepShape& shape, std::chrono::nanoseconds duration);
  // Brings the predictions up to date with what has been observed: some microseconds.
  void Fit();

  // 0 before the first Fit that had something to fit.
  double PredictSeconds(const StepShape& shape) const;
  // How many chunk rows a step may have for the prediction to mean something: twice as many as have
  // been seen, since few rows, all bound by memory, say nothing of many.
  int32_t trusted_chunk_rows() const;
  // Whether one of the last steps did little but decode. If not, all that is known of decoding is
  // known from steps with large chunks, and may be far too much.
  bool knows_decoding() const;
  // Whether a step of late had few rows. If not, nobody knows what a step costs besides its rows.
  bool knows_small_steps() const;
  // Whether one of the last steps had more chunk rows than that. If not, what more rows would cost
  // is a guess.
  bool knows_chunks_beyond(int32_t chunk_rows) const { return chunk_rows_of_late() > chunk_rows; }
  // The most that one of so many last steps had.
  int32_t chunk_rows_of_late(int64_t step_count = kFreshSteps) const;

  // For so many steps a sample counts as fresh; at that age it has half the weight of a new one.
  static constexpr int64_t kFreshSteps = 32;

 private:
  static constexpr size_t kCostCount = 5;
  static constexpr size_t kSamplesPerClass = 8;
  static constexpr size_t kPaceSteps = 5;
  using Costs = std::array<double, kCostCount>;
  struct Sample {
    Costs counts = {};  // what the costs are multiplied with
    double seconds = 0;
    int64_t number = 0;  // of the observation
  };
  // Binary orders of magnitude of the decode rows and of the chunk rows.
  using SizeClass = std::pair<int, int>;

  static Costs CountsOf(const StepShape& shape);
  double FittedSeconds(const Costs& counts) const;
  // One weighted least-squares fit of the relative error without negative costs. What tells an
  // outlier, unless `all_alike`, are the samples of its own class, judged by the costs so far: a
  // few large steps that the costs do not fit yet are what there is to learn from.
  void FitOnce(bool all_alike);
  // Of the fitted to the measured seconds.
  double MedianRatio(const std::vector<Sample>& alike) const;
  void FitPace();

  std::map<SizeClass, std::vector<Sample>> samples_;  // at most kSamplesPerClass a class
  std::array<Sample, kPaceSteps> latest_;             // ring
  bool started_ = false;
  int64_t observed_count_ = 0;
  // Numbers of the last such observations.
  int64_t last_decoding_ = -1;
  int64_t last_small_ = -1;
  Costs costs_ = {};
  double pace_ = 1;
};

}  // namespace weft
