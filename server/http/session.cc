#include "server/http/session.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <fmt/core.h>

#include "base/log.h"
#include "server/api/batches/batch_answers.h"
#include "server/api/files/file_answers.h"
#include "server/api/files/upload_receiver.h"
#include "server/api/job_memory.h"
#include "server/api/model_wait.h"
#include "server/api/models/model_commands.h"
#include "server/api/plain_handlers.h"
#include "server/api/preparation.h"
#include "server/api/responses/responses_socket.h"
#include "server/api/responses/stored_responses.h"
#include "server/api/route_functions.h"
#include "server/api/watch/watch_stream.h"
#include "server/http/access_log.h"
#include "server/http/active_request.h"
#include "server/http/admission.h"
#include "server/http/head_checks.h"
#include "server/http/processor_clock.h"
#include "server/http/read_error.h"
#include "server/http/request_framing.h"
#include "server/http/web_socket.h"
#include "server/tracing/request_spans.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr size_t kShortAnswerBytes = 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The answer where there is no memory to make one.
constexpr std::string_view kNoMemory =
    "HTTP/1.1 503 Service Unavailable\r\nServer: weft\r\nContent-Type: application/json\r\n"
    "Retry-After: 1\r\nContent-Length: 129\r\nConnection: close\r\n\r\n"
    R"({"error":{"message":"the server is out of memory; try again in a second",)"
    R"("type":"server_error","param":null,"code":"overloaded"}})";

// What a head may announce. Which route's it is says LimitBody.
uint64_t LargestBody(const ServerContext& context) {
  constexpr uint64_t kFormBytes = 65536;  // of an upload, beside its file
  const uint64_t max_bytes = context.options.max_body_bytes;
  return context.files == nullptr ? max_bytes : std::max(max_bytes, kMaxFileBytes + kFormBytes);
}

// Of a request whose head is there. False: it announces more.
bool LimitBody(uint64_t max_bytes, RequestParser& parser) {
  parser.body_limit(max_bytes);
  return parser.content_length().value_or(0) <= max_bytes;
}

class Session {
 public:
  Session(std::shared_ptr<Connection> connection, Entrance entrance, ServerContext& context)
      : connection_(std::move(connection)), entrance_(entrance), context_(context) {}

  asio::awaitable<void> Run();

 private:
  asio::awaitable<bool> Secure();
  asio::awaitable<bool> ServeOne();
  asio::awaitable<ExchangeOutcome> Answer(ReadStatus status, RequestParser& parser,
                                          Clock::time_point started);
  asio::awaitable<ExchangeOutcome> Exchange(RequestParser& parser, HttpRequest& request,
                                            const RouteMatch& match, CpuStopwatch& spent);
  asio::awaitable<ExchangeOutcome> AnswerWithoutBody(const RequestParser& parser,
                                                     const HttpRequest& request,
                                                     const HttpResponse& answer);
  asio::awaitable<ExchangeOutcome> Dispatch(HttpRequest& request, const RouteMatch& match,
                                            ByteBudget::Hold held);
  asio::awaitable<ExchangeOutcome> AnswerPost(const HttpRequest& request, AnswerFunction answer,
                                              ByteBudget::Hold& held);
  asio::awaitable<ApiResult<PostAnswer>> RunAnswer(const HttpRequest& request,
                                                   AnswerFunction answer,
                                                   PrepareContext& prepare_context,
                                                   ByteBudget::Hold& held);
  asio::awaitable<ReadStatus> ReadBody(RequestParser& parser, HttpRequest& request,
                                       ByteBudget::Hold& held, size_t part_bytes);
  asio::awaitable<ExchangeOutcome> AnswerUnread(ReadStatus status, RequestParser& parser,
                                                const HttpRequest& request,
                                                const ByteBudget::Hold& held);
  asio::awaitable<ExchangeOutcome> ReceiveUpload(RequestParser& parser, HttpRequest& request,
                                                 ByteBudget::Hold& held);
  asio::awaitable<ExchangeOutcome> Upgrade(const RequestParser& parser, const HttpRequest& request);
  asio::awaitable<void> ServeSocket(const HttpRequest& request);
  void Record(const HttpRequest& request, std::string_view route, const ExchangeOutcome& outcome,
              Clock::time_point started);

