#include "tests/server/fixture_server.h"

#include <utility>

#include <gtest/gtest.h>

#include "server/api/structured/structured_output.h"
#include "tests/data_paths.h"
#include "tests/engine/recording_sink.h"

namespace weft {

FixtureServer::FixtureServer(std::string_view name) {
  ModelOptions options;
  options.path = SourcePath("tests/model/fixtures/parity/" + std::string(name) + "/hf");
  options.arithmetic = Arithmetic::kBF16;
  options.thread_count = 1;
  options.memory_bytes = 1 << 30;
  model_ = LoadedModel::Load(options).value();
  const Checkpoint& checkpoint = model_->checkpoint();
  ServedModel served;
  served.id = name;
  served.tokenizer = checkpoint.tokenizer;
  served.structured = std::make_shared<StructuredOutput>(
      checkpoint.tokenizer, std::make_shared<MatcherPool>(size_t{64} << 20));
  served.engine = &model_->engine();
  served.embedding_size = checkpoint.spec.embedding_size();
  served.pooling = checkpoint.spec.pooling;
  served.ranking = checkpoint.ranking;
  served.classifier = checkpoint.spec.classifier;
  served.makes_sparse = checkpoint.spec.makes(PooledOutput::kSparse);
  served.prompts = checkpoint.prompts;
  ServerOptions server;
  server.port = 0;
  server_ = Server::Start(server, std::make_shared<ModelRegistry>(std::vector{served}),
                          std::make_shared<Metrics>(), Access::Load(server).value(),
                          std::make_shared<Tracer>())
                .value();
}

RawResponse FixtureServer::PostTo(std::string_view path, const nlohmann::json& body) const {
  RawClient client(server_->port());
  client.Send(Post(path, body.dump()));
  return client.Read();
}

PooledResult FixtureServer::Pool(Request request) const {
  const auto sink = std::make_shared<RecordingSink>();
  request.id = model_->engine().NextId();
  request.sampling.max_tokens = 0;
  request.sink = sink;
  EXPECT_TRUE(model_->engine().Submit(std::move(request)));
  sink->WaitUntilFinished();
  return sink->pooled().value();
}

}  // namespace weft
