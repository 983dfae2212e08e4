// POST /v1/files, as its body comes.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "proto/files/upload_form.h"
#include "server/batches/file_store.h"
#include "server/http/http_message.h"
#include "server/http/server_context.h"

namespace weft {

// What is read of a file before it is written: what an upload holds in memory.
inline constexpr size_t kUploadPartBytes = 256 << 10;

// Used on the connection's strand; the disk is waited for on a preparation thread. What is passed
// in outlives it. Nothing stays of an upload that was not answered with its file.
class UploadReceiver {
 public:
  UploadReceiver(const HttpRequest& request, ServerContext& context);

  // Each but the last call gives nullopt, or why it cannot go on.
  boost::asio::awaitable<std::optional<ApiError>> Begin();
  boost::asio::awaitable<std::optional<ApiError>> Take(std::string_view bytes);
  boost::asio::awaitable<HttpResponse> Finish();

 private:
  ApiResult<FileObject> Keep();

  const HttpRequest& request_;
  ServerContext& context_;
  std::unique_ptr<FileStore::Upload> upload_;
  UploadForm form_;
  std::optional<MultipartParser> parser_;
};

}  // namespace weft
