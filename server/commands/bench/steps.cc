#include "server/commands/bench/steps.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "base/checked_math.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The blocks that a sequence holds in a group, the `sequence`-th as many.
std::vector<int32_t> BlocksOf(const StateGroup& group, SequenceShape shape, int64_t sequence) {
  const int64_t end = shape.first_position + shape.row_count;
  const int64_t held = group.MostBlocks(end, shape.row_count, kBenchBlockSize);
  std::vector<int32_t> blocks(static_cast<size_t>(CeilDivide(end, kBenchBlockSize)), kNoBlock);
  const int64_t first = group.FirstVisible(shape.first_position) / kBenchBlockSize;
  if (group.is_recurrent) {
    blocks.back() = static_cast<int32_t>(sequence * held + held - 1);
    blocks[static_cast<size_t>(first)] = static_cast<int32_t>(sequence * held);
    return blocks;
  }
  for (int64_t i = first; i < std::ssize(blocks); ++i) {
    blocks[static_cast<size_t>(i)] = static_cast<int32_t>(sequence * held + i % held);
  }
  return blocks;
}

// One step's batch with the storage that its spans need: sequences of the same shape, each on
// blocks of its own, tokens at random (so that they spread over experts).
class BenchBatch {
 public:
  BenchBatch(std::span<const StateGroup> groups, int32_t sequence_count, SequenceShape shape,
             bool wants_logits, int64_t vocab_size, std::mt19937_64& random) {
    blocks_.reserve(static_cast<size_t>(sequence_count) * groups.size());
    block_tables_.reserve(blocks_.capacity());
    for (int32_t sequence = 0; sequence < sequence_count; ++sequence) {
      for (const StateGroup& group : groups) {
        block_tables_.emplace_back(blocks_.emplace_back(BlocksOf(group, shape, sequence)));
      }
      sequences_.push_back({.first_row = static_cast<int32_t>(token_ids_.size()),
                            .row_count = static_cast<int32_t>(shape.row_count),
                            .first_position = static_cast<int32_t>(shape.first_position),
                            .block_tables = std::span(block_tables_).last(groups.size())});
      for (int64_t row = 0; row < shape.row_count; ++row) {
        token_ids_.push_back(static_cast<TokenId>(random() % static_cast<uint64_t>(vocab_size)));
        positions_.push_back(static_cast<int32_t>(shape.first_position + row));
      }
      if (wants_logits) logit_rows_.push_back(static_cast<int32_t>(token_ids_.size()) - 1);
    }
    phases_.assign(token_ids_.size(),
                   shape.row_count > 1 ? TokenPhase::kPrompt : TokenPhase::kGenerated);
  }

  ForwardBatch view() const {
    return {.token_ids = token_ids_,
            .positions = positions_,
            .phases = phases_,
            .sequences = sequences_,
            .logit_rows = logit_rows_};
  }

 private:
  std::vector<TokenId> token_ids_;
  std::vector<int32_t> positions_;
  std::vector<TokenPhase> phases_;
  std::vector<std::vector<int32_t>> blocks_;
  std::vector<std::span<const int32_t>> block_tables_;
  std::vector<SequenceSpan> sequences_;
  std::vector<int32_t> logit_rows_;
};

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double SpreadOf(const std::vector<double>& values) {
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  return (*largest - *smallest) / Median(values);
}

Result<double> StepBench::Step(int32_t sequence_count, SequenceShape shape, bool wants_logits,
                               StepWork& work) {
  const BenchBatch batch(runner_.groups(), sequence_count, shape, wants_logits,
                         runner_.vocab_size(), random_);
  const Clock::time_point start = Clock::now();
  WEFT_RETURN_IF_ERROR(runner_.Run(batch.view(), [](int64_t, int, float*) {}));
  const double seconds = SecondsSince(start);
  const std::vector<SequenceShape> shapes(static_cast<size_t>(sequence_count), shape);
  work.Add(CountWork(cost_, shapes, wants_logits ? sequence_count : 0));
  return seconds;
}

