#include "proto/classify/classify_response.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/usage_json.h"

namespace weft {
namespace {

std::vector<std::string> QuotedLabels(const ClassifyResponse& response) {
  std::vector<std::string> quoted;
  for (const std::string& label : response.labels) {
    quoted.push_back(DumpJson(nlohmann::json(label)));
  }
  return quoted;
}

// By falling score; equal ones: lower label first.
std::vector<size_t> OrderOf(const std::vector<double>& scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

std::string BeginList(const ClassifyResponse& response) {
  return fmt::format(R"({{"id":{},"object":"list","created":{},"model":{},"data":[)",
                     DumpJson(nlohmann::json(response.id)), response.created,
                     DumpJson(nlohmann::json(response.model)));
}

std::string EndList(const ClassifyResponse& response, std::string text) {
  text += R"(],"usage":)";
  text += DumpJson(PooledUsageJson(response.prompt_tokens, response.truncated_tokens));
  text += '}';
  return text;
}

}  // namespace

uint64_t ClassifyJsonBytes(int64_t text_count, const std::vector<std::string>& labels) {
  constexpr uint64_t kEntryBytes = 64;  // {"index":99999,"label":,"probs":[],"num_classes":99999},
  constexpr uint64_t kScoreBytes = 48;  // {"score":-1.2345678901234567e-05,"label":""},
  constexpr uint64_t kEnvelopeBytes = 1024;
  uint64_t label_bytes = 0;
  uint64_t longest = 0;
  for (const std::string& label : labels) {
    const uint64_t bytes = 6 * label.size();  // escaped
    label_bytes += bytes;
    longest = std::max(longest, bytes);
  }
  const uint64_t each = kEntryBytes + longest + labels.size() * kScoreBytes + label_bytes;
  return static_cast<uint64_t>(text_count) * each + kEnvelopeBytes;
}

std::string ToJson(const ClassifyResponse& response) {
  const std::vector<std::string> labels = QuotedLabels(response);
  std::string text = BeginList(response);
  for (size_t i = 0; i < response.scores.size(); ++i) {
    const std::vector<double>& scores = response.scores[i];
    const auto best = static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
    if (i > 0) text += ',';
    fmt::format_to(std::back_inserter(text),
                   R"({{"index":{},"label":{},"probs":[{}],"num_classes":{}}})", i, labels[best],
                   fmt::join(scores, ","), scores.size());
  }
  return EndList(response, std::move(text));
}

std::string ToPoolingJson(const ClassifyResponse& response) {
  std::string text = BeginList(response);
  for (size_t i = 0; i < response.scores.size(); ++i) {
    if (i > 0) text += ',';
    fmt::format_to(std::back_inserter(text), R"({{"index":{},"object":"pooling","data":[{}]}})", i,
                   fmt::join(response.scores[i], ","));
  }
  return EndList(response, std::move(text));
}

std::string ToPredictJson(const ClassifyResponse& response, bool is_batch) {
  const std::vector<std::string> labels = QuotedLabels(response);
  std::string text;
  for (const std::vector<double>& scores : response.scores) {
    text += text.empty() ? "[" : ",[";
    for (const size_t label : OrderOf(scores)) {
      if (text.back() != '[') text += ',';
      fmt::format_to(std::back_inserter(text), R"({{"score":{},"label":{}}})", scores[label],
                     labels[label]);
    }
    text += ']';
  }
  return is_batch ? "[" + text + "]" : text;
}

}  // namespace weft
