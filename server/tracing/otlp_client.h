// HTTP to a collector: one request after the other.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "server/tracing/tracing_options.h"

namespace weft {

struct OtlpAnswer {
  int status = 0;
  std::optional<std::chrono::seconds> retry_after;  // from now; what the header says, 0 or more
  std::string body;
};

// Used on the thread that runs the io_context, which outlives it.
class OtlpClient {
 public:
  // Errors: the file of certificates cannot be read.
  static Result<std::unique_ptr<OtlpClient>> Create(boost::asio::io_context& io,
                                                    const TracingOptions& options);
  ~OtlpClient();

  // POSTs the body and reads the whole answer. The connection is kept for the next call. Errors:
  // the collector cannot be reached, or the time is over. (Only a name server that does not answer
  // can take longer.)
  boost::asio::awaitable<Result<OtlpAnswer>> Post(const std::string& body,
                                                  std::chrono::milliseconds timeout);

  // A name server is being asked, on a thread that the io_context's destructor waits for.
  bool is_resolving() const;

 private:
  class Implementation;
  explicit OtlpClient(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace weft
