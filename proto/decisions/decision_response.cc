#include "proto/decisions/decision_response.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json ValueOf(const DecisionOption& option) {
  return option.boolean ? ordered_json(*option.boolean) : ordered_json(option.text);
}

void AddChoice(const DecisionQuestion& question, const std::vector<double>& probabilities,
               ordered_json& answer) {
  const auto best = std::ranges::max_element(probabilities);
  answer["choice"] = ValueOf(question.options[static_cast<size_t>(best - probabilities.begin())]);
  answer["confidence"] = *best;
  ordered_json& list = answer["probabilities"] = ordered_json::array();
  for (size_t i = 0; i < probabilities.size(); ++i) {
    list.push_back({{"value", ValueOf(question.options[i])}, {"probability", probabilities[i]}});
  }
}

// The score is the mean of the levels' numbers, from 0.
void AddScore(const DecisionQuestion& question, const std::vector<double>& probabilities,
              ordered_json& answer) {
  double score = 0;
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < probabilities.size(); ++i) {
    score += static_cast<double>(i) * probabilities[i];
    list.push_back(
        {{"value", i}, {"label", question.options[i].text}, {"probability", probabilities[i]}});
  }
  answer["score"] = score;
  answer["confidence"] = *std::ranges::max_element(probabilities);
  answer["probabilities"] = std::move(list);
}

ordered_json AnswerOf(const DecisionQuestion& question, const std::vector<double>& probabilities) {
  ordered_json answer;
  switch (question.kind) {
    case QuestionKind::kPredicate:
      answer["type"] = "predicate";
      break;
    case QuestionKind::kChoice:
      answer["type"] = "choice";
      break;
    case QuestionKind::kScore:
      answer["type"] = "score";
      break;
  }
  answer["name"] = question.name ? ordered_json(*question.name) : ordered_json();
  if (question.kind == QuestionKind::kPredicate) {
    answer["probability"] = probabilities.front();
  } else if (question.kind == QuestionKind::kChoice) {
    AddChoice(question, probabilities, answer);
  } else {
    AddScore(question, probabilities, answer);
  }
  return answer;
}

}  // namespace

std::string ToJson(const DecisionResponse& response) {
  ordered_json body;
  ordered_json& answers = body["answers"] = ordered_json::array();
  for (size_t i = 0; i < response.questions.size(); ++i) {
    answers.push_back(AnswerOf(response.questions[i], response.probabilities[i]));
  }
  body["model"] = response.model;
  ordered_json& usage = body["usage"];
  usage["input_tokens"] = response.prompt_tokens;
  usage["input_tokens_details"]["cached_tokens"] = response.cached_tokens;
  usage["input_tokens_details"]["cache_write_tokens"] = 0;
  usage["output_tokens"] = 0;
  usage["output_tokens_details"]["reasoning_tokens"] = 0;
  usage["total_tokens"] = response.prompt_tokens;
  return DumpJson(body);
}

}  // namespace weft
