#include "proto/decisions/decision_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_dump.h"
#include "proto/json_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kDecisionFields = {
    "model", "input", "questions", "prompt_cache_key", "prompt_cache_options", "safety_identifier"};

// A text, or parts of text and JSON, which are joined by lines.
ApiResult<std::string> ReadContent(const json& object, const std::string& name,
                                   const std::string& object_path) {
  const std::string path = fmt::format("{}.{}", object_path, name);
  const json* content = FindField(object, name);
  if (content == nullptr) return RefuseMissing(path, "send the text");
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return RefuseValue(path, "a string or an array of parts", *content);
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    const json& part = (*content)[i];
    const std::string part_path = fmt::format("{}[{}]", path, i);
    if (!part.is_object()) return RefuseValue(part_path, "an object", part);
    const json type = part.value("type", json());
    if (i > 0) text += '\n';
    if (type == "input_text" || type == "output_text") {
      const json* found = FindField(part, "text");
      if (found == nullptr || !found->is_string()) {
        return RefuseValue(part_path + ".text", "a string", part.value("text", json()));
      }
      text += found->get_ref<const std::string&>();
    } else if (type == "input_json" && part.contains("data")) {
      text += DumpJson(part["data"]);
    } else {
      return RefuseUnsupportedValue(
          part_path,
          fmt::format("'{}' is no part of text or JSON, which alone are read", part_path));
    }
  }
  return text;
}

ApiResult<DecisionMessage> ReadDecisionMessage(const json& item, const std::string& path) {
  if (!item.is_object()) return RefuseValue(path, "an object", item);
  if (const json* type = FindField(item, "type"); type != nullptr && *type != "message") {
    return RefuseUnsupportedValue(
        path + ".type",
        fmt::format("'{}.type' is {}; only messages are read", path, DescribeJson(*type)));
  }
  const json role = item.value("role", json());
  const std::array<std::string_view, 4> roles = {"user", "assistant", "system", "developer"};
  if (!role.is_string() ||
      std::ranges::find(roles, role.get_ref<const std::string&>()) == roles.end()) {
    return RefuseValue(path + ".role", "'user', 'assistant', 'system' or 'developer'", role);
  }
  WEFT_ASSIGN_OR_RETURN(std::string content, ReadContent(item, "content", path));
  return DecisionMessage{.role = role == "developer" ? "system" : role.get<std::string>(),
                         .content = std::move(content)};
}

ApiResult<std::vector<DecisionMessage>> ReadDecisionInput(const json& body) {
  const json* input = FindField(body, "input");
  if (input == nullptr) return RefuseMissing("input", "send what the questions are about");
  std::vector<DecisionMessage> messages;
  if (input->is_string()) {
    messages.push_back({.role = "user", .content = input->get<std::string>()});
    return messages;
  }
  if (!input->is_array() || input->empty()) {
    return RefuseValue("input", "a string or an array of messages", *input);
  }
  for (size_t i = 0; i < input->size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(DecisionMessage message,
                          ReadDecisionMessage((*input)[i], fmt::format("input[{}]", i)));
    messages.push_back(std::move(message));
  }
  return messages;
}

// A choice's value, which may be true or false, or a level's label.
ApiResult<DecisionOption> ReadOption(const json& value, const std::string& path, bool is_choice) {
  if (!value.is_object()) return RefuseValue(path, "an object", value);
  const std::string text_path = path + (is_choice ? ".value" : ".label");
  const json text = value.value(is_choice ? "value" : "label", json());
  DecisionOption option;
  if (is_choice && text.is_boolean()) {
    option.boolean = text.get<bool>();
    option.text = *option.boolean ? "true" : "false";
  } else if (text.is_string()) {
    option.text = text.get<std::string>();
  } else {
    return RefuseValue(text_path, is_choice ? "a string or a boolean" : "a string", text);
  }
  const json description = value.value("description", json());
  if (!description.is_null() && !description.is_string()) {
    return RefuseValue(path + ".description", "a string", description);
  }
  if (description.is_string()) option.description = description.get<std::string>();
  return option;
}

ApiResult<void> ReadOptions(const json& value, const std::string& path,
                            DecisionQuestion& question) {
  const bool is_choice = question.kind == QuestionKind::kChoice;
  const std::string name = is_choice ? "choices" : "levels";
  const std::string list_path = fmt::format("{}.{}", path, name);
  const json* list = FindField(value, name);
  if (list == nullptr) return RefuseMissing(list_path, "send the possible answers");
  if (!list->is_array()) return RefuseValue(list_path, "an array", *list);
  if (list->size() < 2 || list->size() > kMaxOptions) {
    return tl::unexpected(
        InvalidField(list_path, fmt::format("'{}' has {} possible answers; send 2 to {}", list_path,
                                            list->size(), kMaxOptions)));
  }
  for (const json& element : *list) {
    const std::string option_path = fmt::format("{}[{}]", list_path, question.options.size());
    WEFT_ASSIGN_OR_RETURN(DecisionOption option, ReadOption(element, option_path, is_choice));
    const bool is_new = std::ranges::none_of(question.options, [&](const DecisionOption& other) {
      return other.text == option.text && other.boolean == option.boolean;
    });
    if (!is_new) {
      return tl::unexpected(InvalidField(
          option_path,
          fmt::format("'{}' is there twice; each possible answer must be another", option_path)));
    }
    question.options.push_back(std::move(option));
  }
  return {};
}

ApiResult<DecisionQuestion> ReadQuestion(const json& value, const std::string& path) {
  if (!value.is_object()) return RefuseValue(path, "an object", value);
  DecisionQuestion question;
  const json type = value.value("type", json());
  if (type == "choice") {
    question.kind = QuestionKind::kChoice;
  } else if (type == "score") {
    question.kind = QuestionKind::kScore;
  } else if (type != "predicate") {
    return RefuseValue(path + ".type", "'predicate', 'choice' or 'score'", type);
  }
  const json name = value.value("name", json());
  if (!name.is_null() && !name.is_string()) return RefuseValue(path + ".name", "a string", name);
  if (name.is_string()) question.name = name.get<std::string>();
  WEFT_ASSIGN_OR_RETURN(question.instructions, ReadContent(value, "instructions", path));
  if (question.kind != QuestionKind::kPredicate) {
    WEFT_RETURN_IF_ERROR(ReadOptions(value, path, question));
  }
  return question;
}

}  // namespace

ApiResult<DecisionRequest> ParseDecisionRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  DecisionRequest request;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_ASSIGN_OR_RETURN(request.messages, ReadDecisionInput(body));
  const json* questions = FindField(body, "questions");
  if (questions == nullptr) return RefuseMissing("questions", "send at least one");
  if (!questions->is_array()) return RefuseValue("questions", "an array", *questions);
  if (questions->empty() || questions->size() > kMaxQuestions) {
    return tl::unexpected(InvalidField(
        "questions",
        fmt::format("'questions' has {} of them; send 1 to {}", questions->size(), kMaxQuestions)));
  }
  for (size_t i = 0; i < questions->size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(DecisionQuestion question,
                          ReadQuestion((*questions)[i], fmt::format("questions[{}]", i)));
    request.questions.push_back(std::move(question));
  }
  std::optional<std::string> unused;
  WEFT_RETURN_IF_ERROR(ReadString(body, "prompt_cache_key", unused));
  WEFT_RETURN_IF_ERROR(ReadString(body, "safety_identifier", unused));
  WEFT_RETURN_IF_ERROR(CheckObject(body, "prompt_cache_options"));
  request.unknown_field_count = CountUnknownFields(body, kDecisionFields, {});
  return request;
}

}  // namespace weft
