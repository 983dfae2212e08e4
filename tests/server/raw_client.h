// A client over a plain socket, which can do everything that a well-behaved one would not.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
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

class RawClient {
 public:
  explicit RawClient(uint16_t port);
  // With a small receive buffer, for a client that stops reading.
  RawClient(uint16_t port, int receive_buffer_bytes);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  // False: the server has closed.
  bool Send(std::string_view data);
  bool SendByteByByte(std::string_view data);
  void ShutdownWrite();  // half-close
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
  void Open(uint16_t port, std::optional<int> receive_buffer_bytes);
  bool Fill();  // more bytes; false: end of file, error or 20 s of silence

  int socket_ = -1;
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
