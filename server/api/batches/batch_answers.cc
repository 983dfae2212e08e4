#include "server/api/batches/batch_answers.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "server/batches/batch_runner.h"
#include "server/batches/batch_store.h"
#include "server/http/list_page.h"
#include "server/http/server_context.h"

namespace weft {
namespace {

constexpr size_t kMaxBatchBodyBytes = 65536;
constexpr int32_t kListedBatches = 20;
constexpr int32_t kMaxListedBatches = 100;

ApiResult<std::string> CreateBatch(const HttpRequest& request, ServerContext& context) {
  if (request.body.size() > kMaxBatchBodyBytes) {
    return tl::unexpected(HttpError(
        413, "body_too_large",
        fmt::format("the request's body is larger than {} bytes; the batch's lines belong "
                    "in a file",
                    kMaxBatchBodyBytes)));
  }
  WEFT_ASSIGN_OR_RETURN(BatchObject batch, ParseBatchRequest(request.body));
  context.metrics->CountUnknownFields(batch.unknown_field_count);
  WEFT_ASSIGN_OR_RETURN(const BatchObject created,
                        context.batches->Create(request.key_name, std::move(batch)));
  context.batch_runner->Notify();
  return ToJson(created);
}

ApiResult<std::string> BatchAnswerOf(const HttpRequest& request, const RouteMatch& match,
                                     ServerContext& context) {
  BatchStore& batches = *context.batches;
  switch (match.route->id) {
    case RouteId::kCreateBatch:
      return CreateBatch(request, context);
    case RouteId::kBatches: {
      WEFT_ASSIGN_OR_RETURN(const ListPage page,
                            ReadListPage(request.target, kListedBatches, kMaxListedBatches));
      WEFT_ASSIGN_OR_RETURN(const BatchList list, batches.List(request.key_name, page));
      return ToJson(list.batches, list.has_more);
    }
    case RouteId::kCancelBatch: {
      WEFT_ASSIGN_OR_RETURN(const BatchObject batch,
                            batches.Cancel(request.key_name, match.argument));
      context.batch_runner->Notify();
      return ToJson(batch);
    }
    default: {
      WEFT_ASSIGN_OR_RETURN(const BatchObject batch,
                            batches.Find(request.key_name, match.argument));
      return ToJson(batch);
    }
  }
}

}  // namespace

HttpResponse AnswerBatches(const HttpRequest& request, const RouteMatch& match,
                           ServerContext& context) {
  ApiResult<std::string> body = BatchAnswerOf(request, match, context);
  if (!body) return ErrorResponse(body.error(), request);
  HttpResponse response;
  response.body = *std::move(body);
  return response;
}

}  // namespace weft