Result<double> StepBench::PrefillOnce(int32_t token_count, StepWork& work) {
  double seconds = 0;
  for (int32_t first = 0; first < token_count; first += options_.max_batch_tokens) {
    const int32_t count = std::min(options_.max_batch_tokens, token_count - first);
    WEFT_ASSIGN_OR_RETURN(const double chunk_seconds,
                          Step(1, {first, count}, first + count == token_count, work));
    seconds += chunk_seconds;
  }
  return seconds;
}

Result<void> StepBench::WarmUp() {
  StepWork unused;
  int64_t count = options_.max_batch_tokens;
  for (const StateGroup& group : runner_.groups()) {
    count = std::min(count, group.block_count * kBenchBlockSize);
  }
  WEFT_RETURN_IF_ERROR(Step(1, {0, count}, /*wants_logits=*/true, unused));
  const int64_t written = CeilDivide(count, kBenchBlockSize);
  for (size_t group = 0; group < runner_.groups().size(); ++group) {
    for (int64_t block = written; block < runner_.groups()[group].block_count; ++block) {
      runner_.CopyBlock(group, static_cast<int32_t>(block % written), static_cast<int32_t>(block));
    }
  }
  return {};
}

void StepBench::AddFloorAndProfile(const StepWork& work, int64_t step_count, BenchRow& row) const {
  if (limits_ != nullptr) {
    row.floor = FloorOf(work, *limits_);
    row.floor->seconds /= static_cast<double>(step_count);
  }
  if (options_.profile) {
    row.profile = profile_;
    row.profiled_steps = step_count;
  }
}

Result<BenchRow> StepBench::Prefill(int32_t token_count) {
  profile_ = {};
  runner_.set_profile(options_.profile ? &profile_ : nullptr);
  std::vector<double> seconds;
  StepWork work;
  const Clock::time_point start = Clock::now();
  do {
    WEFT_ASSIGN_OR_RETURN(const double once, PrefillOnce(token_count, work));
    seconds.push_back(once);
  } while (std::ssize(seconds) < options_.repetitions &&
           SecondsSince(start) < options_.time_limit_s);
  runner_.set_profile(nullptr);

  const int64_t chunk_count = CeilDivide(token_count, options_.max_batch_tokens);
  BenchRow row;
  row.test = "prefill";
  row.size = token_count;
  row.tokens_per_s = token_count / Median(seconds);
  row.step_seconds = Median(seconds) / static_cast<double>(chunk_count);
  row.spread = SpreadOf(seconds);
  row.repetitions = static_cast<int>(seconds.size());
  AddFloorAndProfile(work, chunk_count * std::ssize(seconds), row);
  return row;
}

Result<BenchRow> StepBench::Decode(int32_t batch, int32_t context) {
  StepWork work;
  WEFT_RETURN_IF_ERROR(Step(batch, {context, 1}, /*wants_logits=*/true, work));
  work = {};
  profile_ = {};
  runner_.set_profile(options_.profile ? &profile_ : nullptr);
  std::vector<double> step_seconds;  // the mean of each repetition
  int64_t step_count = 0;
  const Clock::time_point start = Clock::now();
  for (int i = 1; i <= options_.repetitions; ++i) {
    const double time_limit_s = options_.time_limit_s * i / options_.repetitions;
    double seconds = 0;
    int32_t steps = 0;
    do {
      WEFT_ASSIGN_OR_RETURN(const double once, Step(batch, {context + steps, 1}, true, work));
      seconds += once;
      ++steps;
    } while (steps < options_.generate_tokens && SecondsSince(start) < time_limit_s);
    step_seconds.push_back(seconds / steps);
    step_count += steps;
  }
  runner_.set_profile(nullptr);

  BenchRow row;
  row.test = "decode";
  row.size = batch;
  row.context = context;
  row.step_seconds = Median(step_seconds);
  row.tokens_per_s = batch / row.step_seconds;
  row.spread = SpreadOf(step_seconds);
  row.repetitions = options_.repetitions;
  AddFloorAndProfile(work, step_count, row);
  return row;
}

}  // namespace weft
