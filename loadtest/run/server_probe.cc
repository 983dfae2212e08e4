#include "loadtest/run/server_probe.h"

#include <exception>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include "loadtest/run/completion_json.h"
#include "loadtest/run/exchange.h"

namespace weft {
namespace {

namespace asio = boost::asio;

ServerKind KindOf(const ListedModel& model) {
  if (model.owner == "weft") return ServerKind::kWeft;
  if (model.owner == "llamacpp") return ServerKind::kLlamaCpp;
  if (model.owner == "vllm") return ServerKind::kVllm;
  return ServerKind::kUnknown;
}

}  // namespace

Result<ServerInfo> ProbeServer(asio::io_context& context, const Target& target,
                               const std::string& named_model) {
  ClientConnection connection(context, target);
  RequestRecord record;
  std::string body;
  ServerInfo info;
  int64_t ignored_token_count = 0;
  connection.outgoing =
      "GET " + target.url.path + "/v1/models HTTP/1.1\r\n" + target.header_lines + "\r\n";
  asio::steady_timer timer(context, target.timeout);
  timer.async_wait([&](const boost::system::error_code& error) {
    if (!error) connection.Expire(ClientConnection::Clock::time_point::max());
  });
  const auto fetch = [&]() -> asio::awaitable<void> {
    Exchange exchange(connection, record, /*answer=*/nullptr, ignored_token_count);
    co_await exchange.Fetch(body, info.server);
    timer.cancel();
  };
  asio::co_spawn(context, fetch(), [](const std::exception_ptr& exception) {
    if (exception) std::rethrow_exception(exception);
  });
  context.restart();
  context.run();

  const bool nobody_answers = record.http_status == 0;
  if (!record.failure.empty() && (nobody_answers || named_model.empty())) {
    return Fail(ErrorCode::kUnavailable, "{}/v1/models: {}: {}", target.url.path, record.failure,
                record.failure_detail);
  }
  const Result<ListedModel> listed = FirstModel(body);
  if (listed) info.kind = KindOf(*listed);
  if (!listed && named_model.empty()) return tl::unexpected(listed.error());
  info.model = named_model.empty() ? listed->id : named_model;
  return info;
}

}  // namespace weft
