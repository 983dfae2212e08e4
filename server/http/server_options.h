// The server's limits. Each has an answer of its own when it is exceeded; docs/API.md lists them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/request_rules.h"

namespace weft {

struct ListenAddress {
  std::string host;   // an address, or a name that resolves to one
  uint16_t port = 0;  // 0: any free one
};

struct ServerOptions {
  // To the address of /metrics, which no client may use up; one more: as beyond max_connections.
  static constexpr int32_t kMaxMetricsConnections = 64;
  static constexpr size_t kMaxHeaderFields = 128;  // in a request's head; more: 431

  RequestRules rules;
  bool page = true;                // browsers get one at /
  std::string host = "127.0.0.1";  // an address, or a name that resolves to one
  uint16_t port = 8080;            // 0: any free one
  bool listens_on_tcp = true;
  std::string unix_socket_path;  // empty: none
  unsigned unix_socket_mode = 0660;
  std::string tls_certificate_path;  // see TlsContext; of TCP. Both or neither
  std::string tls_key_path;
  std::string api_key_path;                      // see ApiKeys; empty: everybody may use the server
  bool keys_share_prefixes = false;              // otherwise each key's requests among themselves
  std::vector<std::string> cors_origins;         // see CorsPolicy
  std::vector<std::string> allowed_hosts;        // see HostPolicy
  std::string metrics_key_path;                  // see Access::metrics_keys
  std::string operator_key_path;                 // see Access::operator_keys
  std::optional<ListenAddress> metrics_address;  // of /metrics without keys; nullopt: none
  std::chrono::milliseconds model_patience{300'000};  // of a request whose model is being loaded
  int io_threads = 2;
  int preparation_threads = 2;       // parse and tokenise bodies above inline_body_bytes
  int32_t max_preparations = 64;     // waiting for those threads; one more: 503
  size_t inline_body_bytes = 65536;  // bodies up to this are prepared on an io thread

  int32_t max_connections = 16384;  // one more: 503, but for /health and /ready
  // Of the processor time that the process gets, what refusing may take; see RefusalPacing.
  double refusal_share = 0.05;
  size_t max_delayed_refusals = 16384;  // one more: its connection is closed
  uint32_t max_header_bytes = 16384;    // more: 431
  uint64_t max_body_bytes = 8 << 20;    // more: 413
  // Of all that requests and connections hold; more: 503, what never fits: 400.
  uint64_t request_memory_bytes = 384u << 20;
  uint64_t max_render_bytes = 128u << 20;  // of one conversation by its template; more: 400
  // More of a stream that its client has not read yet: the stream is cut.
  size_t max_stream_backlog_bytes = 1 << 20;
  uint64_t response_store_bytes = 64u << 20;  // of /v1/responses; 0: none are stored
  std::string files_directory;                // of /v1/files and /v1/batches; empty: not offered
  uint64_t files_disk_bytes = uint64_t{10} << 30;  // of all files and results there; more: 413
  int32_t batch_lines = 32;                        // of batches, computed at once
  int send_buffer_bytes = 256 << 10;               // the kernel's, a connection

  std::chrono::milliseconds idle_timeout{75'000};  // between requests; then closed
  std::chrono::milliseconds header_timeout{
      10'000};  // first to last byte of a head; then 408. Also for a TLS handshake
  std::chrono::milliseconds body_timeout{30'000};  // for the whole body; then 408
  // Beyond small_body_bytes a body brings at least min_body_bytes in each body_window, or 408: who
  // stalls does not keep the memory that it holds.
  uint64_t small_body_bytes = 65536;
  uint64_t min_body_bytes = 16384;
  std::chrono::milliseconds body_window{5'000};
  std::chrono::milliseconds socket_idle_timeout{600'000};  // between messages; then closed
  std::chrono::milliseconds socket_lifetime{3'600'000};    // older: it takes no message any more
  std::chrono::milliseconds write_timeout{30'000};         // without a byte accepted; then closed
};

}  // namespace weft