  const std::shared_ptr<Connection> connection_;
  const Entrance entrance_;
  ServerContext& context_;
  bool is_first_ = true;                                // request of the connection
  uint64_t max_body_bytes_ = 0;                         // of this request
  std::optional<HttpRequest> upgraded_ = std::nullopt;  // which has made it a WebSocket
};

asio::awaitable<void> Session::Run() {
  bool keep_alive = !connection_->needs_handshake();
  if (!keep_alive) keep_alive = co_await Secure();
  while (keep_alive) {
    keep_alive = co_await connection_->WaitForRequest();
    if (!keep_alive) break;
    try {
      keep_alive = co_await ServeOne();
    } catch (const std::bad_alloc&) {
      connection_->TryAnswer(kNoMemory);
      throw;
    }
  }
  if (upgraded_) co_await ServeSocket(*upgraded_);
  co_await connection_->CloseGently();
}

// True: requests may follow.
asio::awaitable<bool> Session::Secure() {
  const HandshakeStatus status = co_await connection_->Handshake();
  if (status == HandshakeStatus::kDone) co_return true;
  context_.metrics->CountFailedHandshake();
  Log(LogLevel::kDebug, "{}: the TLS handshake failed", connection_->remote());
  if (status == HandshakeStatus::kPlainHttp) {
    HttpRequest nobodys;
    nobodys.id = context_.NextRequestId();
    const HttpResponse refusal = ErrorResponse(
        HttpError(400, "tls_required", "this port speaks TLS: use https:// instead of http://"),
        nobodys);
    co_await SendResponse(*connection_, nobodys, refusal, false);
  }
  co_return false;
}

// True: another request may follow.
asio::awaitable<bool> Session::ServeOne() {
  const Clock::time_point started = Clock::now();
  RequestParser parser;
  parser.header_limit(context_.options.max_header_bytes);
  parser.body_limit(LargestBody(context_));
  parser.on_chunk_header(CheckChunkHeader);
  const ReadStatus status = co_await connection_->ReadHead(parser);
  if (status == ReadStatus::kClosed) co_return false;
  ExchangeOutcome outcome = co_await Answer(status, parser, started);
  // Of a body that nobody wanted the client may send the rest: the next request comes behind it.
  if (outcome.keep_alive && !parser.is_done()) {
    outcome.keep_alive = co_await connection_->SkipBody(parser);
  }
  co_return outcome.keep_alive;
}

asio::awaitable<ExchangeOutcome> Session::Answer(ReadStatus status, RequestParser& parser,
                                                 Clock::time_point started) {
  const ActiveRequest active(context_.active_requests);
  CpuStopwatch spent;
  HttpRequest request = ToHttpRequest(parser, entrance_, context_);
  const RouteMatch match = FindRoute(request.method, request.path);
  const bool is_upload = match.route != nullptr && match.route->id == RouteId::kUploadFile;
  max_body_bytes_ = is_upload ? LargestBody(context_) : context_.options.max_body_bytes;
  if (status == ReadStatus::kOk && !LimitBody(max_body_bytes_, parser)) {
    status = ReadStatus::kBodyTooLarge;
  }
  const std::optional<ApiError> error =
      status == ReadStatus::kOk
          ? FramingErrorOf(parser.get())
          : ReadErrorOf(status, *connection_, context_.options, max_body_bytes_);
  ExchangeOutcome outcome;
  if (error) {
    outcome = co_await SendResponse(*connection_, request, ErrorResponse(*error, request), false);
  } else {
    outcome = co_await Exchange(parser, request, match, spent);
  }
  Record(request, match.label, outcome, started);
  if (outcome.refused_early) {
    // What was measured ends before the answer is sent. With sending, waking up, reading the head
    // and dropping the body it comes to about six times as much; with a connection, to eight.
    const int times = is_first_ ? 8 : 6;
    context_.refusal_pacing.Charge(times * spent.spent(), ProcessorNow());
  }
  is_first_ = false;
  co_return outcome;
}

