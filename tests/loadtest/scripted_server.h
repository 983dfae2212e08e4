// A server that says what a test tells it to, to test a client's side of HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

struct ssl_st;
struct ssl_ctx_st;

namespace weft {

struct TestCertificate;

// One accepted connection, on a thread of its own. Blocking.
class ScriptedConnection {
 public:
  // `tls`: null, or what its handshake follows; a client that does not like it is gone at once.
  ScriptedConnection(int socket, int index, ssl_ctx_st* tls);

  int index() const { return index_; }  // 0 for the first one accepted
  // The next request: header and body (by its Content-Length). Empty when the client has closed.
  std::string ReadRequest();
  void Write(std::string_view bytes) const;

 private:
  long Receive(char* buffer, size_t size_bytes) const;

  int socket_;
  std::shared_ptr<ssl_st> tls_;
  int index_;
  std::string received_;
};

// Where a server listens: on a free port of `address`, or on a Unix socket.
struct ScriptedPlace {
  std::string address = "127.0.0.1";
  std::string unix_path = {};                    // empty: TCP
  const TestCertificate* certificate = nullptr;  // TLS with it
};

class ScriptedServer {
 public:
  // Runs `script` for every connection and closes it when the script returns.
  explicit ScriptedServer(std::function<void(ScriptedConnection&)> script)
      : ScriptedServer(ScriptedPlace(), std::move(script)) {}
  ScriptedServer(const ScriptedPlace& place, std::function<void(ScriptedConnection&)> script);
  // Ends the connections and joins their threads.
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  const std::string& url() const { return url_; }

 private:
  void ListenOnPath(const std::string& path);
  void ListenOnPort(const std::string& address);
  void AcceptLoop();

  std::function<void(ScriptedConnection&)> script_;
  std::string url_;
  std::shared_ptr<ssl_ctx_st> tls_;
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
