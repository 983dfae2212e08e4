#include <cmath>

#include <nlohmann/json.hpp>

#include "base/checked_math.h"
#include "base/quoted.h"
#include "loadtest/plan/lengths.h"
#include "loadtest/plan/trace.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr double kMaxTimestampMs = 9e12;  // fits nanoseconds, and milliseconds since 1970 as well

// For an error message. Objects and arrays are not written out, whose depth is the file's choice.
std::string Found(const Json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end()) return "nothing";
  return field->is_structured() ? field->type_name() : Quoted(field->dump());
}

Result<int32_t> ReadLength(const Json& object, const char* key, int32_t least) {
  const auto field = object.find(key);
  if (field != object.end() && field->is_number_unsigned() && *field >= least &&
      *field <= kMaxLength) {
    return field->get<int32_t>();
  }
  return Fail(ErrorCode::kCorrupt, "\"{}\": expected an integer from {} to {}, found {}", key,
              least, kMaxLength, Found(object, key));
}

Result<void> ReadHashes(const Json& object, TraceRequest& request) {
  const auto field = object.find("hash_ids");
  if (field == object.end()) return {};
  if (!field->is_array()) return Fail(ErrorCode::kCorrupt, "\"hash_ids\": expected an array");
  const int64_t block_count = CeilDivide(request.input_tokens, kTraceBlockTokens);
  if (field->size() > static_cast<size_t>(block_count)) {
    return Fail(ErrorCode::kCorrupt,
                "\"hash_ids\": expected at most {} for an input_length of {}, one for {} tokens, "
                "found {}",
                block_count, request.input_tokens, kTraceBlockTokens, field->size());
  }
  for (const Json& hash : *field) {
    if (!hash.is_number_integer()) {
      return Fail(ErrorCode::kCorrupt, "\"hash_ids\": expected integers, found {}",
                  hash.type_name());
    }
    request.block_hashes.push_back(hash.get<uint64_t>());
  }
  return {};
}

}  // namespace

Result<TraceRequest> ParseMooncakeLine(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) {
    return Fail(ErrorCode::kCorrupt, "expected a JSON object, found {}", Quoted(line));
  }
  TraceRequest request;
  const auto timestamp = object.find("timestamp");
  const double milliseconds =
      timestamp != object.end() && timestamp->is_number() ? timestamp->get<double>() : -1;
  if (!(milliseconds >= 0 && milliseconds <= kMaxTimestampMs)) {
    return Fail(ErrorCode::kCorrupt, "\"timestamp\": expected milliseconds from 0 to {}, found {}",
                kMaxTimestampMs, Found(object, "timestamp"));
  }
  request.time = std::chrono::nanoseconds(std::llround(milliseconds * 1e6));
  WEFT_ASSIGN_OR_RETURN(request.input_tokens, ReadLength(object, "input_length", 1));
  WEFT_ASSIGN_OR_RETURN(request.output_tokens, ReadLength(object, "output_length", 0));
  WEFT_RETURN_IF_ERROR(ReadHashes(object, request));
  return request;
}

}  // namespace weft
