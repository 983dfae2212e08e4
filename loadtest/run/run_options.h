// How a load plan is carried out: which server, in which dialect, and what is checked besides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft {

enum class Endpoint { kCompletions, kChat, kEmbeddings, kRerank };

// Whether it is answered by text, which may be streamed; otherwise by a vector or a score for each
// text of a request.
inline bool Generates(Endpoint endpoint) {
  return endpoint == Endpoint::kCompletions || endpoint == Endpoint::kChat;
}

struct RunOptions {
  std::string url = "http://127.0.0.1:8080";  // see ParseUrl
  std::string model;                          // empty: the first one that the server lists
  std::string api_key;                        // sent as a bearer token unless empty
  Endpoint endpoint = Endpoint::kCompletions;
  std::optional<int32_t> texts_per_request;      // of kEmbeddings: 1
  std::optional<int32_t> documents_per_request;  // of kRerank: 10
  bool stream = true;                            // where the endpoint generates
  double temperature = 0.0;
  bool ignore_eos = false;           // asks for all max_tokens; an extension not all servers know
  double timeout_s = 600;            // of one request
  std::string extra_body;            // a JSON object whose members every request's body gets; or ""
  std::vector<std::string> headers;  // "Name: value"
  bool insecure = false;             // https: any certificate will do
  std::string ca_file;               // https: PEM of the authorities to trust; empty: the system's
  int32_t max_connections = 0;       // 0: as many as there are requests at a time

  // Sent before the run and not recorded; both 0: none.
  int32_t warmup_requests = 0;
  double warmup_s = 0;

  // Of so many normal requests (in the plan's order) the output is compared with that of the same
  // request alone; -1: of all, 0: of none. Only at temperature 0.
  int64_t verify_count = 0;

  // A run in which the client itself was worse than this says nothing about the server.
  double max_lag_ms = 10;      // for all but 1% of either lag of ClientHealth
  double max_cpu_share = 0.8;  // of one core

  bool progress = true;        // on stderr
  std::string progress_label;  // what it begins with: which run of several this is
};

// How many texts a request has that are answered each; 0: the endpoint generates.
int32_t TextsPerRequest(const RunOptions& options);

// "--url" and so on: one option a field, progress_label excepted.
void AddRunOptions(CLI::App& app, RunOptions& options);

}  // namespace weft
