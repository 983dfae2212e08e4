// Responses over a WebSocket, by Beast's client.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/responses_requests.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using nlohmann::json;
using testing::ElementsAre;

class SocketClient {
 public:
  explicit SocketClient(const TestServer& server, const std::string& key = "") : stream_(io_) {
    tcp::endpoint endpoint(asio::ip::make_address("127.0.0.1"), server.port());
    stream_.next_layer().connect(endpoint);
    if (!key.empty()) {
      stream_.set_option(beast::websocket::stream_base::decorator(
          [key](beast::websocket::request_type& request) { request.set("x-api-key", key); }));
    }
    stream_.handshake("localhost", "/v1/responses");
  }

  void Send(const std::string& text) { stream_.write(asio::buffer(text)); }
  beast::websocket::stream<tcp::socket>& stream() { return stream_; }

  json Receive() {
    beast::flat_buffer buffer;
    stream_.read(buffer);
    EXPECT_TRUE(stream_.got_text());
    return json::parse(beast::buffers_to_string(buffer.data()));
  }
  // Up to what ends a response.
  std::vector<json> Events() {
    std::vector<json> events;
    while (true) {
      events.push_back(Receive());
      const std::string type = events.back()["type"];
      if (type == "error" || type == "response.completed" || type == "response.incomplete" ||
          type == "response.failed") {
        return events;
      }
    }
  }
  // Sends response.create with these fields; the last event.
  json Create(const std::string& fields) {
    Send(R"({"type":"response.create",)" + fields + "}");
    return Events().back();
  }
  // The code with which the server closes; it does not wait for an answer.
  uint16_t CloseCodeOf() {
    beast::flat_buffer buffer;
    beast::error_code error;
    stream_.read(buffer, error);
    EXPECT_TRUE(error);
    return stream_.reason().code;
  }

 private:
  asio::io_context io_;
  beast::websocket::stream<tcp::socket> stream_;
};

TEST(ResponsesSocketTest, EventsAreThoseOfAStream) {
  const TestServer server(Saying("Hello"));
  SocketClient client(server);
  client.Send(R"({"type":"response.create","input":"Hi","stream":true,"store":false})");
  const std::vector<json> events = client.Events();
  EXPECT_THAT(TypesOf(events),
              ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                          "response.content_part.added", "response.output_text.delta",
                          "response.output_text.done", "response.content_part.done",
                          "response.output_item.done", "response.completed"));
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
  EXPECT_EQ(events.back()["response"]["output"][0]["content"][0]["text"], "Hello");
  EXPECT_EQ(events.back()["response"]["store"], false);
  // The next one, whose message comes in pieces, with a ping between them.
  client.stream().write_some(false, asio::buffer(std::string(R"({"type":"response.create",)")));
  client.stream().ping("are you there");
  client.stream().write_some(true, asio::buffer(std::string(R"("input":"Hi"})")));
  EXPECT_EQ(client.Events().back()["type"], "response.completed");
}

TEST(ResponsesSocketTest, TheLastResponseIsGoneOnFromThoughItIsNotStored) {
  const TestServer server(Saying("Hello"));
  SocketClient client(server);
  const json first = client.Create(R"("input":"Hi","store":false)");
  const std::string id = first["response"]["id"];
  const std::string goes_on = R"("input":"More","store":false,"previous_response_id":")" + id + '"';
  const json second = client.Create(goes_on);
  EXPECT_EQ(second["response"]["previous_response_id"], id);
  // One response is remembered, and by this connection alone.
  EXPECT_EQ(client.Create(goes_on)["code"], "previous_response_not_found");
  SocketClient other(server);
  const std::string next = R"("input":"More","previous_response_id":")" +
                           second["response"]["id"].get<std::string>() + '"';
  EXPECT_EQ(other.Create(next)["code"], "previous_response_not_found");
  EXPECT_EQ(client.Create(next)["type"], "response.completed");
}

TEST(ResponsesSocketTest, WhatIsGoneOnFromInVainIsForgotten) {
  const TestServer server(Saying("Hello"));
  SocketClient client(server);
  const json first = client.Create(R"("input":"Hi","store":false)");
  const std::string previous = R"(,"store":false,"previous_response_id":")" +
                               first["response"]["id"].get<std::string>() + '"';
  const json failed = client.Create(
      R"("input":[{"type":"function_call_output","call_id":"x","output":"y"}])" + previous);
  EXPECT_EQ(failed["type"], "error");
  EXPECT_EQ(failed["status"], 400);
  EXPECT_EQ(failed["error"]["param"], "input[0].call_id");
  EXPECT_EQ(client.Create(R"("input":"Hi")" + previous)["code"], "previous_response_not_found");
}

TEST(ResponsesSocketTest, WithoutGeneratingTheRequestIsThereToGoOnFrom) {
  const TestServer server(Saying("Hello"));
  SocketClient client(server);
  const json warm = client.Create(R"("input":"Hi","store":false,"generate":false)");
  EXPECT_EQ(warm["type"], "response.completed");
  EXPECT_EQ(warm["response"]["output"], json::array());
  const json next = client.Create(R"("input":[],"store":false,"previous_response_id":")" +
                                  warm["response"]["id"].get<std::string>() + '"');
  EXPECT_EQ(next["response"]["output"][0]["content"][0]["text"], "Hello") << next;
}

