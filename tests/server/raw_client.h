// A client over a socket of any kind, which can do everything that a well-behaved one would not.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct RawResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
  bool complete = false;                       // as its length or last chunk says
};

// Where a server listens.
struct Endpoint {
  Endpoint(uint16_t its_port) : port(its_port) {}  // NOLINT(google-explicit-constructor)

  uint16_t port = 0;
  std::string unix_path;   // not empty: there instead
  std::string tls_issuer;  // not empty: over TLS, with a certificate that this PEM file vouches for
};

class RawClient {
 public:
  explicit RawClient(const Endpoint& endpoint);
  // With a small receive buffer, for a client that stops reading.
  RawClient(const Endpoint& endpoint, int receive_buffer_bytes);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  // False: the server has closed.
  bool Send(std::string_view data);
  bool SendByteByByte(std::string_view data);
  void ShutdownWrite();  // half-close; over TLS after saying so
  void Close();          // FIN
  void Reset();          // RST

  // The next response. Interim ones (1xx) are responses too. `head_only`: the answer to a HEAD.
  RawResponse Read(bool head_only = false);
  // Reads until `text` has come; false: the connection ended first.
  bool ReadUntil(std::string_view text);
  // Everything until the server closes.
  std::string ReadToEnd();
  // Whether the server has closed, waiting for it up to this long.
  bool IsClosedWithin(std::chrono::milliseconds duration);

 private:
  struct Tls;

  void Open(const Endpoint& endpoint, std::optional<int> receive_buffer_bytes);
  bool Connect(const Endpoint& endpoint, std::optional<int> receive_buffer_bytes);
  bool StartTls(const Endpoint& endpoint);
  bool Fill();  // more bytes; false: end of file, error or 20 s of silence
  // As recv: 0 at the end, less on an error.
  int64_t Receive(char* buffer, size_t size);
  bool HasPending() const;  // bytes that poll knows nothing of

  int socket_ = -1;
  std::unique_ptr<Tls> tls_;  // null without TLS
  bool connected_ = false;
  std::string received_;  // not consumed yet
};

// "POST /v1/completions" with this JSON, and headers as a client sends them.
std::string CompletionPost(std::string_view json, std::string_view extra_headers = "");
std::string Post(std::string_view path, std::string_view json, std::string_view extra_headers = "");
std::string Get(std::string_view path, std::string_view extra_headers = "");
// The JSON texts of a stream's events, "[DONE]" included.
std::vector<std::string> SseData(std::string_view body);

}  // namespace weft
