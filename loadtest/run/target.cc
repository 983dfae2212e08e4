#include "loadtest/run/target.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace weft {
namespace {

namespace asio = boost::asio;
using Generic = asio::generic::stream_protocol;

Result<void> FindEndpoints(asio::io_context& context, Target& target) {
  const Url& url = target.url;
  if (url.scheme == Scheme::kUnix) {
    target.endpoints.emplace_back(asio::local::stream_protocol::endpoint(url.socket_path));
    return {};
  }
  boost::system::error_code error;
  for (const auto& entry : asio::ip::tcp::resolver(context).resolve(url.host, url.port, error)) {
    target.endpoints.emplace_back(entry.endpoint());
  }
  if (!error) return {};
  return Fail(ErrorCode::kNotFound, "cannot find the host '{}': {}", url.host, error.message());
}

Result<void> SetUpTls(const RunOptions& options, Target& target) {
  target.tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  target.verify_certificate = !options.insecure;
  boost::system::error_code error;
  if (options.ca_file.empty()) {
    target.tls->set_default_verify_paths(error);
  } else {
    target.tls->load_verify_file(options.ca_file, error);
  }
  if (!error) return {};
  return Fail(ErrorCode::kInvalidArgument, "--ca-file '{}': {}", options.ca_file, error.message());
}

bool IsHeaderLine(std::string_view line) {
  const size_t colon = line.find(':');
  return colon != std::string_view::npos && colon > 0 && line.find_first_of(" \t") > colon &&
         line.find_first_of("\r\n") == std::string_view::npos;
}

Result<std::string> HeaderLines(const RunOptions& options, const Url& url) {
  std::string lines = "Host: " + url.authority + "\r\n";
  lines += "User-Agent: weft-loadtest\r\nAccept: */*\r\n";
  if (!options.api_key.empty()) {
    if (options.api_key.find_first_of("\r\n") != std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument, "--api-key: the key has a line end in it");
    }
    lines += "Authorization: Bearer " + options.api_key + "\r\n";
  }
  for (const std::string& line : options.headers) {
    if (!IsHeaderLine(line)) {
      return Fail(ErrorCode::kInvalidArgument, "--header '{}': expected 'Name: value'", line);
    }
    lines += line + "\r\n";
  }
  return lines;
}

}  // namespace

Result<Target> FindTarget(asio::io_context& context, const RunOptions& options) {
  Target target;
  WEFT_ASSIGN_OR_RETURN(target.url, ParseUrl(options.url));
  WEFT_ASSIGN_OR_RETURN(target.header_lines, HeaderLines(options, target.url));
  if (target.url.scheme == Scheme::kHttps) WEFT_RETURN_IF_ERROR(SetUpTls(options, target));
  WEFT_RETURN_IF_ERROR(FindEndpoints(context, target));
  target.timeout = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(options.timeout_s));
  return target;
}

}  // namespace weft
