#include "server/commands/serve_options.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/regular_file.h"
#include "proto/ollama/keep_alive.h"
#include "server/commands/command_line.h"
#include "server/http/cors.h"
#include "server/http/host_name.h"
#include "server/http/host_policy.h"

namespace weft {
namespace {

// --config: a flat JSON object, the flags' names without dashes as its keys.
class JsonConfig : public CLI::Config {
 public:
  // The app outlives this.
  explicit JsonConfig(const CLI::App& app) : app_(app) {}

  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text(std::istreambuf_iterator<char>(input), {});
    const auto parsed = nlohmann::json::parse(text, nullptr, false);
    if (!parsed.is_object()) throw CLI::ConfigError("the file of --config is not a JSON object");
    std::vector<CLI::ConfigItem> settings;
    for (const auto& [name, value] : parsed.items()) {
      if (app_.get_option_no_throw("--" + name) == nullptr) {
        throw CLI::ConfigError("--config: there is no option '" + name + "'");
      }
      CLI::ConfigItem setting;
      setting.name = name;
      for (const auto& item : value.is_array() ? value : nlohmann::json::array({value})) {
        if (!item.is_string() && !item.is_number() && !item.is_boolean()) {
          throw CLI::ConfigError("--config: '" + name +
                                 "' must be a string, a number, true, false, or an array of "
                                 "those");
        }
        setting.inputs.push_back(item.is_string() ? item.get<std::string>() : item.dump());
      }
      settings.push_back(std::move(setting));
    }
    return settings;
  }

