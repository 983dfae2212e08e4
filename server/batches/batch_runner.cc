#include "server/batches/batch_runner.h"

#include <algorithm>
#include <exception>
#include <ranges>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sys/resource.h>

#include "base/log.h"
#include "server/http/server_context.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxActive = 8;  // what their inputs take in memory is bounded by it
constexpr std::chrono::milliseconds kPatience{1'000};
constexpr std::chrono::milliseconds kPauseWithoutRoom{200};
constexpr int kTagBits = 20;  // of a line's number

uint64_t TagOf(const StoredBatch& batch, int64_t line) {
  return (static_cast<uint64_t>(batch.sequence) << kTagBits) | static_cast<uint64_t>(line);
}
int64_t SequenceOf(uint64_t tag) { return static_cast<int64_t>(tag >> kTagBits); }
int64_t LineOf(uint64_t tag) { return static_cast<int64_t>(tag & ((1U << kTagBits) - 1)); }

std::string MakeResultId() { return MakeStoredId("batch_req_"); }

}  // namespace

BatchRunner::BatchRunner(ServerContext& context, FileStore& files, BatchStore& batches)
    : context_(context),
      files_(files),
      batches_(batches),
      pool_(context, context.options.batch_lines),
      thread_([this] { Work(); }) {}

BatchRunner::~BatchRunner() { Stop(); }

void BatchRunner::Notify() { pool_.Wake(); }

void BatchRunner::Stop() {
  is_stopped_ = true;
  pool_.Wake();
  if (thread_.joinable()) thread_.join();
}

void BatchRunner::Work() {
  constexpr int kNicest = 19;  // bodies are read on it, beside threads that somebody waits for
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNicest);
  while (!is_stopped_) {
    Result<void> done;
    try {
      done = Turn();
    } catch (const std::exception& exception) {
      done = Fail(ErrorCode::kInternal, "{}", exception.what());
    }
    if (done) continue;
    Log(LogLevel::kError, "batches: {}", done.error().message);
    std::this_thread::sleep_for(kPatience);
  }
  pool_.Abort([](uint64_t) { return true; });
}

Result<void> BatchRunner::Turn() {
  WEFT_RETURN_IF_ERROR(CleanUp());
  WEFT_RETURN_IF_ERROR(CheckInputs());
  WEFT_RETURN_IF_ERROR(TakeUp());
  WEFT_RETURN_IF_ERROR(EndWhatIsDone());
  WEFT_RETURN_IF_ERROR(AddLines());
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(not_before_ - Clock::now());
  const bool has_pause = pause > std::chrono::milliseconds(0);
  return KeepResults(pool_.Wait(has_pause ? std::min(pause, kPatience) : kPatience));
}

Result<void> BatchRunner::CleanUp() {
  constexpr int64_t kIntervalSeconds = 60;
  if (files_.now() < cleaned_at_ + kIntervalSeconds) return {};
  cleaned_at_ = files_.now();
  WEFT_RETURN_IF_ERROR(files_.RemoveExpired());
  return batches_.RemoveOld();
}

Result<void> BatchRunner::CheckInputs() {
  WEFT_ASSIGN_OR_RETURN(std::vector<StoredBatch> unchecked, batches_.Unchecked());
  for (StoredBatch& batch : unchecked) {
    if (is_stopped_) return {};
    WEFT_RETURN_IF_ERROR(CheckInput(std::move(batch)));
  }
  return {};
}

Result<void> BatchRunner::CheckInput(StoredBatch batch) {
  RegularFile file;
  WEFT_ASSIGN_OR_RETURN(BatchInput input, ReadInput(batch.object, file));
  if (!input.errors.empty()) return SetFailed(batch, std::move(input.errors));
  batch.object.status = BatchStatus::kInProgress;
  batch.object.in_progress_at = files_.now();
  batch.object.total_count = std::ssize(input.lines);
  // Where it has been cancelled meanwhile, that stays.
  return batches_.Update(batch, BatchStatus::kValidating).map([](bool) {});
}

Result<BatchInput> BatchRunner::ReadInput(const BatchObject& batch, RegularFile& file) const {
  Result<RegularFile> opened = files_.OpenInput(batch.input_file_id);
  if (opened) {
    file = *std::move(opened);
    return ReadBatchInput(file, batch.endpoint,
                          {.max_line_bytes = context_.options.max_body_bytes});
  }
  BatchInput missing;
  missing.errors = {
      {.code = "missing_file", .message = "the input file is gone", .param = {}, .line = {}}};
  return missing;
}

