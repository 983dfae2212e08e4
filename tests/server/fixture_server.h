// A server on a free port over a real model: one of the small ones that parity is tested with.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "server/http/server.h"
#include "server/models/loaded_model.h"
#include "tests/server/raw_client.h"

namespace weft {

class FixtureServer {
 public:
  // Of tests/model/fixtures/parity/NAME/hf; its weights are computed with in bf16, on one thread.
  explicit FixtureServer(std::string_view name);

  RawResponse PostTo(std::string_view path, const nlohmann::json& body) const;
  const Checkpoint& checkpoint() const { return model_->checkpoint(); }
  // What is pooled of tokens, beside the server.
  PooledResult Pool(Request request) const;

 private:
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Server> server_;
};

}  // namespace weft