 private:
  const CLI::App& app_;
};

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// An option that can be given again.
CLI::Option* AddList(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                     const std::string& help) {
  return app.add_option(name, values, help)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddServedModelFlags(CLI::App& app, ServeOptions& options) {
  ModelOptions& model = options.model;
  AddList(app, "--model", options.model_paths,
          "GGUF file, Hugging Face directory or hf:ORG/REPO[:QUANTISATION] (the bundled model); "
          "given again, all are served");
  AddModelSettings(app, model);
  AddList(app, "--served-model-name", options.served_model_names,
          "What requests call the model (the file's name); given again: other names of it; of "
          "several models, each in the same order");
  app.add_flag("--any-model-name", options.any_model_name,
               "Requests for names that no model has mean the first model (they get 404)");
  AddList(app, "--chat-template", options.chat_templates,
          "Jinja file with the chat template (the model's own, or else ChatML); NAME=FILE: of one "
          "of several models");
  AddList(app, "--task", options.tasks,
          "What an encoder-decoder does with prompts: a task of its own, or "
          "translation_SOURCE_to_TARGET (what its files say); or rerank: a decoder ranks as "
          "Qwen3-Reranker or mxbai-rerank v2; NAME=TASK: of one of several models");
  app.add_option_function<std::string>(
         "--pooling",
         [&options](const std::string& name) {
           options.pooling = name == "mean" ? Pooling::kMean : Pooling::kLast;
         },
         "What embeddings are made of: last or mean (the model's own)")
      ->check(CLI::IsMember({"last", "mean"}));
  app.add_option("--max-batch-tokens", model.max_batch_tokens, "Tokens that one step computes")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option_function<int64_t>(
         "--max-stall",
         [&model](const int64_t& count) { model.max_stall = std::chrono::milliseconds(count); },
         "Milliseconds that running streams may wait for a token while prompts arrive")
      ->check(CLI::Range(1, 3'600'000))
      ->default_str(std::to_string(model.max_stall.count()));
  app.add_option_function<std::string>(
         "--prefix-cache",
         [&options](const std::string& choice) {
           options.model.prefix_cache = choice != "off";
           options.server.keys_share_prefixes = choice == "shared";
         },
         "Whether prompts that begin alike share what was computed: on (those of the same API "
         "key), off or shared (those of all keys)")
      ->check(CLI::IsMember({"on", "off", "shared"}))
      ->default_str("on");
  app.add_option("--max-sequences", model.max_sequences, "Sequences computed at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option("--max-waiting", model.max_waiting, "Requests queued; one more gets 429")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxInt32));
}

void AddRequestedModelFlags(CLI::App& app, ServeOptions& options) {
  app.add_option("--models-dir", options.models_folder,
                 "Folder of GGUF files and of directories, which are loaded when requests name "
                 "them, besides what --model says, if it is there");
  app.add_flag("--models-cache", options.uses_cached_models,
               "The same for what weft pull has fetched");
  app.add_option_function<std::string>(
         "--keep-alive",
         [&options](const std::string& text) { options.keep_alive = *ParseKeepAlive(text); },
         "How long a model that was loaded for a request stays when nobody uses it, as 300 "
         "(seconds) or 5m; 0: not at all; -1: until another one needs its room")
      ->check([](const std::string& text) {
        return ParseKeepAlive(text) ? ""
                                    : "expected a time as 300, 90s, 5m or 1h, not '" + text + "'";
      })
      ->default_str("5m");
}

// A time in seconds, fractions allowed.
void AddSeconds(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                const std::string& help) {
  app.add_option_function<double>(
         name,
         [&value](const double& seconds) {
           value = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
         },
         help)
      ->check(CLI::Range(0.001, 1e6))
      ->default_str(std::to_string(value.count() / 1000));
}

// "host:port", an IPv6 address in brackets; nullopt: it is not.
std::optional<ListenAddress> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !HostNameOf(text)) return std::nullopt;
  ListenAddress address;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  address.host = host;
  return address;
}

void AddSocketFlags(CLI::App& app, ServerOptions& server) {
  // An image's entry point has one already.
  app.add_option("--host", server.host, "Address to listen on; given again, the last one counts")
      ->capture_default_str()
      ->take_last();
  app.add_option("--port", server.port, "Port; 0: any free one")->capture_default_str();
  app.add_option("--unix-socket", server.unix_socket_path,
                 "Path of a socket to listen on; instead of TCP, unless --host or --port is there");
  app.add_option_function<std::string>(
         "--unix-socket-mode",
         [&server](const std::string& digits) {
           server.unix_socket_mode = static_cast<unsigned>(std::stoul(digits, nullptr, 8));
         },
         "Who may connect to it, as chmod has it")
      ->check([](const std::string& digits) {
        const bool is_octal = !digits.empty() && digits.size() <= 4 &&
                              digits.find_first_not_of("01234567") == std::string::npos;
        return is_octal ? "" : "expected up to four octal digits, not '" + digits + "'";
      })
      ->default_str("0660");
  auto* const certificate =
      app.add_option("--tls-cert", server.tls_certificate_path,
                     "PEM file with the certificate and its chain; TCP then speaks TLS");
  auto* const key = app.add_option("--tls-key", server.tls_key_path, "PEM file with its key");
  certificate->needs(key);
  key->needs(certificate);
}

void AddAccessFlags(CLI::App& app, ServerOptions& server) {
  app.add_option("--api-key-file", server.api_key_path,
                 "Lines of name:key; all but /health and /ready then need one of the keys; read "
                 "again on SIGHUP");
  app.add_option("--operator-key-file", server.operator_key_path,
                 "Lines of name:key: keys that may besides load and unload models, and see all of "
                 "/metrics and /watch; read again on SIGHUP");
  app.add_option(
      "--metrics-key-file", server.metrics_key_path,
      "Lines of name:key: keys for /metrics and /watch alone, which show it all; those of "
      "--api-key-file see themselves there; read again on SIGHUP");
  app.add_option_function<std::string>(
         "--metrics-address",
         [&server](const std::string& text) { server.metrics_address = ParseAddress(text); },
         "HOST:PORT that answers /metrics, /health and /ready alone, without keys and TLS")
      ->check([](const std::string& text) {
        return ParseAddress(text) ? "" : "expected HOST:PORT, not '" + text + "'";
      });
  AddList(app, "--cors-origin", server.cors_origins,
          "Web pages of this origin may call the server; * for all, can be given again")
      ->check([](const std::string& origin) {
        const Result<void> checked = CorsPolicy::CheckOrigin(origin);
        return checked ? std::string() : checked.error().message;
      });
  AddList(app, "--allowed-host", server.allowed_hosts,
          "A name that requests may call the server by, besides addresses, localhost and "
          "--host; others get 403; can be given again")
      ->check([](const std::string& name) {
        const Result<void> checked = HostPolicy::CheckName(name);
        return checked ? std::string() : checked.error().message;
      });
}

void AddServerFlags(CLI::App& app, ServeOptions& options) {
  ServerOptions& server = options.server;
  AddSocketFlags(app, server);
  app.add_option("--max-connections", server.max_connections, "One more gets 503")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--max-body", server.max_body_bytes, "Of a request, as 8MiB; more gets 413")
      ->type_name("SIZE")
      ->transform(SizeInBytes())
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30))
      ->default_str("8MiB");
  app.add_option(
         "--response-store", options.response_store_bytes,
         "Memory for responses that clients come back to, as 64MiB; the oldest go first; 0: "
         "none (64MiB, or a sixteenth of --memory)")
      ->type_name("SIZE")
      ->transform(SizeInBytes())
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40));
  app.add_flag_function(
      "--no-page", [&server](int64_t count) { server.page = count <= 0; },
      "Browsers get no page at / (they get one)");
  app.add_option(
      "--files-dir", server.files_directory,
      "Directory of /v1/files and /v1/batches, which nobody else may look into (they are "
      "not offered)");
  app.add_option("--files-disk", server.files_disk_bytes,
                 "What files and results may take there, as 10GiB; more gets 413; each of several "
                 "keys half of it at most")
      ->type_name("SIZE")
      ->transform(SizeInBytes())
      ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 50))
      ->default_str("10GiB");
  app.add_option("--batch-lines", server.batch_lines, "Lines of batches computed at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  AddSeconds(app, "--idle-timeout", server.idle_timeout, "Seconds between requests");
  AddSeconds(app, "--header-timeout", server.header_timeout, "Seconds for a request's head");
  AddSeconds(app, "--body-timeout", server.body_timeout, "Seconds for a request's body");
  AddSeconds(app, "--write-timeout", server.write_timeout, "Seconds without the client reading");
  AddSeconds(app, "--load-timeout", server.model_patience,
             "Seconds that a request waits for its model to be loaded");
  AddSeconds(app, "--shutdown-timeout", options.shutdown_timeout,
             "Seconds that running requests get after SIGTERM");
}

