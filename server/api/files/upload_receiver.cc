#include "server/api/files/upload_receiver.h"

#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "server/api/preparation.h"

namespace weft {

namespace asio = boost::asio;

UploadReceiver::UploadReceiver(const HttpRequest& request, ServerContext& context)
    : request_(request),
      context_(context),
      form_([this](std::string_view bytes) { return upload_->Write(bytes); }) {}

asio::awaitable<std::optional<ApiError>> UploadReceiver::Begin() {
  const ApiResult<std::string> boundary = MultipartParser::BoundaryOf(request_.content_type);
  if (!boundary) co_return boundary.error();
  parser_.emplace(*boundary, form_);
  ApiResult<std::unique_ptr<FileStore::Upload>> begun;
  const std::function<void()> begin = [&] {
    begun = context_.files->BeginUpload(request_.key_name);
  };
  co_await RunOnDisk(context_, begin);
  if (!begun) co_return begun.error();
  upload_ = *std::move(begun);
  co_return std::nullopt;
}

asio::awaitable<std::optional<ApiError>> UploadReceiver::Take(std::string_view bytes) {
  ApiResult<void> taken;
  const std::function<void()> take = [&] { taken = parser_->Put(bytes); };
  co_await RunOnDisk(context_, take);
  if (!taken) co_return taken.error();
  co_return std::nullopt;
}

asio::awaitable<HttpResponse> UploadReceiver::Finish() {
  ApiResult<FileObject> file;
  const std::function<void()> keep = [&] {
    file = Keep();
    upload_.reset();
  };
  co_await RunOnDisk(context_, keep);
  if (!file) co_return ErrorResponse(file.error(), request_);
  HttpResponse response;
  response.body = ToJson(*file);
  co_return response;
}

ApiResult<FileObject> UploadReceiver::Keep() {
  WEFT_RETURN_IF_ERROR(parser_->Finish());
  WEFT_ASSIGN_OR_RETURN(const UploadFields fields, form_.Finish());
  return upload_->Keep(fields);
}

}  // namespace weft
