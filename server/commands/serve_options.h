// The flags of `weft serve`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "server/http/server_options.h"
#include "server/models/loaded_model.h"

namespace weft {

struct ServeOptions {
  ModelOptions model;              // path empty: the bundled model
  std::string served_model_name;   // empty: the file's or directory's name
  std::optional<Pooling> pooling;  // of embeddings; nullopt: the model's own
  std::string task;                // an encoder-decoder's; empty: what its files say
  std::string chat_template_path;  // a Jinja file; empty: the model's own template
  ServerOptions server;
  std::optional<uint64_t> response_store_bytes;  // absent: as much as is sensible
  std::chrono::milliseconds shutdown_timeout{30'000};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::string otlp_endpoint;  // see ReadTracingOptions
  std::string help;           // not empty: print it instead of serving
};

// `argv[0]` is the command's name. Flags win over the file that --config names. Errors are one
// line.
Result<ServeOptions> ParseServeOptions(int argc, const char* const* argv);

}  // namespace weft
