#include "proto/label_scores/label_score_request.h"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/label_scores/label_score_reader.h"
#include "proto/prompt_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kLabelScoreFields = {
    "model",         "query",      "items",    "label_token_ids", "labels",
    "apply_softmax", "item_first", "priority", "request_id"};
constexpr std::array kUnsupportedLabelScoreFields = {
    UnsupportedField{"add_special_tokens", "true"},
};

// The array of labels at `name`; nullptr: there is none.
ApiResult<const json*> FindLabels(const json& body, const std::string& name) {
  const json* field = FindField(body, name);
  if (field == nullptr) return nullptr;
  if (!field->is_array()) return RefuseValue(name, "an array", *field);
  if (field->empty() || field->size() > kMaxLabelTokens) {
    return tl::unexpected(InvalidField(name, fmt::format("'{}' has {} labels; send 1 to {}", name,
                                                         field->size(), kMaxLabelTokens)));
  }
  return field;
}

ApiResult<void> ReadScoreLabels(const json& body, LabelScoreRequest& request) {
  WEFT_ASSIGN_OR_RETURN(const json* const ids, FindLabels(body, "label_token_ids"));
  WEFT_ASSIGN_OR_RETURN(const json* const texts, FindLabels(body, "labels"));
  if (ids == nullptr && texts == nullptr) {
    return RefuseMissing("label_token_ids", "send the tokens whose scores are wanted");
  }
  for (size_t i = 0; ids != nullptr && i < ids->size(); ++i) {
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(
        CheckInteger((*ids)[i], fmt::format("label_token_ids[{}]", i), 0, kMaxInt32, id));
    request.label_token_ids.push_back(id);
  }
  for (size_t i = 0; texts != nullptr && i < texts->size(); ++i) {
    const json& text = (*texts)[i];
    if (!text.is_string()) return RefuseValue(fmt::format("labels[{}]", i), "a string", text);
    request.labels.push_back(text.get<std::string>());
  }
  if (ids == nullptr || texts == nullptr) return {};
  return tl::unexpected(
      InvalidField("label_token_ids",
                   "'label_token_ids' and 'labels' are two lists of labels; send one of them"));
}

ApiResult<Prompt> ReadQueryPrompt(const json& body) {
  const json* field = FindField(body, "query");
  if (field != nullptr && field->is_array() && !field->empty() && !field->front().is_number()) {
    return RefuseValue("query", "a string or an array of token ids", *field);
  }
  WEFT_ASSIGN_OR_RETURN(PromptList query, ReadPrompts(body, "query", 1));
  return std::move(query.prompts.front());
}

}  // namespace

ApiResult<LabelScoreRequest> ParseLabelScoreRequest(std::string_view text, LabelScoreShape shape) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  return ReadLabelScoreRequest(body, shape);
}

bool HasLabels(const json& body) {
  return FindField(body, "label_token_ids") != nullptr || FindField(body, "labels") != nullptr;
}

ApiResult<LabelScoreRequest> ReadLabelScoreRequest(const json& body, LabelScoreShape shape) {
  LabelScoreRequest request;
  request.shape = shape;
  request.apply_softmax = shape == LabelScoreShape::kVllm;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_ASSIGN_OR_RETURN(request.query, ReadQueryPrompt(body));
  WEFT_ASSIGN_OR_RETURN(request.items, ReadPrompts(body, "items", kMaxLabelScoreItems));
  if (request.items.prompts.front().index() != request.query.index()) {
    return tl::unexpected(
        InvalidField("", "'query' and 'items' mix texts and token ids; send one kind"));
  }
  WEFT_RETURN_IF_ERROR(ReadScoreLabels(body, request));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "apply_softmax", request.apply_softmax));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "item_first", request.item_first));
  int32_t priority = 0;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "priority", 0, kMaxInt32, priority));
  std::optional<std::string> request_id;
  WEFT_RETURN_IF_ERROR(ReadString(body, "request_id", request_id));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body, kUnsupportedLabelScoreFields));
  request.unknown_field_count =
      CountUnknownFields(body, kLabelScoreFields, kUnsupportedLabelScoreFields);
  return request;
}

}  // namespace weft
