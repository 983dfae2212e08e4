// The flags of `weft serve`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "server/commands/request_flags.h"
#include "server/http/server_options.h"
#include "server/models/loaded_model.h"

namespace weft {

struct ServeOptions {
  ModelOptions model;  // of each, but for its path
  // Empty: the bundled model, unless models are loaded on request.
  std::vector<std::string> model_paths;
  std::string models_folder;                      // empty: none
  bool uses_cached_models = false;                // those of the Hub's cache, on request
  std::chrono::milliseconds keep_alive{300'000};  // see RegistryOptions
  std::vector<std::string>
      served_model_names;  // one a path, or none: files' and directories' names; of one model all
  std::optional<Pooling> pooling;  // of embeddings; nullopt: the model's own
  // VALUE for the models that it fits, or NAME=VALUE for one; see SettingsOfModels.
  std::vector<std::string> tasks;           // encoder-decoders'; otherwise what the files say
  std::vector<std::string> chat_templates;  // paths of Jinja files; otherwise the models' own
  bool any_model_name = false;              // names that no model has mean the first
  RequestFlags requests;
  ServerOptions server;                          // its rules are what `requests` come to
  std::optional<uint64_t> response_store_bytes;  // absent: as much as is sensible
  std::chrono::milliseconds shutdown_timeout{30'000};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::string otlp_endpoint;  // see ReadTracingOptions
  std::string help;           // not empty: print it instead of serving

  bool loads_on_request() const { return !models_folder.empty() || uses_cached_models; }
};

// `argv[0]` is the command's name. Flags win over the file that --config names. Errors are one
// line.
Result<ServeOptions> ParseServeOptions(int argc, const char* const* argv);

}  // namespace weft