asio::awaitable<ExchangeOutcome> Session::Exchange(RequestParser& parser, HttpRequest& request,
                                                   const RouteMatch& match, CpuStopwatch& spent) {
  if (auto answer = AnswerHead(parser.get(), match, context_, request)) {
    co_return co_await AnswerWithoutBody(parser, request, *answer);
  }
  if (match.route->id == RouteId::kResponsesSocket) co_return co_await Upgrade(parser, request);
  if (PrepareFunctionOf(match.route->id) != nullptr) {
    const Admission admission = co_await AskToComeIn(*connection_, context_, spent);
    if (admission.refusal) {
      request.keep_alive &= admission.keep_alive;
      const HttpResponse refusal = ErrorResponse(*admission.refusal, request);
      spent.Stop();  // sending may wait for the client, and go on in another thread
      ExchangeOutcome outcome = co_await AnswerWithoutBody(parser, request, refusal);
      outcome.refused_early = true;
      co_return outcome;
    }
  }
  ByteBudget::Hold held(context_.BudgetOf(request.key_name));
  if (match.route->method == "POST" && !held.Take(kExchangeBytes)) {
    co_return co_await AnswerWithoutBody(parser, request, ErrorResponse(Overloaded(), request));
  }
  if (match.route->id == RouteId::kUploadFile) {
    co_return co_await ReceiveUpload(parser, request, held);
  }
  const bool has_body = !parser.is_done();
  if (has_body) {
    const ReadStatus status =
        co_await ReadBody(parser, request, held, std::numeric_limits<size_t>::max());
    if (status != ReadStatus::kOk) co_return co_await AnswerUnread(status, parser, request, held);
    request.body = std::move(parser.get().body().text);
  }
  co_return co_await Dispatch(request, match, std::move(held));
}

asio::awaitable<ExchangeOutcome> Session::AnswerUnread(ReadStatus status, RequestParser& parser,
                                                       const HttpRequest& request,
                                                       const ByteBudget::Hold& held) {
  if (status == ReadStatus::kClosed) {
    ExchangeOutcome gone;
    gone.status = kClientGone;
    co_return gone;
  }
  const HeldBody::value_type& body = parser.get().body();
  const ApiError error = body.is_refused
                             ? NoRoom(held, body.wanted_bytes)
                             : ReadErrorOf(status, *connection_, context_.options, max_body_bytes_);
  const HttpResponse refusal = ErrorResponse(error, request);
  if (status == ReadStatus::kBudgetSpent) {
    co_return co_await AnswerWithoutBody(parser, request, refusal);
  }
  co_return co_await SendResponse(*connection_, request, refusal, false);
}

asio::awaitable<ExchangeOutcome> Session::ReceiveUpload(RequestParser& parser, HttpRequest& request,
                                                        ByteBudget::Hold& held) {
  UploadReceiver receiver(request, context_);
  std::optional<ApiError> refusal = co_await receiver.Begin();
  while (!refusal && !parser.is_done()) {
    const ReadStatus status = co_await ReadBody(parser, request, held, kUploadPartBytes);
    if (status != ReadStatus::kOk) co_return co_await AnswerUnread(status, parser, request, held);
    std::string& part = parser.get().body().text;
    refusal = co_await receiver.Take(part);
    part.clear();
  }
  if (refusal) {
    co_return co_await AnswerWithoutBody(parser, request, ErrorResponse(*refusal, request));
  }
  const HttpResponse response = co_await receiver.Finish();
  co_return co_await SendResponse(*connection_, request, response,
                                  request.keep_alive && !context_.draining);
}

asio::awaitable<ExchangeOutcome> Session::Upgrade(const RequestParser& parser,
                                                  const HttpRequest& request) {
  const std::optional<std::string> accept = AcceptWebSocket(parser.get());
  if (!accept) {
    HttpResponse refusal = ErrorResponse(
        HttpError(426, "upgrade_required",
                  "this route answers WebSocket handshakes (version 13) alone; POST makes one "
                  "response over HTTP"),
        request);
    refusal.headers.emplace_back("Upgrade", "websocket");
    refusal.headers.emplace_back("Sec-WebSocket-Version", "13");
    co_return co_await AnswerWithoutBody(parser, request, refusal);
  }
  std::string head = fmt::format(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: {}\r\nX-Request-Id: {}\r\n\r\n",
      *accept, request.id);
  const bool written = co_await connection_->WriteHead(std::move(head));
  if (written) upgraded_ = request;
  ExchangeOutcome outcome;
  outcome.status = written ? 101 : kClientGone;
  co_return outcome;
}

asio::awaitable<void> Session::ServeSocket(const HttpRequest& request) {
  const RecordExchange record = [this](const HttpRequest& turn, const ExchangeOutcome& outcome,
                                       Clock::time_point started) {
    Record(turn, "/v1/responses", outcome, started);
  };
  co_await RunResponsesSocket(*connection_, request, context_, record);
}

