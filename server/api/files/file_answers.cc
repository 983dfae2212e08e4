#include "server/api/files/file_answers.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/quoted.h"
#include "base/result.h"
#include "server/api/files/upload_receiver.h"
#include "server/api/generation_handler.h"
#include "server/api/job_memory.h"
#include "server/api/preparation.h"
#include "server/batches/file_store.h"
#include "server/http/list_page.h"
#include "server/http/server_context.h"

namespace weft {

namespace asio = boost::asio;

namespace {

constexpr int32_t kListedFiles = 10'000;

ApiResult<std::string> ListFiles(const HttpRequest& request, FileStore& files) {
  WEFT_ASSIGN_OR_RETURN(const ListPage page,
                        ReadListPage(request.target, kListedFiles, kListedFiles));
  WEFT_ASSIGN_OR_RETURN(
      const FileList list,
      files.List(request.key_name, QueryParameter(request.target, "purpose"), page));
  return ToJson(list.files, list.has_more);
}

ApiResult<std::string> FileAnswerOf(const HttpRequest& request, const RouteMatch& match,
                                    FileStore& files) {
  const std::string& id = match.argument;
  if (match.route->id == RouteId::kFiles) return ListFiles(request, files);
  if (match.route->id == RouteId::kDeleteFile) {
    WEFT_RETURN_IF_ERROR(files.Delete(request.key_name, id));
    return DeletedFileJson(id);
  }
  WEFT_ASSIGN_OR_RETURN(const FileObject file, files.Find(request.key_name, id));
  return ToJson(file);
}

// The next bytes of a file; empty: there are no more, or they cannot be read.
std::string ReadPart(const RegularFile& file, size_t offset) {
  std::string part(std::min(kUploadPartBytes, file.size_bytes() - offset), '\0');
  ssize_t count = 0;
  do {
    count = pread(file.descriptor(), part.data(), part.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  part.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return part;
}

}  // namespace

ApiError FilesNotOffered() {
  return HttpError(404, "not_offered",
                   "files and batches are not offered: this server was started without "
                   "--files-dir");
}

HttpResponse AnswerFiles(const HttpRequest& request, const RouteMatch& match,
                         ServerContext& context) {
  ApiResult<std::string> body = FileAnswerOf(request, match, *context.files);
  if (!body) return ErrorResponse(body.error(), request);
  HttpResponse response;
  response.body = *std::move(body);
  return response;
}

asio::awaitable<ExchangeOutcome> SendFileContent(Connection& connection, const HttpRequest& request,
                                                 const std::string& id, ServerContext& context) {
  const bool keep_alive = request.keep_alive && !context.draining;
  ByteBudget::Hold held(context.BudgetOf(request.key_name));
  ApiResult<RegularFile> file;
  const std::function<void()> open = [&] {
    file = context.files->OpenContent(request.key_name, id);
  };
  co_await RunOnDisk(context, open);
  if (file) {
    if (auto refusal = HoldMore(held, kUploadPartBytes)) file = tl::unexpected(*refusal);
  }
  if (!file) {
    co_return co_await SendResponse(connection, request, ErrorResponse(file.error(), request),
                                    keep_alive);
  }
  HttpResponse response;
  // A browser saves it, whatever is in it, and takes it for nothing else.
  response.content_type = "application/octet-stream";
  response.headers.emplace_back("Content-Disposition",
                                fmt::format("attachment; filename=\"{}.jsonl\"", id));
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  ExchangeOutcome outcome;
  outcome.status = kClientGone;
  bool written =
      co_await connection.WriteHead(FormatHead(response, request, keep_alive, file->size_bytes()));
  size_t offset = request.method == "HEAD" ? file->size_bytes() : 0;
  while (written && offset < file->size_bytes()) {
    std::string part;
    const std::function<void()> read = [&] { part = ReadPart(*file, offset); };
    co_await RunOnDisk(context, read);
    if (part.empty()) co_return outcome;  // what was announced does not come: the client sees it
    offset += part.size();
    written = co_await connection.Write(part);
  }
  if (!written) co_return outcome;
  outcome.status = response.status;
  outcome.keep_alive = keep_alive;
  co_return outcome;
}

}  // namespace weft
