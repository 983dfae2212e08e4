#include "loadtest/plan/trace.h"

#include <algorithm>
#include <utility>

#include "base/quoted.h"
#include "loadtest/plan/text_lines.h"

namespace weft {
namespace {

using ParseLine = Result<TraceRequest> (*)(std::string_view line);

constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr size_t kMaxTraceRequests = 20'000'000;

}  // namespace

Result<std::vector<TraceRequest>> ReadTrace(const std::string& path) {
  std::vector<TraceRequest> requests;
  ParseLine parse = nullptr;
  WEFT_RETURN_IF_ERROR(ReadLines(path, [&](std::string_view line) -> Result<void> {
    if (parse == nullptr && line == kAzureHeader) {
      parse = ParseAzureLine;
      return {};
    }
    if (parse == nullptr && line.starts_with('{')) parse = ParseMooncakeLine;
    if (parse == nullptr) {
      return Fail(
          ErrorCode::kCorrupt,
          "expected a Mooncake trace (a JSON object a line) or Azure's CSV (a first line {}), "
          "found {}",
          kAzureHeader, Quoted(line));
    }
    if (requests.size() == kMaxTraceRequests) {
      return Fail(ErrorCode::kResourceExhausted, "more than {} requests", kMaxTraceRequests);
    }
    WEFT_ASSIGN_OR_RETURN(TraceRequest request, parse(line));
    requests.push_back(std::move(request));
    return {};
  }));
  if (requests.empty()) return Fail(ErrorCode::kCorrupt, "{}: no requests in it", path);
  std::stable_sort(requests.begin(), requests.end(),
                   [](const TraceRequest& a, const TraceRequest& b) { return a.time < b.time; });
  const std::chrono::nanoseconds first = requests.front().time;
  for (TraceRequest& request : requests) request.time -= first;
  return requests;
}

}  // namespace weft