// While the client may still send the body. If the connection is kept, what is left of that is read
// and dropped afterwards.
asio::awaitable<ExchangeOutcome> Session::AnswerWithoutBody(const RequestParser& parser,
                                                            const HttpRequest& request,
                                                            const HttpResponse& answer) {
  constexpr uint64_t kMaxSkippedBodyBytes = 65536;
  const uint64_t left = parser.content_length_remaining().value_or(kMaxSkippedBodyBytes + 1);
  const bool is_short = left <= kMaxSkippedBodyBytes;
  // Of a stranger nothing is read; and who waits for 100 Continue sends nothing behind an answer.
  const bool may_skip =
      parser.is_done() || (is_short && request.expect.empty() && answer.status != 401);
  co_return co_await SendResponse(*connection_, request, answer,
                                  may_skip && request.keep_alive && !context_.draining);
}

asio::awaitable<ReadStatus> Session::ReadBody(RequestParser& parser, HttpRequest& request,
                                              ByteBudget::Hold& held, size_t part_bytes) {
  const ArrivingBodies::Entry arriving(context_.arriving_bodies, connection_);
  if (!request.expect.empty() && request.is_http_1_1) {
    const bool written = co_await connection_->Write(kContinue);
    if (!written) co_return ReadStatus::kClosed;
    request.expect.clear();  // it is met, and the body on its way
  }
  // Said before those that arrive are told.
  if (context_.draining) co_return ReadStatus::kShuttingDown;
  co_return co_await connection_->ReadBodyPart(parser, held, part_bytes);
}

asio::awaitable<ExchangeOutcome> Session::Dispatch(HttpRequest& request, const RouteMatch& match,
                                                   ByteBudget::Hold held) {
  if (const PrepareFunction prepare = PrepareFunctionOf(match.route->id)) {
    GenerationHandler handler(*connection_, request, context_, prepare, std::move(held));
    co_return co_await handler.Run();
  }
  if (const AnswerFunction answer = AnswerFunctionOf(match.route->id)) {
    co_return co_await AnswerPost(request, answer, held);
  }
  if (match.route->id == RouteId::kWatch) {
    co_return co_await StreamWatch(*connection_, request, context_, held);
  }
  if (match.route->id == RouteId::kLoadModel || match.route->id == RouteId::kUnloadModel) {
    const HttpResponse done =
        co_await HandleModelCommand(*connection_, request, match.route->id, context_);
    co_return co_await SendResponse(*connection_, request, done,
                                    request.keep_alive && !context_.draining);
  }
  if (match.route->id == RouteId::kFileContent) {
    co_return co_await SendFileContent(*connection_, request, match.argument, context_);
  }
  const bool is_there = co_await AwaitStored(*connection_, request, match, context_);
  if (!is_there) {
    ExchangeOutcome gone;
    gone.status = kClientGone;
    co_return gone;
  }
  HttpResponse response;
  if (NeedsFiles(match.route->id)) {
    const auto answer_stored = IsAboutBatches(match.route->id) ? AnswerBatches : AnswerFiles;
    const std::function<void()> work = [&] { response = answer_stored(request, match, context_); };
    co_await RunOnDisk(context_, work);
  } else {
    response = HandlePlainRoute(request, match, context_);
  }
  // Until the client has taken it. What the operators' own address says is not the clients' to use
  // up; what is short is among what a connection takes.
  if (response.body.size() > kShortAnswerBytes && !entrance_.is_for_metrics) {
    if (auto refusal = HoldMore(held, kExchangeBytes + response.body.size())) {
      response = ErrorResponse(*refusal, request);
    }
  }
  co_return co_await SendResponse(*connection_, request, response,
                                  request.keep_alive && !context_.draining);
}

