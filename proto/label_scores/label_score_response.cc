#include "proto/label_scores/label_score_response.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/usage_json.h"

namespace weft {

uint64_t LabelScoreJsonBytes(int64_t item_count, int64_t label_count) {
  constexpr int64_t kScoreBytes = 26;  // "-1.2345678901234567e-105,"
  constexpr int64_t kEnvelopeBytes = 1024;
  return static_cast<uint64_t>(item_count * (label_count * kScoreBytes + 3) + kEnvelopeBytes);
}

std::string ToJson(const LabelScoreResponse& response) {
  std::string text = R"({"object":"scoring","scores":[)";
  for (size_t i = 0; i < response.scores.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}[{}]", i == 0 ? "" : ",",
                   fmt::join(response.scores[i], ","));
  }
  text += fmt::format(R"(],"model":{},"usage":{}}})", DumpJson(nlohmann::json(response.model)),
                      DumpJson(UsageCountsJson(response.prompt_tokens, 0)));
  return text;
}

}  // namespace weft
