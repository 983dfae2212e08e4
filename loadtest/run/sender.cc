#include "loadtest/run/sender.h"

#include <utility>

#include "loadtest/run/exchange.h"

namespace weft {
namespace {

constexpr size_t kKeptOutgoingBytes = 256 << 10;  // of a connection that waits for its next request

const char* PathOf(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kCompletions:
      return "/v1/completions";
    case Endpoint::kChat:
      return "/v1/chat/completions";
    case Endpoint::kEmbeddings:
      return "/v1/embeddings";
    case Endpoint::kRerank:
      return "/v1/rerank";
  }
  return "";
}

}  // namespace

Sender::Sender(ConnectionPool& pool, const Target& target, const LoadPlan& plan,
               const BodyWriter& bodies, const RunOptions& options)
    : pool_(pool),
      target_(target),
      plan_(plan),
      bodies_(bodies),
      stream_(options.stream && Generates(options.endpoint)),
      text_count_(TextsPerRequest(options)) {
  head_ = "POST " + target.url.path + PathOf(options.endpoint) + " HTTP/1.1\r\n" +
          target.header_lines + "Content-Type: application/json\r\nContent-Length: ";
}

boost::asio::awaitable<RequestRecord> Sender::Send(int32_t request,
                                                   std::chrono::steady_clock::time_point planned,
                                                   std::span<const Answer> answers, Answer* answer,
                                                   bool* waited) {
  const PlannedRequest& plan = plan_.requests[static_cast<size_t>(request)];
  RequestRecord record;
  record.request = request;
  record.profile = plan.profile;
  record.hostile = plan.behaviour != Behaviour::kNormal;
  record.planned = planned;
  if (waited != nullptr) *waited = pool_.WouldWait();
  std::unique_ptr<ClientConnection> connection = co_await pool_.Acquire();
  FillOutgoing(request, answers, connection->outgoing);

  ++counters_.sent;
  record.sent = RequestRecord::Clock::now();
  connection->StartClock(record.sent + target_.timeout);
  Exchange exchange(*connection, record, answer, counters_.token_count);
  co_await exchange.Run({.stream = stream_,
                         .max_tokens = plan.max_tokens,
                         .text_count = text_count_,
                         .behaviour = plan.behaviour,
                         .behaviour_tokens = plan.behaviour_tokens,
                         .stall = plan.stall});
  ++counters_.done;
  if (!record.failure.empty()) ++counters_.failed;
  if (connection->outgoing.capacity() > kKeptOutgoingBytes) {
    connection->outgoing = {};
  }
  pool_.Release(std::move(connection));
  co_return record;
}

void Sender::FillOutgoing(int32_t request, std::span<const Answer> answers, std::string& outgoing) {
  bodies_.Write(plan_, request, answers, body_);
  outgoing = head_;
  outgoing += std::to_string(body_.size());
  outgoing += "\r\n\r\n";
  outgoing += body_;
}

}  // namespace weft
