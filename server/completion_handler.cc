#include "server/completion_handler.h"

#include <ctime>
#include <limits>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/core.h>

#include "engine/engine.h"
#include "proto/sse.h"

namespace weft {
namespace {

namespace asio = boost::asio;

ApiError ServerError(int status, std::string code, std::string message) {
  ApiError error;
  error.status = status;
  error.type = "server_error";
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

// What the engine's refusal of a request means to the client.
ApiError RefusalOf(const Error& refusal) {
  ApiError error;
  error.message = refusal.message;
  switch (refusal.code) {
    case ErrorCode::kResourceExhausted:
      error.status = 429;
      error.type = "rate_limit_error";
      error.code = "queue_full";
      return error;
    case ErrorCode::kUnavailable:
      return ServerError(503, "shutting_down", "the server is shutting down; try another one");
    case ErrorCode::kInvalidArgument:
      error.code = "invalid_value";
      return error;
    default:
      return ServerError(500, "internal_error", refusal.message);
  }
}

asio::awaitable<ApiResult<CompletionJob>, asio::thread_pool::executor_type> PrepareOnPool(
    std::string_view body, const std::vector<ServedModel>& models) {
  co_return PrepareCompletion(body, models);
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Holds a place on the preparation threads.
struct PreparationSlot {
  explicit PreparationSlot(std::atomic<int32_t>& taken) : count(taken) {
    position = count.fetch_add(1);
  }
  ~PreparationSlot() { count.fetch_sub(1); }
  PreparationSlot(const PreparationSlot&) = delete;
  PreparationSlot& operator=(const PreparationSlot&) = delete;

  std::atomic<int32_t>& count;
  int32_t position = 0;
};

}  // namespace

asio::awaitable<ExchangeOutcome> SendResponse(Connection& connection, const HttpRequest& request,
                                              const HttpResponse& response, bool keep_alive) {
  std::string message = FormatHead(response, request, keep_alive, response.body.size());
  if (request.method != "HEAD") message += response.body;
  const bool written = co_await connection.WriteHead(std::move(message));
  ExchangeOutcome outcome;
  outcome.status = written ? response.status : kClientGone;
  outcome.keep_alive = written && keep_alive;
  co_return outcome;
}

CompletionHandler::CompletionHandler(Connection& connection, const HttpRequest& request,
                                     ServerContext& context)
    : connection_(connection),
      request_(request),
      context_(context),
      wakeup_(std::make_shared<Wakeup>(connection.executor())),
      queue_(MakeQueue()) {}

CompletionHandler::~CompletionHandler() {
  connection_.Unwatch();
  queue_->Close();
  if (assembler_ && !assembler_->finished()) AbortAll();
}

std::shared_ptr<EventQueue> CompletionHandler::MakeQueue() {
  // The queue outlives the handler (the engine's sinks hold it), so what it calls holds everything
  // it needs.
  auto wake = [connection = connection_.shared_from_this(), wakeup = wakeup_](bool overflowed) {
    asio::post(connection->executor(), [connection, wakeup, overflowed] {
      if (overflowed) connection->Abort();  // a write that the client does not take would not end
      wakeup->Signal();
    });
  };
  return std::make_shared<EventQueue>(context_.options.max_stream_backlog_bytes, std::move(wake));
}

asio::awaitable<ExchangeOutcome> CompletionHandler::Run() {
  if (context_.draining) {
    co_return co_await AnswerError(
        ServerError(503, "shutting_down", "the server is shutting down; try another one"));
  }
  ApiResult<CompletionJob> job = co_await Prepare();
  if (!job) co_return co_await AnswerError(std::move(job).error());
  job_ = *std::move(job);
  context_.metrics->CountUnknownFields(job_.request.unknown_field_count);
  assembler_.emplace(job_);
  first_token_times_.resize(static_cast<size_t>(assembler_->choice_count()));
  response_.id = "cmpl-" + context_.NextRequestId();
  response_.created = static_cast<int64_t>(std::time(nullptr));
  response_.model = job_.model->id;

  connection_.Watch([this] {
    client_gone_ = true;
    wakeup_->Signal();
  });
  if (std::optional<ApiError> refusal = Submit()) {
    co_return co_await AnswerError(*std::move(refusal));
  }
  ExchangeOutcome outcome;
  if (job_.request.stream) {
    outcome = co_await AnswerStream();
  } else {
    outcome = co_await AnswerWhole();
  }
  if (outcome.status == kClientGone) context_.metrics->CountDisconnect();
  co_return outcome;
}

asio::awaitable<ApiResult<CompletionJob>> CompletionHandler::Prepare() {
  if (request_.body.size() <= context_.options.inline_body_bytes) {
    co_return PrepareCompletion(request_.body, context_.models);
  }
  const PreparationSlot slot(context_.preparations);
  if (slot.position >= context_.options.max_preparations) {
    co_return tl::unexpected(ServerError(
        503, "overloaded", "too many long requests are being read; try again in a second"));
  }
  co_return co_await asio::co_spawn(context_.preparation.executor(),
                                    PrepareOnPool(request_.body, context_.models),
                                    asio::use_awaitable);
}

// An engine request a prompt; nullopt, or why one was refused (then none goes on).
std::optional<ApiError> CompletionHandler::Submit() {
  Engine& engine = *job_.model->engine;
  if (!job_.request.sampling.seed) job_.sampling.seed = context_.NextSeed();
  for (size_t i = 0; i < job_.prompts.size(); ++i) {
    const auto prompt_tokens = static_cast<int32_t>(job_.prompts[i].tokens.size());
    Request request;
    request.id = engine.NextId();
    request.prompt = std::move(job_.prompts[i].tokens);
    request.sampling = job_.sampling;
    request.choice_count = job_.request.n;
    request.sink = std::make_shared<QueueSink>(queue_, static_cast<int32_t>(i));
    const RequestId id = request.id;
    const Result<void> submitted = engine.Submit(std::move(request));
    if (!submitted) {
      AbortAll();
      return RefusalOf(submitted.error());
    }
    engine_ids_.push_back(id);
    context_.metrics->CountPrompt(prompt_tokens);
  }
  return std::nullopt;
}

void CompletionHandler::AbortAll() {
  for (const RequestId id : engine_ids_) job_.model->engine->Abort(id);
}

void CompletionHandler::Measure(const EngineEvent& event) {
  const auto index_of = [&](int32_t choice) {
    const int32_t index = event.prompt_index * job_.request.n + choice;
    return static_cast<size_t>(index);
  };
  if (const auto* tokens = std::get_if<TokensEvent>(&event.event)) {
    auto& first = first_token_times_[index_of(tokens->choice)];
    if (first) return;
    first = Clock::now();
    context_.metrics->ObserveTimeToFirstToken(SecondsSince(received_));
  } else if (const auto* finish = std::get_if<FinishEvent>(&event.event)) {
    context_.metrics->CountFinish(finish->reason, finish->completion_tokens);
    const auto& first = first_token_times_[index_of(finish->choice)];
    if (!first || finish->completion_tokens < 2) return;
    context_.metrics->ObserveTimePerOutputToken(SecondsSince(*first) /
                                                (finish->completion_tokens - 1));
  }
}

asio::awaitable<std::vector<CompletionChoice>> CompletionHandler::NextPieces() {
  std::vector<CompletionChoice> pieces;
  std::vector<EngineEvent> events = queue_->Drain();
  while (events.empty() && !client_gone()) {
    co_await wakeup_->Wait();
    events = queue_->Drain();
  }
  for (EngineEvent& event : events) {
    Measure(event);
    assembler_->Consume(std::move(event), pieces);
  }
  if (assembler_->finished()) context_.metrics->ObserveRequestDuration(SecondsSince(received_));
  co_return pieces;
}

std::string CompletionHandler::FormatPieces(std::vector<CompletionChoice> pieces) const {
  std::string events;
  CompletionResponse chunk = response_;
  chunk.usage_field = job_.request.include_usage ? UsageField::kNull : UsageField::kAbsent;
  for (CompletionChoice& piece : pieces) {
    chunk.choices.clear();
    chunk.choices.push_back(std::move(piece));
    events += SseEvent(ToJson(chunk));
  }
  if (!assembler_->finished()) return events;
  if (job_.request.include_usage) {
    chunk.choices.clear();
    chunk.usage_field = UsageField::kPresent;
    chunk.usage = assembler_->usage();
    events += SseEvent(ToJson(chunk));
  }
  events += kSseDone;
  return events;
}

asio::awaitable<bool> CompletionHandler::WriteStream(std::string events, bool is_last) {
  std::string data = request_.is_http_1_1 ? FormatChunk(events) : std::move(events);
  if (is_last && request_.is_http_1_1) data += kLastChunk;
  bool written = false;
  if (std::exchange(stream_begun_, true)) {
    written = co_await connection_.Write(data);
  } else {
    HttpResponse response;
    response.content_type = "text/event-stream; charset=utf-8";
    response.headers.emplace_back("Cache-Control", "no-cache");
    const bool keep_alive = request_.keep_alive && request_.is_http_1_1 && !context_.draining;
    std::string head = FormatHead(response, request_, keep_alive, std::nullopt);
    written = co_await connection_.WriteHead(std::move(head) + data);
  }
  co_return written;
}

asio::awaitable<ExchangeOutcome> CompletionHandler::AnswerStream() {
  while (true) {
    std::vector<CompletionChoice> pieces = co_await NextPieces();
    if (client_gone()) co_return Outcome(kClientGone, false);
    if (const std::optional<ApiError>& failure = assembler_->failure()) {
      AbortAll();
      if (!stream_begun_) co_return co_await AnswerError(*failure);
      co_await WriteStream(SseEvent(ToJson(*failure)), true);
      co_return Outcome(failure->status, false);
    }
    const bool is_last = assembler_->finished();
    std::string events = FormatPieces(std::move(pieces));
    if (events.empty()) continue;
    const bool written = co_await WriteStream(std::move(events), is_last);
    if (!written) co_return Outcome(kClientGone, false);
    if (is_last) co_return Outcome(200, request_.keep_alive && request_.is_http_1_1);
  }
}

asio::awaitable<ExchangeOutcome> CompletionHandler::AnswerWhole() {
  response_.choices.resize(static_cast<size_t>(assembler_->choice_count()));
  while (!assembler_->finished() && !assembler_->failure()) {
    std::vector<CompletionChoice> pieces = co_await NextPieces();
    if (client_gone()) co_return Outcome(kClientGone, false);
    for (CompletionChoice& piece : pieces) {
      CompletionChoice& whole = response_.choices[static_cast<size_t>(piece.index)];
      AppendPiece(std::move(piece), whole);
    }
  }
  if (assembler_->failure()) {
    AbortAll();
    co_return co_await AnswerError(*assembler_->failure());
  }
  response_.usage_field = UsageField::kPresent;
  response_.usage = assembler_->usage();
  HttpResponse response;
  response.body = ToJson(response_);
  const ExchangeOutcome sent = co_await SendResponse(connection_, request_, response,
                                                     request_.keep_alive && !context_.draining);
  co_return Outcome(sent.status, sent.keep_alive);
}

asio::awaitable<ExchangeOutcome> CompletionHandler::AnswerError(ApiError error) {
  const ExchangeOutcome sent = co_await SendResponse(connection_, request_, ErrorResponse(error),
                                                     request_.keep_alive && !context_.draining);
  co_return Outcome(sent.status, sent.keep_alive);
}

ExchangeOutcome CompletionHandler::Outcome(int status, bool keep_alive) const {
  ExchangeOutcome outcome;
  outcome.status = status;
  outcome.keep_alive = keep_alive;
  if (assembler_) {
    outcome.prompt_tokens = assembler_->usage().prompt_tokens;
    outcome.completion_tokens = assembler_->usage().completion_tokens;
  }
  return outcome;
}

}  // namespace weft
