#include "engine/chunk_sizer.h"

#include <algorithm>

#include "base/checked_math.h"

namespace weft {
namespace {

// What the oldest prompt gets at least, whatever it costs, and others if there is time.
constexpr int32_t kMinChunkRows = 8;

// The least number of rows from kMinChunkRows on that fills up a tile behind `row_count` others.
int32_t LeastChunk(int32_t row_count) {
  return RoundUp(row_count + kMinChunkRows, ChunkSizer::kTileRows) - row_count;
}

void ExtendBy(PlannedSequence& planned, int32_t row_count, StepPlan& plan) {
  plan.shape.AddChunk(planned.first_position + planned.row_count, row_count);
  planned.row_count += row_count;
  plan.row_count += row_count;
}

}  // namespace

bool ChunkSizer::HasRoomForSource(int32_t position_count, const StepPlan& plan,
                                  const StepLimit& limit) const {
  if (plan.source_row_count == 0 && !limit.is_spare) return true;
  if (plan.source_row_count + position_count > limit.rows) return false;
  if (!limit.has_seconds()) return true;
  StepShape shape = plan.shape;
  shape.AddChunk(0, position_count);
  return shape.chunk_rows <= cost_.trusted_chunk_rows() &&
         cost_.PredictSeconds(shape) <= limit.seconds;
}

int32_t ChunkSizer::RowsInTurn(int32_t first_position, int32_t end_position, const StepPlan& plan,
                               const StepLimit& limit) const {
  const double seconds = cost_.PredictSeconds(plan.shape);
  const int32_t rows_left = limit.rows - plan.row_count;
  StepLimit half = limit;
  half.rows = plan.row_count + rows_left / 2;
  half.seconds = seconds + (limit.seconds - seconds) / 2;
  const int32_t pending_count = end_position - first_position;
  if (whole_prompts_) {
    const bool fits = plan.row_count == 0 ||
                      RowsWithin(plan, limit, first_position, pending_count) == pending_count;
    return fits ? pending_count : 0;
  }
  const int32_t row_count = RowsWithin(plan, half, first_position, pending_count);
  if (row_count >= kMinChunkRows) return row_count;
  const int32_t least = std::min({LeastChunk(plan.row_count), pending_count, rows_left});
  // The oldest: whatever it costs.
  if (plan.shape.chunk_rows == 0 && !limit.is_spare) return least;
  return std::min(least, RowsWithin(plan, limit, first_position, pending_count));
}

int32_t ChunkSizer::RowsWithin(const StepPlan& plan, const StepLimit& limit, int32_t first_position,
                               int32_t pending_count) const {
  int32_t most = std::min(
      {pending_count, limit.rows - plan.row_count, limit.chunk_rows - plan.shape.chunk_rows});
  if (limit.has_seconds()) {
    most = std::min(most, cost_.trusted_chunk_rows() - plan.shape.chunk_rows);
  }
  if (most <= 0) return 0;
  const auto fits = [&](int32_t row_count) {
    if (plan.row_count + row_count <= limit.granted_rows) return true;
    StepShape shape = plan.shape;
    shape.AddChunk(first_position, row_count);
    return cost_.PredictSeconds(shape) <= limit.seconds;
  };
  if (fits(most)) return most;
  // In tiles of the whole step: `low` fits or adds nothing, `high` does not fit.
  int32_t low = plan.row_count / kTileRows;
  int32_t high = CeilDivide(plan.row_count + most, kTileRows);
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    (fits(middle * kTileRows - plan.row_count) ? low : high) = middle;
  }
  int32_t row_count = std::max(low * kTileRows - plan.row_count, 0);
  // Of a tile that others have begun, what fits: these wait for a whole one in vain.
  if (row_count > 0 || !limit.is_spare) return row_count;
  while (row_count < most && fits(row_count + 1)) ++row_count;
  return row_count;
}

void ChunkSizer::Extend(StepPlan& plan, const StepLimit& limit) const {
  for (PlannedSequence& planned : plan.sequences) {
    const int32_t position = planned.first_position + planned.row_count;
    const int32_t pending_count = planned.sequence->chunk_end() - position;
    if (pending_count <= 0) continue;
    const int32_t row_count = RowsWithin(plan, limit, position, pending_count);
    ExtendBy(planned, row_count, plan);
  }
}

void ChunkSizer::Probe(StepPlan& plan, const StepLimit& limit) const {
  constexpr double kWellInside = 0.85;
  if (cost_.PredictSeconds(plan.shape) > kWellInside * limit.seconds ||
      cost_.knows_chunks_beyond(plan.shape.chunk_rows) ||
      plan.shape.chunk_rows + kTileRows > cost_.trusted_chunk_rows()) {
    return;
  }
  for (PlannedSequence& planned : plan.sequences) {
    const int32_t position = planned.first_position + planned.row_count;
    const int32_t pending_count = planned.sequence->chunk_end() - position;
    if (pending_count <= 0) continue;
    ExtendBy(planned, std::min({kTileRows, pending_count, limit.rows - plan.row_count}), plan);
    return;
  }
}

}  // namespace weft
