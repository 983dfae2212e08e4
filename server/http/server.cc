#include "server/http/server.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/log.h"
#include "engine/engine.h"
#include "server/api/watch/watch_stream.h"
#include "server/batches/batch_runner.h"
#include "server/batches/batch_store.h"
#include "server/batches/file_store.h"
#include "server/http/listener.h"
#include "server/http/server_context.h"
#include "server/http/unix_socket.h"

namespace weft {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// The io_context is the last member that sessions refer to and the first to go: destroying it
// destroys the coroutines that are left.
class Server::Implementation {
 public:
  Implementation(ServerOptions options, std::shared_ptr<ModelRegistry> models,
                 std::shared_ptr<Metrics> metrics, std::shared_ptr<const Access> access,
                 std::shared_ptr<Tracer> tracer)
      : context_(std::move(options), std::move(models), std::move(metrics), std::move(access),
                 std::move(tracer)),
        io_(context_.options.io_threads) {}
  ~Implementation() {
    context_.batch_runner.reset();
    JoinThreads();
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  Result<void> Start() {
    const ServerOptions& options = context_.options;
    if (!options.files_directory.empty()) {
      WEFT_ASSIGN_OR_RETURN(context_.files,
                            FileStore::Open({.directory = options.files_directory,
                                             .max_bytes = options.files_disk_bytes,
                                             .now = [] { return int64_t{std::time(nullptr)}; }}));
      context_.batches = std::make_unique<BatchStore>(*context_.files);
    }
    if (options.listens_on_tcp) {
      WEFT_ASSIGN_OR_RETURN(tcp_acceptor_, OpenTcpListener(io_, {options.host, options.port}));
      port_ = EndpointOf(*tcp_acceptor_).port();
    }
    if (!options.unix_socket_path.empty()) {
      WEFT_ASSIGN_OR_RETURN(unix_acceptor_, OpenUnixListener(io_, options.unix_socket_path,
                                                             options.unix_socket_mode, unix_file_));
    }
    if (options.metrics_address) {
      WEFT_ASSIGN_OR_RETURN(metrics_acceptor_, OpenTcpListener(io_, *options.metrics_address));
      const auto endpoint = EndpointOf(*metrics_acceptor_);
      metrics_port_ = endpoint.port();
      Log(LogLevel::kInfo, "/metrics without keys on {}:{}", options.metrics_address->host,
          metrics_port_);
      Accept(*metrics_acceptor_, {.is_loopback = IsLoopback(endpoint), .is_for_metrics = true});
    }
    if (tcp_acceptor_) {
      Accept(*tcp_acceptor_,
             {.uses_tls = true, .is_loopback = IsLoopback(EndpointOf(*tcp_acceptor_))});
    }
    if (unix_acceptor_) Accept(*unix_acceptor_, {});  // who may read it is the file's matter
    asio::co_spawn(io_, KeepWatch(context_), asio::detached);
    if (context_.batches != nullptr) {
      context_.batch_runner =
          std::make_unique<BatchRunner>(context_, *context_.files, *context_.batches);
    }
    for (int i = 0; i < context_.options.io_threads; ++i) {
      threads_.emplace_back([this] { RunHandlers(); });
    }
    return {};
  }

  void Stop(Clock::time_point deadline) {
    constexpr std::chrono::seconds kWriteGrace{2};
    constexpr std::chrono::milliseconds kPollInterval{5};
    if (std::exchange(is_stopped_, true)) return;
    context_.draining = true;
    context_.arriving_bodies.GiveUp();
    if (context_.batch_runner != nullptr) context_.batch_runner->Stop();
    context_.models->Shutdown(deadline);
    const Clock::time_point last = std::max(deadline, Clock::now() + kWriteGrace);
    while (context_.active_requests > 0 && Clock::now() < last) {
      std::this_thread::sleep_for(kPollInterval);
    }
    JoinThreads();
    context_.preparation.Join();
    context_.background.Clear();
    tcp_acceptor_.reset();
    metrics_acceptor_.reset();
    unix_acceptor_.reset();
    unix_file_.reset();
  }

  uint16_t port() const { return port_; }
  uint16_t metrics_port() const { return metrics_port_; }

 private:
  static asio::ip::tcp::endpoint EndpointOf(const StreamAcceptor& acceptor) {
    const auto generic = acceptor.local_endpoint();
    asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), generic.data(), std::min(generic.size(), endpoint.capacity()));
    endpoint.resize(generic.size());
    return endpoint;
  }

  // Also of "::ffff:127.0.0.1", which is where IPv4's connections come.
  static bool IsLoopback(const asio::ip::tcp::endpoint& endpoint) {
    const asio::ip::address address = endpoint.address();
    if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address.is_loopback();
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
  }

  // What a handler throws, for want of memory most likely, ends that handler.
  void RunHandlers() {
    while (true) {
      try {
        io_.run();
        return;
      } catch (const std::exception& exception) {
        Log(LogLevel::kError, "a handler failed: {}", exception.what());
      }
    }
  }

  void JoinThreads() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void Accept(StreamAcceptor& acceptor, Entrance entrance) {
    asio::co_spawn(acceptor.get_executor(), AcceptConnections(io_, acceptor, entrance, context_),
                   asio::detached);
  }

  ServerContext context_;
  asio::io_context io_;
  std::optional<SocketFile> unix_file_;
  std::optional<StreamAcceptor> unix_acceptor_;
  std::optional<StreamAcceptor> tcp_acceptor_;
  std::optional<StreamAcceptor> metrics_acceptor_;
  uint16_t port_ = 0;
  uint16_t metrics_port_ = 0;
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Server::~Server() { Stop(Clock::now()); }

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options,
                                              std::shared_ptr<ModelRegistry> models,
                                              std::shared_ptr<Metrics> metrics,
                                              std::shared_ptr<const Access> access,
                                              std::shared_ptr<Tracer> tracer) {
  auto implementation =
      std::make_unique<Implementation>(std::move(options), std::move(models), std::move(metrics),
                                       std::move(access), std::move(tracer));
  WEFT_RETURN_IF_ERROR(implementation->Start());
  return std::unique_ptr<Server>(new Server(std::move(implementation)));
}

uint16_t Server::port() const { return implementation_->port(); }

uint16_t Server::metrics_port() const { return implementation_->metrics_port(); }

void Server::Stop(Clock::time_point deadline) { implementation_->Stop(deadline); }

}  // namespace weft
