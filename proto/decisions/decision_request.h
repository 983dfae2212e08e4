// The body of POST /v1/decisions, validated: questions about a text or a conversation, each with
// few possible answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"

namespace weft {

inline constexpr size_t kMaxQuestions = 400;  // in one request, as OpenAI has it
inline constexpr size_t kMaxOptions = 26;     // of a question: a letter each

enum class QuestionKind { kPredicate, kChoice, kScore };

// A choice, or a level of a score.
struct DecisionOption {
  std::string text;             // the value, or the label
  std::optional<bool> boolean;  // the value, if it is none of text; `text` spells it
  std::string description;      // may be empty

  bool operator==(const DecisionOption&) const = default;
};

struct DecisionQuestion {
  QuestionKind kind = QuestionKind::kPredicate;
  std::optional<std::string> name;
  std::string instructions;
  std::vector<DecisionOption>
      options;  // 2 to kMaxOptions, levels from the lowest; kPredicate: none
};

struct DecisionMessage {
  std::string role;  // "user", "assistant" or "system"
  std::string content;

  bool operator==(const DecisionMessage&) const = default;
};

struct DecisionRequest {
  std::optional<std::string> model;
  std::vector<DecisionMessage> messages;    // not empty
  std::vector<DecisionQuestion> questions;  // not empty
  int32_t unknown_field_count = 0;          // ignored
};

// OpenAI's. Errors name the field by its JSON path.
ApiResult<DecisionRequest> ParseDecisionRequest(std::string_view body);

}  // namespace weft
