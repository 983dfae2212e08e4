#include "proto/classify/classify_request.h"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/prompt_reader.h"
#include "proto/truncation_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array kUnsupportedClassifyFields = {UnsupportedField{"add_special_tokens", "true"}};
constexpr auto kClassifyFields =
    JoinFields(std::array<std::string_view, 6>{"model", "input", "raw_scores", "use_activation",
                                               "priority", "user"},
               kTruncationFields);
constexpr auto kPredictFields =
    JoinFields(std::array<std::string_view, 3>{"model", "inputs", "raw_scores"}, kTruncationFields);

// [text] or [text, text].
ApiResult<PredictedText> ReadPredictedText(const json& list, const std::string& path) {
  if (list.empty() || list.size() > 2) {
    return tl::unexpected(
        InvalidField(path, fmt::format("'{}' has {} texts; send one, or two that are read together",
                                       path, list.size())));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) {
      return RefuseValue(fmt::format("{}[{}]", path, i), "a string", list[i]);
    }
  }
  PredictedText text = {.first = list[0].get<std::string>(), .second = {}};
  if (list.size() == 2) text.second = list[1].get<std::string>();
  return text;
}

// A text, a pair [text, text], or a batch of lists of one or two.
ApiResult<void> ReadInputs(const json& body, PredictRequest& request) {
  const json* inputs = FindField(body, "inputs");
  if (inputs == nullptr) return RefuseMissing("inputs", "send the text");
  if (inputs->is_string()) {
    request.inputs.push_back({.first = inputs->get<std::string>(), .second = {}});
    return {};
  }
  if (!inputs->is_array() || inputs->empty()) {
    return RefuseValue("inputs",
                       "a string, a pair of strings, or an array of arrays of one or two strings",
                       *inputs);
  }
  request.is_batch = inputs->front().is_array();
  if (!request.is_batch) {
    WEFT_ASSIGN_OR_RETURN(PredictedText text, ReadPredictedText(*inputs, "inputs"));
    request.inputs.push_back(std::move(text));
    return {};
  }
  if (inputs->size() > kMaxClassifiedTexts) {
    return tl::unexpected(
        InvalidField("inputs", fmt::format("'inputs' has {} texts; send at most {} a request",
                                           inputs->size(), kMaxClassifiedTexts)));
  }
  for (const json& element : *inputs) {
    const std::string path = fmt::format("inputs[{}]", request.inputs.size());
    if (!element.is_array()) return RefuseValue(path, "an array of one or two strings", element);
    WEFT_ASSIGN_OR_RETURN(PredictedText text, ReadPredictedText(element, path));
    request.inputs.push_back(std::move(text));
  }
  return {};
}

}  // namespace

ApiResult<ClassifyRequest> ParseClassifyRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  ClassifyRequest request;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_ASSIGN_OR_RETURN(request.input, ReadPrompts(body, "input", kMaxClassifiedTexts));
  WEFT_ASSIGN_OR_RETURN(request.truncation, ReadTruncation(body));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "raw_scores", request.raw_scores));
  bool is_activated = true;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "use_activation", is_activated));
  request.raw_scores |= !is_activated;
  int32_t priority = 0;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "priority", 0, kMaxInt32, priority));
  std::optional<std::string> user;
  WEFT_RETURN_IF_ERROR(ReadString(body, "user", user));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body, kUnsupportedClassifyFields));
  request.unknown_field_count =
      CountUnknownFields(body, kClassifyFields, kUnsupportedClassifyFields);
  return request;
}

ApiResult<PredictRequest> ParsePredictRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  PredictRequest request;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_RETURN_IF_ERROR(ReadInputs(body, request));
  WEFT_ASSIGN_OR_RETURN(request.truncation, ReadTruncation(body));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "raw_scores", request.raw_scores));
  request.unknown_field_count = CountUnknownFields(body, kPredictFields, {});
  return request;
}

}  // namespace weft
