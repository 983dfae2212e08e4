#include "server/api/models/model_commands.h"

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "proto/models/model_command.h"
#include "server/api/model_wait.h"
#include "server/api/request_models.h"
#include "server/http/connection.h"
#include "server/http/server_context.h"

namespace weft {
namespace {

namespace asio = boost::asio;

asio::awaitable<ApiResult<void>> LoadByName(const std::string& name, Connection& connection,
                                            ServerContext& context) {
  RequestModels models(*context.models);
  const ApiResult<const ServedModel*> found = models.Find(name);
  if (found) co_return ApiResult<void>();
  if (models.needed_id().empty()) co_return tl::unexpected(found.error());
  const ApiResult<ModelLease> loaded =
      co_await AwaitModel(models.needed_id(), connection, context, nullptr);
  if (!loaded) co_return tl::unexpected(loaded.error());
  co_return ApiResult<void>();
}

}  // namespace

asio::awaitable<HttpResponse> HandleModelCommand(Connection& connection, const HttpRequest& request,
                                                 RouteId route, ServerContext& context) {
  const ApiResult<ModelCommand> command = ParseModelCommand(request.body);
  if (!command) co_return ErrorResponse(command.error(), request);
  context.metrics->CountUnknownFields(command->unknown_field_count);
  ApiResult<void> done;
  if (route == RouteId::kLoadModel) {
    done = co_await LoadByName(command->model, connection, context);
  } else {
    done = context.models->Unload(command->model);
  }
  if (!done) co_return ErrorResponse(done.error(), request);
  HttpResponse response;
  response.body = R"({"success":true})";
  co_return response;
}

}  // namespace weft
