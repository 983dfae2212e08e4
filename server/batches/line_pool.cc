#include "server/batches/line_pool.h"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <mutex>
#include <new>
#include <utility>
#include <variant>

#include "base/log.h"
#include "server/api/event_queue.h"
#include "server/api/generation_job.h"
#include "server/api/job_memory.h"
#include "server/api/job_submission.h"
#include "server/api/request_models.h"
#include "server/api/route_functions.h"
#include "server/http/router.h"
#include "server/http/server_context.h"
#include "server/models/pending_model.h"

namespace weft {
namespace {

// Whether it is worth trying again later.
bool IsForNow(const ApiError& error) { return error.status == 429 || error.status == 503; }

}  // namespace

// Set on engine threads, which must not wait: nothing long is done under its mutex.
class LinePool::Signal {
 public:
  void Set() {
    {
      const std::lock_guard lock(mutex_);
      is_set_ = true;
    }
    changed_.notify_one();
  }
  void WaitFor(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return is_set_; });
    is_set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

class LinePool::Run {
 public:
  Run(PoolLine line, ServerContext& context, const std::shared_ptr<Signal>& signal)
      : context_(context),
        queue_(std::make_shared<EventQueue>(context.options.max_stream_backlog_bytes,
                                            context.request_budget.batches(),
                                            [signal](bool) { signal->Set(); })),
        signal_(signal) {
    result_.line = std::move(line);
    Guarded([this] { Begin(); });
    if (has_ended_) signal->Set();
  }
  ~Run() {
    queue_->Close();
    const bool is_answered = job_.answer != nullptr && job_.answer->finished();
    if (!is_answered) AbortJob(job_, engine_ids_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  uint64_t tag() const { return result_.line.tag; }
  // What has come meanwhile. True: it has ended.
  bool Consume() {
    if (!has_ended_) Guarded([this] { pending_ ? TakeModel() : TakeEvents(); });
    return has_ended_;
  }
  PoolResult TakeResult() { return std::move(result_); }

 private:
  // The top of a handler: what is thrown, for want of memory most likely, ends here.
  void Guarded(const std::function<void()>& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      End(std::nullopt);
    } catch (const std::exception& exception) {
      Log(LogLevel::kError, "a line of a batch: {}", exception.what());
      Refuse(HttpError(500, "internal_error", exception.what()));
    }
  }

  void Begin() {
    const std::string& body = result_.line.body;
    const uint64_t working_bytes = PreparationBytes(body).Count();
    if (auto refusal = HoldMore(held_, kExchangeBytes + body.size() + working_bytes)) {
      return Refuse(*refusal);
    }
    Prepare();
  }

  void Prepare() {
    const std::string& body = result_.line.body;
    const PrepareFunction prepare =
        PrepareFunctionOf(FindRoute("POST", result_.line.url).route->id);
    const std::string& owner = result_.line.owner;
    RequestModels models(*context_.models);
    if (lease_ != nullptr) models.Keep(lease_);
    ApiResult<GenerationJob> job = prepare(body, {.models = models,
                                                  .rules = context_.options.rules,
                                                  .responses = &context_.responses,
                                                  .owner = owner});
    if (!job && lease_ == nullptr && !models.needed_id().empty()) {
      return LoadModel(models.needed_id());
    }
    if (!job) return Refuse(job.error());
    if (job->background != nullptr) {
      return Refuse(InvalidField("background", "'background' must be false in a batch's line"));
    }
    job_ = *std::move(job);
    job_.lease = models.lease();
    held_.Give(PreparationBytes(body).Count());
    job_.hold = std::move(held_);
    if (auto refusal = HoldPrepared(job_, body.size())) return Refuse(*refusal);
    if (!owner.empty() && !context_.options.keys_share_prefixes) KeepPrefixesOf(owner, job_);
    job_.priority = kBackgroundPriority;
    job_.received = std::chrono::steady_clock::now();
    context_.metrics->CountUnknownFields(job_.unknown_field_count);
    context_.metrics->CountLooseTools(job_.loose_tool_count);
    job_.answer->Begin(request_id_, static_cast<int64_t>(std::time(nullptr)));
    if (job_.answer->finished()) return Answer();  // there is nothing to compute
    Submit();
  }

  void LoadModel(const std::string& id) {
    ApiResult<PendingModel> pending =
        PendingModel::Begin(*context_.models, id, [signal = signal_] { signal->Set(); });
    if (!pending) return Refuse(pending.error());
    pending_.emplace(*std::move(pending));
  }

  void TakeModel() {
    if (!pending_->has_ended()) return;
    ApiResult<ModelLease> model = pending_->Take();
    pending_.reset();
    if (!model) return Refuse(model.error());
    lease_ = *std::move(model);
    Prepare();
  }

  void Submit() {
    if (auto refusal = SubmitJob(job_, queue_, context_, engine_ids_)) Refuse(*refusal);
  }

  void TakeEvents() {
    if (queue_->overflowed()) return End(std::nullopt);
    std::vector<EngineEvent> events = queue_->Drain();
    if (auto refusal = HoldEvents(events, job_)) return Refuse(*refusal);
    for (EngineEvent& event : events) {
      const auto* finish = std::get_if<FinishEvent>(&event.event);
      if (finish != nullptr && finish->last) --job_.in_flight;
      job_.answer->Consume(std::move(event));
    }
    if (job_.answer->failure()) return Refuse(*job_.answer->failure());
    if (job_.answer->finished()) return Answer();
    if (engine_ids_.size() < job_.prompts.size()) Submit();
  }

  void Answer() {
    result_.usage = job_.answer->usage();
    End(LineAnswer{.status = 200, .request_id = request_id_, .body = job_.answer->WholeBody()});
  }

  void Refuse(const ApiError& error) {
    if (IsForNow(error)) return End(std::nullopt);
    End(LineAnswer{.status = error.status, .request_id = request_id_, .body = ToJson(error)});
  }

  void End(std::optional<LineAnswer> answer) {
    result_.answer = std::move(answer);
    has_ended_ = true;
  }

  ServerContext& context_;
  const std::shared_ptr<EventQueue> queue_;
  const std::shared_ptr<Signal> signal_;
  PoolResult result_;
  ByteBudget::Hold held_{context_.request_budget.batches()};  // then the job's
  std::optional<PendingModel> pending_;                       // the model that is waited for
  ModelLease lease_;                                          // of it
  GenerationJob job_;
  const std::string request_id_ = context_.NextRequestId();
  std::vector<RequestId> engine_ids_;
  bool has_ended_ = false;
};

LinePool::LinePool(ServerContext& context, int32_t max_lines)
    : context_(context), max_lines_(max_lines), signal_(std::make_shared<Signal>()) {}

LinePool::~LinePool() = default;

void LinePool::Add(PoolLine line) {
  runs_.push_back(std::make_unique<Run>(std::move(line), context_, signal_));
}

std::vector<PoolResult> LinePool::Wait(std::chrono::milliseconds patience) {
  signal_->WaitFor(patience);
  std::vector<PoolResult> results;
  for (auto run = runs_.begin(); run != runs_.end();) {
    if ((*run)->Consume()) {
      results.push_back((*run)->TakeResult());
      run = runs_.erase(run);
    } else {
      ++run;
    }
  }
  return results;
}

void LinePool::Wake() { signal_->Set(); }

void LinePool::Abort(const std::function<bool(uint64_t tag)>& is_meant) {
  runs_.remove_if([&](const std::unique_ptr<Run>& run) { return is_meant(run->tag()); });
}

}  // namespace weft
