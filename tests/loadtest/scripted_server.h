// A server that says what a test tells it to, to test a client's side of HTTP.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft {

// One accepted connection, on a thread of its own. Blocking.
class ScriptedConnection {
 public:
  ScriptedConnection(int socket, int index) : socket_(socket), index_(index) {}

  int index() const { return index_; }  // 0 for the first one accepted
  // The next request: header and body (by its Content-Length). Empty when the client has closed.
  std::string ReadRequest();
  void Write(std::string_view bytes) const;

 private:
  int socket_;
  int index_;
  std::string received_;
};

class ScriptedServer {
 public:
  // Listens on a free port of 127.0.0.1; runs `script` for every connection and closes it when the
  // script returns.
  explicit ScriptedServer(std::function<void(ScriptedConnection&)> script);
  // Ends the connections and joins their threads.
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void AcceptLoop();

  std::function<void(ScriptedConnection&)> script_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  // Touched by the acceptor, and after it has been joined by the destructor.
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
};

std::string JsonResponse(std::string_view status, std::string_view body);

// The head of a chunked event stream, one event of it, and its end.
inline constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
std::string StreamEvent(std::string_view data);
inline constexpr std::string_view kStreamEnd = "0\r\n\r\n";

}  // namespace weft
