#include "server/api/responses/responses_socket.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "proto/responses/responses_response.h"
#include "server/access/access.h"
#include "server/api/generation_handler.h"
#include "server/api/job_memory.h"
#include "server/api/responses/response_store.h"
#include "server/api/responses/responses_job.h"
#include "server/http/active_request.h"
#include "server/http/admission.h"
#include "server/http/web_socket.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

class ResponsesSocket {
 public:
  ResponsesSocket(Connection& connection, const HttpRequest& request, ServerContext& context,
                  const RecordExchange& record)
      : connection_(connection),
        request_(request),
        context_(context),
        record_(record),
        socket_(connection, context.options),
        last_hold_(context.BudgetOf(request.key_name)) {}

  asio::awaitable<void> Run();

 private:
  // False: the connection is to be closed.
  asio::awaitable<bool> ServeMessage();
  // Why the client is to open another connection; "": it need not.
  std::string ReasonToMove(Clock::time_point now) const;
  asio::awaitable<void> EndAfter(MessageStatus status);
  asio::awaitable<ExchangeOutcome> Respond(HttpRequest& turn, ByteBudget::Hold held);
  void KeepLast(bool failed);

  Connection& connection_;
  const HttpRequest& request_;
  ServerContext& context_;
  const RecordExchange& record_;
  const Clock::time_point opened_ = Clock::now();
  const std::shared_ptr<const ApiKeys> keys_ = context_.access->keys();
  WebSocket socket_;
  ResponseSocketState state_;
  ByteBudget::Hold last_hold_;  // of state_.last
};

asio::awaitable<void> ResponsesSocket::Run() {
  bool goes_on = true;
  while (goes_on) goes_on = co_await ServeMessage();
}

asio::awaitable<bool> ResponsesSocket::ServeMessage() {
  ByteBudget::Hold held(context_.BudgetOf(request_.key_name));
  HttpRequest turn = request_;
  const MessageStatus status =
      held.Take(kExchangeBytes)
          ? co_await socket_.Read(turn.body, held, context_.options.socket_idle_timeout)
          : MessageStatus::kBudgetSpent;
  if (status != MessageStatus::kOk) {
    co_await EndAfter(status);
    co_return false;
  }
  const ActiveRequest active(context_.active_requests);
  const Clock::time_point started = Clock::now();
  turn.id = context_.NextRequestId();
  if (const std::string reason = ReasonToMove(started); !reason.empty()) {
    co_await socket_.WriteText(
        SocketErrorJson(HttpError(400, "websocket_connection_limit_reached",
                                  reason + "; open another connection and go on there")));
    co_await socket_.Close(CloseCode::kNormal, reason);
    co_return false;
  }
  const ExchangeOutcome outcome = co_await Respond(turn, std::move(held));
  record_(turn, outcome, started);
  KeepLast(outcome.status != 200);
  if (outcome.status == kClientGone) co_return false;
  if (!context_.draining) co_return true;
  co_await socket_.Close(CloseCode::kGoingAway, "the server is shutting down");
  co_return false;
}

// Its key was looked at once, when it was opened.
std::string ResponsesSocket::ReasonToMove(Clock::time_point now) const {
  if (now - opened_ > context_.options.socket_lifetime)
    return "this connection has reached its age";
  if (keys_ != context_.access->keys()) return "the API keys of this server were read again";
  return "";
}

asio::awaitable<ExchangeOutcome> ResponsesSocket::Respond(HttpRequest& turn,
                                                          ByteBudget::Hold held) {
  state_.continues_last = false;
  if (const std::optional<ApiError> refusal = RefuseBeforeBody(context_)) {
    ExchangeOutcome refused;
    const bool written = co_await socket_.WriteText(SocketErrorJson(*refusal));
    refused.status = written ? refusal->status : kClientGone;
    co_return refused;
  }
  const SocketTurn place{.socket = socket_, .state = state_};
  GenerationHandler handler(connection_, turn, context_, PrepareSocketResponse, std::move(held),
                            &place);
  co_return co_await handler.Run();
}

// What was gone on from in vain is forgotten: the client begins anew with all of it.
void ResponsesSocket::KeepLast(bool failed) {
  if (failed && state_.continues_last) state_.last = nullptr;
  if (state_.last != nullptr && !last_hold_.Resize(StoredBytes(*state_.last))) {
    state_.last = nullptr;
  }
  if (state_.last == nullptr) last_hold_.Give(last_hold_.bytes());
}

asio::awaitable<void> ResponsesSocket::EndAfter(MessageStatus status) {
  switch (status) {
    case MessageStatus::kIdle:
      co_return co_await socket_.Close(CloseCode::kNormal, "no message came in time");
    case MessageStatus::kTooLarge:
      co_await socket_.WriteText(SocketErrorJson(
          HttpError(413, "body_too_large", "the message is larger than this server takes")));
      co_return co_await socket_.Close(CloseCode::kTooLarge, "the message is too large");
    case MessageStatus::kBudgetSpent:
      co_await socket_.WriteText(SocketErrorJson(Overloaded()));
      co_return co_await socket_.Close(CloseCode::kTryAgainLater, "there is no memory for it");
    case MessageStatus::kInvalid:
      co_return co_await socket_.Close(CloseCode::kProtocolError, socket_.error());
    default:
      co_return;
  }
}

}  // namespace

asio::awaitable<void> RunResponsesSocket(Connection& connection, const HttpRequest& request,
                                         ServerContext& context, const RecordExchange& record) {
  ResponsesSocket socket(connection, request, context, record);
  co_await socket.Run();
}

}  // namespace weft