Result<void> BatchRunner::SetFailed(StoredBatch& batch, std::vector<BatchError> errors) {
  const BatchStatus status = batch.object.status;
  batch.object.errors = std::move(errors);
  batch.object.status = BatchStatus::kFailed;
  batch.object.failed_at = files_.now();
  return batches_.Update(batch, status).map([](bool) {});
}

Result<void> BatchRunner::TakeUp() {
  WEFT_ASSIGN_OR_RETURN(std::vector<StoredBatch> unended, batches_.Unended());
  for (StoredBatch& batch : unended) {
    const auto known = std::ranges::find(active_, batch.sequence,
                                         [](const auto& active) { return active->batch.sequence; });
    if (known != active_.end()) {
      (*known)->batch = std::move(batch);
      continue;
    }
    const bool ends_at_once = batch.object.status == BatchStatus::kCancelling;
    if (active_.size() < kMaxActive || ends_at_once) {
      WEFT_ASSIGN_OR_RETURN(std::unique_ptr<Active> begun, Begin(std::move(batch)));
      if (begun != nullptr) active_.push_back(std::move(begun));
    }
  }
  return {};
}

Result<std::unique_ptr<BatchRunner::Active>> BatchRunner::Begin(StoredBatch batch) {
  auto active = std::make_unique<Active>();
  active->batch = std::move(batch);
  const BatchObject& object = active->batch.object;
  if (object.status == BatchStatus::kValidating) return nullptr;  // the next turn checks it
  if (object.status != BatchStatus::kInProgress) return active;
  WEFT_ASSIGN_OR_RETURN(BatchInput input, ReadInput(object, active->file));
  if (!input.errors.empty()) {
    WEFT_RETURN_IF_ERROR(SetFailed(active->batch, std::move(input.errors)));
    return nullptr;
  }
  active->hold.emplace(context_.request_budget.batches());
  if (!active->hold->Take(input.lines.size() * sizeof(InputLine))) {
    not_before_ = Clock::now() + kPauseWithoutRoom;
    return nullptr;  // the next turn tries again
  }
  WEFT_ASSIGN_OR_RETURN(const std::set<int64_t> done, batches_.LinesDone(active->batch));
  std::erase_if(input.lines, [&](const InputLine& line) { return done.contains(line.number); });
  std::ranges::reverse(input.lines);
  active->lines = std::move(input.lines);
  return active;
}

Result<void> BatchRunner::EndWhatIsDone() {
  for (const std::unique_ptr<Active>& active : active_) {
    BatchObject& batch = active->batch.object;
    if (HasEnded(batch.status)) continue;
    if (batch.status == BatchStatus::kCancelling) {
      WEFT_RETURN_IF_ERROR(End(*active, BatchStatus::kCancelled));
    } else if (batch.status == BatchStatus::kInProgress && batch.expires_at <= files_.now()) {
      WEFT_RETURN_IF_ERROR(End(*active, BatchStatus::kExpired));
    } else if (batch.status == BatchStatus::kFinalizing) {
      WEFT_RETURN_IF_ERROR(End(*active, BatchStatus::kCompleted));
    } else if (active->lines.empty() && active->under_way.empty()) {
      batch.status = BatchStatus::kFinalizing;
      batch.finalizing_at = files_.now();
      WEFT_ASSIGN_OR_RETURN(const bool is_as_it_was,
                            batches_.Update(active->batch, BatchStatus::kInProgress));
      if (is_as_it_was) WEFT_RETURN_IF_ERROR(End(*active, BatchStatus::kCompleted));
    }
  }
  std::erase_if(active_, [](const auto& active) { return HasEnded(active->batch.object.status); });
  return {};
}

Result<void> BatchRunner::End(Active& active, BatchStatus status) {
  pool_.Abort([&](uint64_t tag) { return SequenceOf(tag) == active.batch.sequence; });
  if (status == BatchStatus::kExpired) WEFT_RETURN_IF_ERROR(AddExpiredLines(active));
  WEFT_RETURN_IF_ERROR(batches_.Finish(active.batch, status));
  const BatchObject& batch = active.batch.object;
  Log(LogLevel::kInfo, "{}: {}, {} of {} lines answered, {} refused", batch.id, NameOf(status),
      batch.completed_count, batch.total_count, batch.failed_count);
  return {};
}