TEST(ResponsesSocketTest, MessagesThatAreNoneOfItsAreRefused) {
  const TestServer server(Saying("Hello"));
  SocketClient client(server);
  const std::pair<std::string, std::string> cases[] = {
      {R"({"input":"Hi"})", "type"},
      {R"({"type":"session.update"})", "type"},
      {R"({"type":"response.create","input":"Hi","background":true})", "background"},
      {R"({"type":"response.create","input":"Hi","stream_id":"a"})", "stream_id"},
      {R"({"type":"response.create","input":"Hi","temperature":3})", "temperature"},
  };
  for (const auto& [message, param] : cases) {
    client.Send(message);
    const json event = client.Receive();
    EXPECT_EQ(event["type"], "error") << message;
    EXPECT_EQ(event["param"], param) << message;
  }
  client.Send("not JSON");
  EXPECT_EQ(client.Receive()["code"], "invalid_json");
  EXPECT_EQ(client.Create(R"("input":"Hi")")["type"], "response.completed");
}

TEST(ResponsesSocketTest, LimitsCloseTheConnection) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  options.socket_idle_timeout = std::chrono::milliseconds(100);
  const TestServer server(Saying("Hello"), options);
  SocketClient large(server);
  large.Send(std::string(1001, ' '));
  EXPECT_EQ(large.Receive()["code"], "body_too_large");
  EXPECT_EQ(large.CloseCodeOf(), 1009);
  SocketClient binary(server);
  binary.stream().binary(true);
  binary.Send("{}");
  EXPECT_EQ(binary.CloseCodeOf(), 1002);
  SocketClient idle(server);
  EXPECT_EQ(idle.CloseCodeOf(), 1000);
  options.socket_lifetime = std::chrono::milliseconds(-1);
  const TestServer short_lived(Saying("Hello"), options);
  SocketClient old(short_lived);
  EXPECT_EQ(old.Create(R"("input":"Hi")")["code"], "websocket_connection_limit_reached");
}

TEST(ResponsesSocketTest, AKeyThatIsWithdrawnIsNoneOnAnOpenConnection) {
  const TemporaryDirectory directory;
  ServerOptions options;
  options.api_key_path = directory.Write("keys", "alice:sk-alice-0123456789\n");
  const TestServer server(Saying("Hello"), options);
  SocketClient client(server, "sk-alice-0123456789");
  EXPECT_EQ(client.Create(R"("input":"Hi")")["type"], "response.completed");
  directory.Write("keys", "bob:sk-bob-0123456789ab\n");
  server.access->Reload();
  EXPECT_EQ(client.Create(R"("input":"Hi")")["code"], "websocket_connection_limit_reached");
  EXPECT_EQ(client.CloseCodeOf(), 1000);
}

TEST(ResponsesSocketTest, PingsAreAnsweredWhileAResponseIsMade) {
  TestServer server(Saying("Hello"));
  server.model.HoldSteps();
  SocketClient client(server);
  std::string pong;
  client.stream().control_callback([&pong](beast::websocket::frame_type, beast::string_view text) {
    pong = std::string(text.data(), text.size());
  });
  client.Send(R"({"type":"response.create","input":"Hi"})");
  client.stream().ping("there?");
  // Nothing else is sent before the first step.
  EXPECT_TRUE(Eventually([&] { return client.stream().next_layer().available() > 0; }));
  server.model.ReleaseSteps();
  EXPECT_EQ(client.Events().back()["type"], "response.completed");
  EXPECT_EQ(pong, "there?");
}

TEST(ResponsesSocketTest, WhoLeavesEndsTheResponse) {
  TestServer server(Saying(""));  // writes to the end of its context
  server.model.SetStepTime(std::chrono::milliseconds(10));
  {
    SocketClient client(server);
    client.Send(R"({"type":"response.create","input":"Hi"})");
    while (client.Receive()["type"] != "response.output_text.delta") {
    }
  }
  EXPECT_TRUE(Eventually([&] { return server.model.used_blocks() == 0; }));
  EXPECT_LT(server.model.steps(), 512);  // it could have taken 768
  // Politely: what comes meanwhile is read.
  SocketClient client(server);
  client.Send(R"({"type":"response.create","input":"Hi"})");
  while (client.Receive()["type"] != "response.output_text.delta") {
  }
  client.stream().close(beast::websocket::close_code::normal);
  EXPECT_TRUE(Eventually([&] { return server.model.used_blocks() == 0; }));
  EXPECT_LT(server.model.steps(), 1024);
}

TEST(ResponsesSocketTest, AHandshakeIsNeeded) {
  const TestServer server(Saying("Hello"));
  RawClient client(server.endpoint());
  client.Send(Get("/v1/responses"));
  const RawResponse plain = client.Read();
  EXPECT_EQ(plain.status, 426);
  EXPECT_EQ(ErrorOf(plain)["code"], "upgrade_required");
  EXPECT_EQ(plain.headers.at("upgrade"), "websocket");
  // Of a page elsewhere, as for every other route.
  client.Send(
      Get("/v1/responses",
          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://evil.example\r\n"));
  EXPECT_EQ(client.Read().status, 403);
}

}  // namespace
}  // namespace weft
