#include "server/api/generation_handler.h"

#include <ctime>
#include <functional>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "engine/engine.h"
#include "proto/responses/responses_response.h"
#include "server/api/job_memory.h"
#include "server/api/job_submission.h"
#include "server/api/model_wait.h"
#include "server/api/preparation.h"
#include "server/http/admission.h"
#include "server/http/web_socket.h"

namespace weft {
namespace {

namespace asio = boost::asio;

// What the log probabilities of prompts, which come all at once, become in an answer.
size_t LogprobBytesOf(const std::vector<EngineEvent>& events) {
  size_t count = 0;
  for (const EngineEvent& event : events) {
    const auto* logprobs = std::get_if<PromptLogprobs>(&event.event);
    if (logprobs == nullptr || logprobs->empty()) continue;
    count += logprobs->size() * (1 + logprobs->back().top.size());
  }
  return count * kCompletionLogprobBytes;
}

}  // namespace

asio::awaitable<ExchangeOutcome> SendResponse(Connection& connection, const HttpRequest& request,
                                              const HttpResponse& response, bool keep_alive) {
  constexpr size_t kMaxCopiedBytes = 16384;  // less is copied than a second packet costs
  std::string message = FormatHead(response, request, keep_alive, response.content().size());
  const bool has_body = request.method != "HEAD" && response.status != 304;
  std::string_view body = has_body ? response.content() : "";
  if (body.size() <= kMaxCopiedBytes) message += std::exchange(body, "");
  bool written = co_await connection.WriteHead(std::move(message));
  if (written) written = co_await connection.Write(body);
  ExchangeOutcome outcome;
  outcome.status = written ? response.status : kClientGone;
  outcome.keep_alive = written && keep_alive;
  co_return outcome;
}

GenerationHandler::GenerationHandler(Connection& connection, HttpRequest& request,
                                     ServerContext& context, PrepareFunction prepare,
                                     ByteBudget::Hold held, const SocketTurn* socket)
    : connection_(connection),
      request_(request),
      body_(std::exchange(request.body, {})),
      held_(std::move(held)),
      context_(context),
      wakeup_(std::make_shared<Wakeup>(connection.executor())),
      queue_(MakeQueue()),
      prepare_(prepare),
      socket_(socket) {}

GenerationHandler::~GenerationHandler() {
  connection_.Unwatch();
  queue_->Close();
  if (job_.answer && !job_.answer->finished()) AbortJob(job_, engine_ids_);
}

std::shared_ptr<EventQueue> GenerationHandler::MakeQueue() {
  // The queue outlives the handler (the engine's sinks hold it), so what it calls holds everything
  // it needs.
  auto wake = [connection = connection_.shared_from_this(), wakeup = wakeup_](bool overflowed) {
    asio::post(connection->executor(), [connection, wakeup, overflowed] {
      if (overflowed) connection->Abort();  // a write that the client does not take would not end
      wakeup->Signal();
    });
  };
  return std::make_shared<EventQueue>(context_.options.max_stream_backlog_bytes,
                                      context_.BudgetOf(request_.key_name), std::move(wake));
}

asio::awaitable<ExchangeOutcome> GenerationHandler::Run() {
  if (context_.draining) co_return co_await AnswerError(ShuttingDown());
  ApiResult<GenerationJob> job = co_await Prepare();
  if (!job) co_return co_await AnswerError(std::move(job).error());
  job_ = *std::move(job);
  job_.received = received_;
  job_.trace = request_.trace;
  context_.metrics->CountUnknownFields(job_.unknown_field_count);
  context_.metrics->CountLooseTools(job_.loose_tool_count);
  if (!job_.dropped_tools.empty()) ReportDroppedTools();
  job_.answer->Begin(context_.NextRequestId(), static_cast<int64_t>(std::time(nullptr)));

  if (job_.background != nullptr) co_return co_await AnswerBackground();
  if (job_.answer->finished()) co_return co_await AnswerWhole();  // there is nothing to compute
  std::function<void()> on_readable;
  if (socket_ != nullptr) on_readable = [this] { wakeup_->Signal(); };
  connection_.Watch(
      [this] {
        client_gone_ = true;
        wakeup_->Signal();
      },
      std::move(on_readable));
  if (std::optional<ApiError> refusal = SubmitJob(job_, queue_, context_, engine_ids_)) {
    co_return co_await AnswerError(*std::move(refusal));
  }
  ExchangeOutcome outcome;
  if (job_.stream) {
    outcome = co_await AnswerStream();
  } else {
    outcome = co_await AnswerWhole();
  }
  if (outcome.status == kClientGone) context_.metrics->CountDisconnect();
  co_return outcome;
}

asio::awaitable<ApiResult<GenerationJob>> GenerationHandler::Prepare() {
  ApiResult<GenerationJob> job = co_await PrepareBody();
  if (!job) co_return job;
  job->hold = std::move(held_);
  const size_t body_bytes = std::exchange(body_, {}).size();
  if (std::optional<ApiError> refusal = HoldPrepared(*job, body_bytes)) {
    co_return tl::unexpected(*std::move(refusal));
  }
  co_return job;
}

asio::awaitable<ApiResult<GenerationJob>> GenerationHandler::PrepareBody() {
  const size_t body_bytes = body_.size();
  const size_t inline_bytes = context_.options.inline_body_bytes;
  RequestModels models(*context_.models);
  PrepareContext context{.models = models,
                         .rules = context_.options.rules,
                         .responses = &context_.responses,
                         .owner = request_.key_name};
  if (socket_ != nullptr) context.socket = &socket_->state;
  // What a long body's work holds is of its size.
  context.max_bytes = body_bytes <= inline_bytes ? inline_bytes : 2 * body_bytes;
  context.may_compile = body_bytes > inline_bytes;
  ApiResult<GenerationJob> job = co_await RunPrepare(context);
  if (!job && !models.needed_id().empty()) {
    ApiResult<ModelLease> model = co_await AwaitModel(
        models.needed_id(), connection_, context_, socket_ == nullptr ? nullptr : &socket_->socket);
    if (!model) co_return tl::unexpected(std::move(model).error());
    models.Keep(*std::move(model));
    job = co_await RunPrepare(context);
  }
  if (job) job->lease = models.lease();
  // Also where there is one key: after a reload it may be another's, or one of several.
  if (job && !request_.key_name.empty() && !context_.options.keys_share_prefixes) {
    KeepPrefixesOf(request_.key_name, *job);
  }
  co_return job;
}

asio::awaitable<ApiResult<GenerationJob>> GenerationHandler::RunPrepare(PrepareContext& context) {
  const size_t body_bytes = body_.size();
  ApiResult<GenerationJob> job;
  const std::function<void()> work = [&] { job = prepare_(body_, context); };
  ApiResult<void> run =
      co_await RunHeldPreparation(context_, body_bytes, PreparationBytes(body_), held_, work);
  if (run && job && job->excess_bytes > 0) {  // it stands for more than it holds
    context.max_bytes = std::numeric_limits<size_t>::max();
    context.may_compile = true;
    const size_t excess_bytes = job->excess_bytes;
    run = co_await RunHeldPreparation(context_, excess_bytes, PreparationBytes(excess_bytes), held_,
                                      work);
  }
  if (!run) co_return tl::unexpected(run.error());
  co_return job;
}

void GenerationHandler::ReportDroppedTools() {
  const std::string types = fmt::format("{}", fmt::join(job_.dropped_tools, ", "));
  Log(LogLevel::kInfo, "request {}: left out tools that no server here runs: {}", request_.id,
      types);
  request_.answer_headers.emplace_back("weft-dropped-tools", types);
}

void GenerationHandler::SubmitMore() {
  late_refusal_ = SubmitJob(job_, queue_, context_, engine_ids_);
}

// Where the queue was full although nothing of this request is in it.
asio::awaitable<void> GenerationHandler::SubmitLater() {
  constexpr std::chrono::milliseconds kPause{20};
  asio::steady_timer timer(connection_.executor(), kPause);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  SubmitMore();
}

asio::awaitable<void> GenerationHandler::AttendToSocket() {
  if (socket_ == nullptr) co_return;
  const bool is_there = co_await socket_->socket.AnswerPings();
  if (!is_there) client_gone_ = true;
}

asio::awaitable<void> GenerationHandler::ConsumeEvents() {
  if (job_.in_flight == 0) co_return co_await SubmitLater();
  co_await AttendToSocket();
  std::vector<EngineEvent> events = queue_->Drain();
  while (events.empty() && !client_gone()) {
    co_await wakeup_->Wait();
    co_await AttendToSocket();
    events = queue_->Drain();
  }
  late_refusal_ = HoldEvents(events, job_);
  if (late_refusal_) co_return;
  event_bytes_ = LogprobBytesOf(events);
  const std::function<void()> consume = [&] {
    for (EngineEvent& event : events) {
      const auto* finish = std::get_if<FinishEvent>(&event.event);
      if (finish != nullptr && finish->last) --job_.in_flight;
      job_.answer->Consume(std::move(event));
    }
  };
  co_await RunAnswering(context_, event_bytes_, consume);
  const bool has_more = engine_ids_.size() < job_.prompts.size();
  if (has_more && !job_.answer->failure()) SubmitMore();
}

asio::awaitable<bool> GenerationHandler::WriteStream(std::string events, bool is_last) {
  if (socket_ != nullptr) {
    stream_begun_ = true;
    co_return co_await socket_->socket.WriteEvents(events);
  }
  std::string data = request_.is_http_1_1 ? FormatChunk(events) : std::move(events);
  if (is_last && request_.is_http_1_1) data += kLastChunk;
  bool written = false;
  if (std::exchange(stream_begun_, true)) {
    written = co_await connection_.Write(data);
  } else {
    HttpResponse response;
    response.content_type = job_.answer->StreamType();
    response.headers.emplace_back("Cache-Control", "no-cache");
    const bool keep_alive = request_.keep_alive && request_.is_http_1_1 && !context_.draining;
    std::string head = FormatHead(response, request_, keep_alive, std::nullopt);
    written = co_await connection_.WriteHead(std::move(head) + data);
  }
  co_return written;
}

asio::awaitable<ExchangeOutcome> GenerationHandler::AnswerStream() {
  GenerationAnswer& answer = *job_.answer;
  while (true) {
    co_await ConsumeEvents();
    if (client_gone()) co_return Outcome(kClientGone, false);
    if (const std::optional<ApiError>& failure = late_refusal_ ? late_refusal_ : answer.failure()) {
      AbortJob(job_, engine_ids_);
      if (!stream_begun_) co_return co_await AnswerError(*failure);
      co_await WriteStream(answer.StreamError(*failure), true);
      co_return Outcome(failure->status, false);
    }
    const bool is_last = answer.finished();
    std::string events;
    const std::function<void()> take = [&] { events = answer.TakeStreamText(); };
    co_await RunAnswering(context_, event_bytes_, take);
    if (events.empty()) continue;
    const bool written = co_await WriteStream(std::move(events), is_last);
    if (!written) co_return Outcome(kClientGone, false);
    if (is_last) co_return Outcome(200, request_.keep_alive && request_.is_http_1_1);
  }
}

asio::awaitable<ExchangeOutcome> GenerationHandler::AnswerWhole() {
  GenerationAnswer& answer = *job_.answer;
  while (!answer.finished() && !answer.failure()) {
    co_await ConsumeEvents();
    if (client_gone()) co_return Outcome(kClientGone, false);
    if (late_refusal_) co_return co_await AnswerError(*late_refusal_);
  }
  if (answer.failure()) {
    AbortJob(job_, engine_ids_);
    co_return co_await AnswerError(*answer.failure());
  }
  HttpResponse response;
  const std::function<void()> make = [&] { response.body = answer.WholeBody(); };
  const LogprobUse& logprobs = job_.logprobs;
  co_await RunAnswering(
      context_, job_.answer_bytes + static_cast<uint64_t>(logprobs.count) * logprobs.bytes_each,
      make);
  const ExchangeOutcome sent = co_await SendResponse(connection_, request_, response,
                                                     request_.keep_alive && !context_.draining);
  co_return Outcome(sent.status, sent.keep_alive);
}

asio::awaitable<ExchangeOutcome> GenerationHandler::AnswerBackground() {
  ApiResult<std::string> body =
      context_.background.Start(std::move(job_), connection_.executor(), context_);
  if (!body) co_return co_await AnswerError(std::move(body).error());
  HttpResponse response;
  response.body = *std::move(body);
  const ExchangeOutcome sent = co_await SendResponse(connection_, request_, response,
                                                     request_.keep_alive && !context_.draining);
  co_return Outcome(sent.status, sent.keep_alive);
}

asio::awaitable<ExchangeOutcome> GenerationHandler::AnswerError(ApiError error) {
  if (socket_ != nullptr) {
    const bool written = co_await socket_->socket.WriteText(SocketErrorJson(error));
    co_return Outcome(written ? error.status : kClientGone, written);
  }
  const ExchangeOutcome sent =
      co_await SendResponse(connection_, request_, ErrorResponse(error, request_),
                            request_.keep_alive && !context_.draining);
  co_return Outcome(sent.status, sent.keep_alive);
}

ExchangeOutcome GenerationHandler::Outcome(int status, bool keep_alive) const {
  ExchangeOutcome outcome;
  outcome.status = status;
  outcome.keep_alive = keep_alive;
  outcome.ignored_fields = job_.unknown_field_count;
  if (job_.answer) {
    outcome.prompt_tokens = job_.answer->usage().prompt_tokens;
    outcome.completion_tokens = job_.answer->usage().completion_tokens;
    if (request_.trace.sampled) outcome.generation = Summarize(job_);
  }
  return outcome;
}

}  // namespace weft
