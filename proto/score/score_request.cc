#include "proto/score/score_request.h"

#include <array>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/label_scores/label_score_reader.h"
#include "proto/truncation_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

// vLLM's names through the years.
constexpr std::array<std::string_view, 3> kFirstNames = {"text_1", "data_1", "queries"};
constexpr std::array<std::string_view, 4> kSecondNames = {"text_2", "data_2", "documents", "items"};
constexpr auto kScoreFields =
    JoinFields(std::array<std::string_view, 6>{"model", "instruction", "raw_scores",
                                               "use_activation", "priority", "user"},
               kFirstNames, kSecondNames, kTruncationFields);

ApiResult<ScoredTexts> ReadTexts(const json& value, const std::string& name) {
  ScoredTexts side;
  side.name = name;
  if (value.is_string()) {
    side.texts.push_back(value.get<std::string>());
    return side;
  }
  if (!value.is_array()) return RefuseValue(name, "a string or an array of strings", value);
  if (value.empty()) {
    return tl::unexpected(
        InvalidField(name, fmt::format("'{}' is an empty array; send at least one text", name)));
  }
  if (value.size() > kMaxScoredTexts) {
    return tl::unexpected(
        InvalidField(name, fmt::format("'{}' has {} texts; send at most {} a request", name,
                                       value.size(), kMaxScoredTexts)));
  }
  side.is_list = true;
  side.texts.reserve(value.size());
  for (const json& element : value) {
    if (!element.is_string()) {
      return RefuseValue(fmt::format("{}[{}]", name, side.texts.size()), "a string", element);
    }
    side.texts.push_back(element.get<std::string>());
  }
  return side;
}

// By whichever of its names is there.
ApiResult<ScoredTexts> ReadSide(const json& body, std::span<const std::string_view> names) {
  const json* value = nullptr;
  std::string found;
  for (const std::string_view name : names) {
    const json* field = FindField(body, name);
    if (field == nullptr) continue;
    if (value != nullptr) {
      return tl::unexpected(InvalidField(
          std::string(name),
          fmt::format("'{}' and '{}' are two names of the same; send one of them", found, name)));
    }
    value = field;
    found = name;
  }
  if (value == nullptr)
    return RefuseMissing(std::string(names.front()), "send the text, or a list");
  return ReadTexts(*value, found);
}

ApiResult<ScoreRequest> ReadScoreRequest(const json& body) {
  ScoreRequest request;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_ASSIGN_OR_RETURN(request.first, ReadSide(body, kFirstNames));
  WEFT_ASSIGN_OR_RETURN(request.second, ReadSide(body, kSecondNames));
  const size_t first_count = request.first.texts.size();
  const size_t second_count = request.second.texts.size();
  if (first_count != 1 && first_count != second_count) {
    return tl::unexpected(InvalidField(
        request.second.name,
        fmt::format("'{}' has {} texts and '{}' {}; send one text and several, or as many of both",
                    request.first.name, first_count, request.second.name, second_count)));
  }
  WEFT_RETURN_IF_ERROR(ReadString(body, "instruction", request.instruction));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "raw_scores", request.raw_scores));
  bool is_activated = true;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "use_activation", is_activated));
  request.raw_scores |= !is_activated;
  WEFT_ASSIGN_OR_RETURN(request.truncation, ReadTruncation(body));
  int32_t priority = 0;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "priority", 0, kMaxInt32, priority));
  std::optional<std::string> user;
  WEFT_RETURN_IF_ERROR(ReadString(body, "user", user));
  request.unknown_field_count = CountUnknownFields(body, kScoreFields, {});
  return request;
}

}  // namespace

ApiResult<ScoreRequest> ParseScoreRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  return ReadScoreRequest(body);
}

ApiResult<AnyScoreRequest> ParseAnyScoreRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  if (HasLabels(body)) return ReadLabelScoreRequest(body, LabelScoreShape::kSglang);
  return ReadScoreRequest(body);
}

}  // namespace weft
