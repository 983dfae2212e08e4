#include "server/api/job_submission.h"

#include <limits>
#include <utility>

#include "engine/engine.h"
#include "server/api/structured/grammar_matcher.h"
#include "server/http/admission.h"
#include "server/http/server_context.h"

namespace weft {
namespace {

// What the engine's refusal of a request means to the client.
ApiError RefusalOf(const Error& refusal, const Engine& engine) {
  switch (refusal.code) {
    case ErrorCode::kResourceExhausted:
      return QueueFull(engine);
    case ErrorCode::kUnavailable:
      return ShuttingDown();
    case ErrorCode::kInvalidArgument:
      return HttpError(400, "invalid_value", refusal.message);
    default:
      return HttpError(500, "internal_error", refusal.message);
  }
}

}  // namespace

std::optional<ApiError> SubmitJob(GenerationJob& job, const std::shared_ptr<EventQueue>& queue,
                                  ServerContext& context, std::vector<RequestId>& engine_ids) {
  Engine& engine = *job.model->engine;
  if (!job.has_seed && engine_ids.empty()) job.sampling.seed = context.NextSeed();
  for (size_t i = engine_ids.size(); i < job.prompts.size(); ++i) {
    if (job.in_flight >= job.max_in_flight) break;
    Request request;
    request.id = engine.NextId();
    request.job_id = engine_ids.empty() ? request.id : engine_ids.front();
    if (engine.options().reads_sources) {
      request.source = job.prompts[i];
      request.prompt = job.target_prefix;
    } else {
      request.prompt = job.prompts[i];
      if (!job.second_texts.empty()) request.second_text = job.second_texts[i];
    }
    request.sampling = job.sampling;
    request.choice_count = job.choice_count;
    request.priority = job.priority;
    request.pooling = job.pooling;
    request.reads_prefix_cache = job.reads_prefix_cache;
    request.shared_counts = job.shared_counts;
    request.cache_salt = job.cache_salt;
    request.received = job.received;
    request.visible_tokens = job.visible_tokens;
    request.constraint = job.constraint;
    request.finish_by_length = job.finish_by_length;
    request.reports_progress = job.reports_progress;
    request.sink = std::make_shared<QueueSink>(queue, static_cast<int32_t>(i));
    const RequestId id = request.id;
    const Result<void> submitted = engine.Submit(std::move(request));
    if (!submitted) {
      // The queue is full, and the job has begun: there will be room later.
      const bool can_wait = job.max_in_flight < std::numeric_limits<int32_t>::max();
      const bool is_full = submitted.error().code == ErrorCode::kResourceExhausted;
      if (can_wait && is_full && !engine_ids.empty()) break;
      AbortJob(job, engine_ids);
      return RefusalOf(submitted.error(), engine);
    }
    std::exchange(job.prompts[i], {});  // `= {}` would keep its memory
    engine_ids.push_back(id);
    ++job.in_flight;
  }
  return std::nullopt;
}

void AbortJob(const GenerationJob& job, const std::vector<RequestId>& engine_ids) {
  for (const RequestId id : engine_ids) job.model->engine->Abort(id);
}

}  // namespace weft
