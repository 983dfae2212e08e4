#include "proto/rerank/rerank_response.h"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/usage_json.h"

namespace weft {
namespace {

struct ResultFormat {
  std::string_view score_name;
  std::string_view before_text;  // of a document that is returned, which stands behind the score
  std::string_view after_text;
};

void AppendResults(const RerankResponse& response, const ResultFormat& format, std::string& text) {
  text += '[';
  for (const RankedDocument& result : response.results) {
    if (text.back() != '[') text += ',';
    fmt::format_to(std::back_inserter(text), R"({{"index":{},"{}":{})", result.index,
                   format.score_name, result.score);
    if (!response.documents.empty()) {
      text += format.before_text;
      text += DumpJson(nlohmann::json(response.documents[static_cast<size_t>(result.index)]));
      text += format.after_text;
    }
    text += '}';
  }
  text += ']';
}

}  // namespace

uint64_t RerankJsonBytes(int64_t result_count, uint64_t document_bytes) {
  constexpr uint64_t kEntryBytes =
      96;  // {"index":99999,"relevance_score":1.2345678901234567e-05, ...
  constexpr uint64_t kEnvelopeBytes = 1024;
  return static_cast<uint64_t>(result_count) * kEntryBytes + document_bytes + kEnvelopeBytes;
}

std::string ToJson(const RerankResponse& response) {
  std::string text =
      fmt::format(R"({{"id":{},"model":{},"results":)", DumpJson(nlohmann::json(response.id)),
                  DumpJson(nlohmann::json(response.model)));
  AppendResults(response, {"relevance_score", R"(,"document":{"text":)", "}"}, text);
  nlohmann::ordered_json meta;
  meta["tokens"]["input_tokens"] = response.prompt_tokens;
  meta["tokens"]["output_tokens"] = 0;
  text += R"(,"usage":)";
  text += DumpJson(PooledUsageJson(response.prompt_tokens, response.truncated_tokens));
  text += R"(,"meta":)";
  text += DumpJson(meta);
  text += '}';
  return text;
}

std::string ToTeiJson(const RerankResponse& response) {
  std::string text;
  AppendResults(response, {"score", R"(,"text":)", ""}, text);
  return text;
}

}  // namespace weft