void AddTracingFlag(CLI::App& app, std::string& endpoint) {
  app.add_option("--otlp-endpoint", endpoint,
                 "http(s)://HOST:PORT of an OpenTelemetry collector, which gets each request's "
                 "spans; variables OTEL_... say the rest");
}

void AddLogFormatFlag(CLI::App& app, LogFormat& format) {
  app.add_option_function<std::string>(
         "--log-format",
         [&format](const std::string& name) {
           format = name == "json" ? LogFormat::kJson : LogFormat::kText;
         },
         "Lines for people, or a JSON object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->envname("WEFT_LOG_FORMAT")
      ->default_str("text");
}

}  // namespace

Result<ServeOptions> ParseServeOptions(int argc, const char* const* argv) {
  ServeOptions options;
  CLI::App app("Serves a model over HTTP: OpenAI's API.", "weft serve");
  AddServedModelFlags(app, options);
  AddRequestedModelFlags(app, options);
  AddServerFlags(app, options);
  AddAccessFlags(app, options.server);
  AddRequestFlags(app, options.requests);
  AddLogFlag(app, options.log_level);
  AddLogFormatFlag(app, options.log_format);
  AddTracingFlag(app, options.otlp_endpoint);
  app.config_formatter(std::make_shared<JsonConfig>(app));
  app.set_config("--config", "", "JSON file: an object of these flags, without the dashes")
      ->check([](const std::string& path) {
        const Result<RegularFile> file = RegularFile::Open(path);
        return file ? std::string() : file.error().message;
      });
  app.allow_config_extras(CLI::config_extras_mode::error);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kInvalidArgument, "weft serve: {}", error.what());
  }
  ServerOptions& server = options.server;
  server.listens_on_tcp =
      server.unix_socket_path.empty() || app.count("--host") + app.count("--port") > 0;
  if (!server.listens_on_tcp && !server.tls_certificate_path.empty()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "weft serve: --tls-cert is for TCP, and --unix-socket is instead of it; add --port");
  }
  const size_t model_count = std::max<size_t>(options.model_paths.size(), 1);
  const size_t name_count = options.served_model_names.size();
  if (model_count > 1 && name_count > 0 && name_count != model_count) {
    return Fail(ErrorCode::kInvalidArgument,
                "weft serve: --served-model-name is there {} times, for {} models; name each, in "
                "the order of --model, or none",
                name_count, model_count);
  }
  const bool names_models = name_count > 0 || options.any_model_name || !options.tasks.empty() ||
                            !options.chat_templates.empty();
  if (options.loads_on_request() && options.model_paths.empty() && names_models) {
    return Fail(ErrorCode::kInvalidArgument,
                "weft serve: --served-model-name, --any-model-name, --task and --chat-template are "
                "for the models of --model, and there is none");
  }
  Result<RequestRules> rules = RulesOf(options.requests);
  if (!rules) return Fail(rules.error().code, "weft serve: {}", rules.error().message);
  server.rules = *std::move(rules);
  return options;
}

}  // namespace weft
