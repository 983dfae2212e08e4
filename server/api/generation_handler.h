// A request that generates, of any endpoint, from the body to the last byte of the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "server/api/event_queue.h"
#include "server/api/generation_job.h"
#include "server/http/connection.h"
#include "server/http/exchange_outcome.h"
#include "server/http/http_message.h"
#include "server/http/server_context.h"
#include "server/http/wakeup.h"

namespace weft {

class WebSocket;
struct ResponseSocketState;

// Answers one request; `keep_alive` says whether the connection may go on afterwards. HEAD gets the
// head alone.
boost::asio::awaitable<ExchangeOutcome> SendResponse(Connection& connection,
                                                     const HttpRequest& request,
                                                     const HttpResponse& response, bool keep_alive);

// Of a request that came over a WebSocket, where it is answered.
struct SocketTurn {
  WebSocket& socket;
  ResponseSocketState& state;
};

// Used on the connection's strand; everything passed in outlives it.
class GenerationHandler {
 public:
  // Takes the request's body away; `held` is what the exchange holds with it.
  GenerationHandler(Connection& connection, HttpRequest& request, ServerContext& context,
                    PrepareFunction prepare, ByteBudget::Hold held,
                    const SocketTurn* socket = nullptr);
  ~GenerationHandler();
  GenerationHandler(const GenerationHandler&) = delete;
  GenerationHandler& operator=(const GenerationHandler&) = delete;

  boost::asio::awaitable<ExchangeOutcome> Run();

 private:
  using Clock = std::chrono::steady_clock;

  // The body, into a job that holds the memory it needs.
  boost::asio::awaitable<ApiResult<GenerationJob>> Prepare();
  boost::asio::awaitable<ApiResult<GenerationJob>> PrepareBody();
  // Calls prepare_, where that may take as long as it does.
  boost::asio::awaitable<ApiResult<GenerationJob>> RunPrepare(PrepareContext& context);
  std::shared_ptr<EventQueue> MakeQueue();
  // In the log, and in the answer's head.
  void NameDroppedTools();
  bool client_gone() const { return client_gone_ || queue_->overflowed(); }
  // Of a WebSocket: what its client has sent meanwhile.
  boost::asio::awaitable<void> AttendToSocket();
  // Waits for events and hands them to the answer; none come when the client has gone.
  boost::asio::awaitable<void> ConsumeEvents();
  // In the log, and in a header of the answer.
  void ReportDroppedTools();
  // The prompts to come, as many as may be in flight.
  void SubmitMore();
  boost::asio::awaitable<void> SubmitLater();
  boost::asio::awaitable<bool> WriteStream(std::string events, bool is_last);
  boost::asio::awaitable<ExchangeOutcome> AnswerStream();
  boost::asio::awaitable<ExchangeOutcome> AnswerWhole();
  // Says that the job has begun; it goes on by itself.
  boost::asio::awaitable<ExchangeOutcome> AnswerBackground();
  boost::asio::awaitable<ExchangeOutcome> AnswerError(ApiError error);
  ExchangeOutcome Outcome(int status, bool keep_alive) const;

  Connection& connection_;
  HttpRequest& request_;
  std::string body_;       // until it is prepared
  ByteBudget::Hold held_;  // then the job's
  ServerContext& context_;
  const Clock::time_point received_ = Clock::now();
  const std::shared_ptr<Wakeup> wakeup_;  // shared with what the engine thread posts
  const std::shared_ptr<EventQueue> queue_;
  size_t event_bytes_ = 0;  // of the log probabilities that were consumed last
  bool client_gone_ = false;
  bool stream_begun_ = false;
  const PrepareFunction prepare_;
  const SocketTurn* const socket_;        // nullptr: over HTTP
  GenerationJob job_;                     // has an answer once it is prepared
  std::vector<RequestId> engine_ids_;     // accepted by the engine, of the first prompts
  std::optional<ApiError> late_refusal_;  // of a prompt that came later, or of what was generated
};

}  // namespace weft
