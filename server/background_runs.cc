#include "server/background_runs.h"

#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "server/event_queue.h"
#include "server/generation_job.h"
#include "server/job_submission.h"
#include "server/responses_answer.h"
#include "server/server_context.h"
#include "server/tracing/request_spans.h"

namespace weft {

namespace asio = boost::asio;

// Lives in the map until it has ended.
class BackgroundRuns::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(GenerationJob job, ServerContext& context) : job_(std::move(job)), context_(context) {
    ++context_.active_requests;
  }
  ~Run() { --context_.active_requests; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::optional<ApiError> Submit(const asio::any_io_executor& executor) {
    const std::lock_guard lock(mutex_);
    auto wake = [executor, weak = weak_from_this()](bool overflowed) {
      asio::post(executor, [weak, overflowed] {
        if (const auto run = weak.lock()) run->Consume(overflowed);
      });
    };
    queue_ =
        std::make_shared<EventQueue>(context_.options.max_stream_backlog_bytes, std::move(wake));
    return SubmitJob(job_, queue_, context_, engine_ids_);
  }

  void Cancel() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    job_.background->Cancel();
    AbortJob(job_, engine_ids_);
    queue_->Close();
  }

 private:
  void Consume(bool overflowed) {
    bool ended = false;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      ended = ended_ = ConsumeLocked(overflowed);
    }
    if (!ended) return;
    if (job_.trace.sampled) {
      Tracer& tracer = *context_.tracer;
      tracer.Export(GenerationSpans(job_.trace, Summarize(job_), tracer));
    }
    context_.background.Remove(job_.background->id());
  }

  // True: it has ended.
  bool ConsumeLocked(bool overflowed) {
    ResponsesAnswer& answer = *job_.background;
    for (EngineEvent& event : queue_->Drain()) {
      answer.Consume(std::move(event));
    }
    if (answer.failure()) {
      answer.Fail(*answer.failure());
      return true;
    }
    if (answer.finished()) return true;
    if (overflowed) {
      answer.Fail(HttpError(503, "overloaded", "the server could not keep up with the model"));
      AbortJob(job_, engine_ids_);
      return true;
    }
    // Once, so that whoever looks sees that it has begun.
    if (!std::exchange(begun_, true)) answer.StoreUnfinished();
    return false;
  }

  std::mutex mutex_;
  GenerationJob job_;
  ServerContext& context_;
  std::shared_ptr<EventQueue> queue_;
  std::vector<RequestId> engine_ids_;
  bool begun_ = false;
  bool ended_ = false;
};

BackgroundRuns::~BackgroundRuns() = default;

ApiResult<std::string> BackgroundRuns::Start(GenerationJob job,
                                             const asio::any_io_executor& executor,
                                             ServerContext& context) {
  ResponsesAnswer& answer = *job.background;
  const std::string id = answer.id();
  std::string body = answer.WholeBody();
  if (!answer.StoreUnfinished()) {
    return tl::unexpected(HttpError(
        503, "overloaded", "the store has no room for another response in the background"));
  }
  auto run = std::make_shared<Run>(std::move(job), context);
  {
    const std::lock_guard lock(mutex_);
    runs_.emplace(id, run);
  }
  if (std::optional<ApiError> refusal = run->Submit(executor)) {
    Remove(id);
    context.responses.Erase(id);
    return tl::unexpected(*std::move(refusal));
  }
  return body;
}

void BackgroundRuns::Cancel(std::string_view id) {
  std::shared_ptr<Run> run;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(std::string(id));
    if (found == runs_.end()) return;
    run = std::move(found->second);
    runs_.erase(found);
  }
  run->Cancel();
}

void BackgroundRuns::Remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  runs_.erase(id);
}

}  // namespace weft