Result<void> BatchRunner::AddExpiredLines(Active& active) {
  constexpr size_t kAtOnce = 1'000;
  for (auto& [number, line] : std::exchange(active.under_way, {})) active.lines.push_back(line);
  std::vector<LineResult> results;
  while (!active.lines.empty()) {
    const InputLine line = active.lines.back();
    WEFT_ASSIGN_OR_RETURN(const BatchLine read, ReadLineAt(active.file, line));
    active.lines.pop_back();
    results.push_back({.line = line.number,
                       .is_error = true,
                       .text = ExpiredLineJson(MakeResultId(), read.custom_id)});
    if (results.size() < kAtOnce && !active.lines.empty()) continue;
    WEFT_ASSIGN_OR_RETURN(const bool has_space, batches_.AddResults(active.batch, results));
    if (!has_space) return {};  // what was done counts more
    results.clear();
  }
  return {};
}

Result<void> BatchRunner::AddLines() {
  if (Clock::now() < not_before_) return {};
  while (pool_.has_room() && !is_stopped_) {
    // One of each in turn.
    const auto has_lines = [](const auto& active) { return !active->lines.empty(); };
    if (std::ranges::none_of(active_, has_lines)) return {};
    while (!has_lines(active_[turn_ % active_.size()])) ++turn_;
    WEFT_RETURN_IF_ERROR(AddLine(*active_[turn_++ % active_.size()]));
  }
  return {};
}

Result<void> BatchRunner::AddLine(Active& active) {
  const InputLine line = active.lines.back();
  WEFT_ASSIGN_OR_RETURN(BatchLine read, ReadLineAt(active.file, line));
  active.lines.pop_back();
  active.under_way.emplace(line.number, line);
  pool_.Add({.tag = TagOf(active.batch, line.number),
             .owner = active.batch.owner,
             .url = std::move(read.url),
             .custom_id = std::move(read.custom_id),
             .body = std::move(read.body)});
  return {};
}

Result<void> BatchRunner::KeepResults(std::vector<PoolResult> results) {
  Result<void> kept;
  for (const std::unique_ptr<Active>& active : active_) {
    std::vector<PoolResult> own;
    for (PoolResult& result : results) {
      if (SequenceOf(result.line.tag) == active->batch.sequence) own.push_back(std::move(result));
    }
    if (own.empty()) continue;
    const Result<void> own_kept = KeepResultsOf(*active, own);
    if (!own_kept) kept = own_kept;
  }
  return kept;
}

Result<void> BatchRunner::KeepResultsOf(Active& active, std::vector<PoolResult>& results) {
  std::vector<LineResult> lines;
  for (const PoolResult& result : results) {
    const auto line = active.under_way.find(LineOf(result.line.tag));
    if (!result.answer) {
      active.lines.push_back(line->second);
      active.under_way.erase(line);
      not_before_ = Clock::now() + kPauseWithoutRoom;
      continue;
    }
    lines.push_back(
        {.line = line->first,
         .is_error = result.answer->status != 200,
         .text = AnsweredLineJson(MakeResultId(), result.line.custom_id, *result.answer)});
  }
  if (lines.empty()) return {};
  const Result<bool> added = batches_.AddResults(active.batch, lines);
  for (const LineResult& line : lines) {
    const auto under_way = active.under_way.find(line.line);
    if (!added) active.lines.push_back(under_way->second);  // again, when the disk can be written
    active.under_way.erase(under_way);
  }
  if (!added) return tl::unexpected(added.error());
  if (!*added) {
    active.batch.object.errors = {{.code = "file_space_spent",
                                   .message = "there is no space for more results",
                                   .param = {},
                                   .line = {}}};
    return End(active, BatchStatus::kFailed);
  }
  for (const PoolResult& result : results) {
    if (!result.answer) continue;
    context_.metrics->CountBatchLine(result.answer->status == 200);
    if (active.batch.owner.empty()) continue;
    context_.metrics->CountKeyTokens(active.batch.owner, result.usage.prompt_tokens,
                                     result.usage.completion_tokens);
  }
  return {};
}

}  // namespace weft