// An answer may be some times as long as what was asked.
asio::awaitable<ExchangeOutcome> Session::AnswerPost(const HttpRequest& request,
                                                     AnswerFunction answer,
                                                     ByteBudget::Hold& held) {
  RequestModels models(*context_.models);
  PrepareContext prepare_context{.models = models,
                                 .rules = context_.options.rules,
                                 .responses = &context_.responses,
                                 .owner = request.key_name};
  prepare_context.max_bytes = std::max(context_.options.inline_body_bytes, 2 * request.body.size());
  ApiResult<PostAnswer> result = co_await RunAnswer(request, answer, prepare_context, held);
  if (!result && !models.needed_id().empty()) {
    ApiResult<ModelLease> model =
        co_await AwaitModel(models.needed_id(), *connection_, context_, nullptr);
    if (model) {
      models.Keep(*std::move(model));
      result = co_await RunAnswer(request, answer, prepare_context, held);
    } else {
      result = tl::unexpected(std::move(model).error());
    }
  }
  if (result) {
    if (auto refusal = HoldMore(held, result->body.size())) result = tl::unexpected(*refusal);
  }
  HttpResponse response;
  if (result) {
    context_.metrics->CountUnknownFields(result->unknown_field_count);
    response.body = std::move(result->body);
  } else {
    response = ErrorResponse(result.error(), request);
  }
  co_return co_await SendResponse(*connection_, request, response,
                                  request.keep_alive && !context_.draining);
}

asio::awaitable<ApiResult<PostAnswer>> Session::RunAnswer(const HttpRequest& request,
                                                          AnswerFunction answer,
                                                          PrepareContext& prepare_context,
                                                          ByteBudget::Hold& held) {
  ApiResult<PostAnswer> result;
  const std::function<void()> work = [&] { result = answer(request.body, prepare_context); };
  ApiResult<void> run = co_await RunHeldPreparation(context_, request.body.size(),
                                                    PreparationBytes(request.body), held, work);
  if (run && result && result->excess_bytes > 0) {  // it stands for more than it holds
    prepare_context.max_bytes = std::numeric_limits<size_t>::max();
    const size_t excess_bytes = result->excess_bytes;
    run = co_await RunHeldPreparation(context_, excess_bytes, PreparationBytes(excess_bytes), held,
                                      work);
  }
  if (!run) result = tl::unexpected(run.error());
  co_return result;
}

void Session::Record(const HttpRequest& request, std::string_view route,
                     const ExchangeOutcome& outcome, Clock::time_point started) {
  const Clock::time_point ended = Clock::now();
  const double duration_s = std::chrono::duration<double>(ended - started).count();
  context_.metrics->CountHttpRequest(route, outcome.status, duration_s);
  if (request.method == "POST") {
    context_.watch.CountAnswer(request.key_name, outcome.status, outcome.prompt_tokens,
                               outcome.completion_tokens);
  }
  if (!request.key_name.empty()) {
    context_.metrics->CountKey(request.key_name, outcome.prompt_tokens, outcome.completion_tokens);
  }
  LogAccess(request, connection_->remote(), route, outcome, duration_s);
  if (!request.trace.sampled || IsProbe(route)) return;
  const TracedExchange exchange{.request = request,
                                .route = route,
                                .remote = connection_->remote(),
                                .uses_tls = connection_->uses_tls(),
                                .outcome = outcome,
                                .started = started,
                                .ended = ended};
  context_.tracer->Export(ExchangeSpans(exchange, *context_.tracer));
}

// Memory is what is missing, most likely: what was answered shall still arrive.
asio::awaitable<void> EndBrokenSession(Connection& connection, std::exception_ptr problem) {
  try {
    std::rethrow_exception(std::move(problem));
  } catch (const std::exception& exception) {
    Log(LogLevel::kError, "connection {}: {}", connection.remote(), exception.what());
  }
  co_await connection.CloseGently();
}

}  // namespace

asio::awaitable<void> RunSession(std::shared_ptr<Connection> connection, Entrance entrance,
                                 ServerContext& context) {
  constexpr std::chrono::seconds kPatience{2};  // with connections beyond the limit
  std::optional<ActiveRequest> counted;
  asio::steady_timer patience(connection->executor(), kPatience);
  if (entrance.is_beyond_limit) {
    patience.async_wait([weak = std::weak_ptr(connection)](boost::system::error_code error) {
      const auto late = weak.lock();
      if (!error && late) late->Abort();
    });
  } else {
    counted.emplace(entrance.is_for_metrics ? context.metrics_connections : context.connections);
  }
  context.metrics->ChangeConnections(1);
  std::exception_ptr problem;
  try {
    Session session(connection, entrance, context);
    co_await session.Run();
  } catch (const std::exception&) {
    problem = std::current_exception();
  }
  context.metrics->ChangeConnections(-1);
  if (problem) co_await EndBrokenSession(*connection, problem);
}

}  // namespace weft
