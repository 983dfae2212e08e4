#include "proto/score/score_response.h"

#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/usage_json.h"

namespace weft {

uint64_t ScoreJsonBytes(int64_t count) {
  constexpr int64_t kEntryBytes =
      72;  // {"index":99999,"object":"score","score":-1.2345678901234567e-05},
  constexpr int64_t kEnvelopeBytes = 1024;
  return static_cast<uint64_t>(count * kEntryBytes + kEnvelopeBytes);
}

std::string ToJson(const ScoreResponse& response) {
  std::string text = fmt::format(R"({{"id":{},"object":"list","created":{},"model":{},"data":[)",
                                 DumpJson(nlohmann::json(response.id)), response.created,
                                 DumpJson(nlohmann::json(response.model)));
  for (size_t i = 0; i < response.scores.size(); ++i) {
    if (i > 0) text += ',';
    fmt::format_to(std::back_inserter(text), R"({{"index":{},"object":"score","score":{}}})", i,
                   response.scores[i]);
  }
  text += R"(],"usage":)";
  text += DumpJson(PooledUsageJson(response.prompt_tokens, response.truncated_tokens));
  text += '}';
  return text;
}

}  // namespace weft
