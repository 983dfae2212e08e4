#include "server/api/decisions/decision_prompt.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/chat/chat_request.h"
#include "server/api/conversation/reply_job.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

std::string QuestionText(const DecisionQuestion& question) {
  std::string text = question.instructions;
  if (question.kind == QuestionKind::kPredicate) {
    return text + "\n\nAnswer with Yes or No, and nothing else.";
  }
  text += '\n';
  const std::vector<std::string> letters = AnswerWords(question);
  for (size_t i = 0; i < letters.size(); ++i) {
    const DecisionOption& option = question.options[i];
    text += fmt::format("\n{}) {}", letters[i], option.text);
    if (!option.description.empty() && option.description != option.text) {
      text += ": " + option.description;
    }
  }
  return text + "\n\nAnswer with the letter of one of these, and nothing else.";
}

}  // namespace

std::vector<std::string> AnswerWords(const DecisionQuestion& question) {
  if (question.kind == QuestionKind::kPredicate) return {"Yes", "No"};
  std::vector<std::string> letters;
  for (size_t i = 0; i < question.options.size(); ++i) {
    letters.emplace_back(1, static_cast<char>('A' + i));
  }
  return letters;
}

ApiResult<std::string> DecisionPrompt(const DecisionRequest& request,
                                      const DecisionQuestion& question, const ServedModel& model) {
  ChatRequest chat;
  chat.messages_path = "input";
  // Reasoning would stand before the answer.
  chat.template_variables["enable_thinking"] = false;
  std::vector<DecisionMessage> messages = request.messages;
  // Templates may want the roles in turns.
  if (messages.back().role == "user") {
    messages.back().content += "\n\n" + QuestionText(question);
  } else {
    messages.push_back({.role = "user", .content = QuestionText(question)});
  }
  chat.messages = ordered_json::array();
  for (DecisionMessage& message : messages) {
    ordered_json object;
    object["role"] = std::move(message.role);
    object["content"] = std::move(message.content);
    chat.messages.push_back(std::move(object));
  }
  ReplySetup setup;
  WEFT_ASSIGN_OR_RETURN(std::string prompt, RenderReplyPrompt(chat, model, setup));
  if (setup.options.begins_in_reasoning) {
    prompt += "\n" + setup.options.format.reasoning_close + "\n\n";
  }
  return prompt;
}

ApiResult<TokenId> AnswerToken(std::string_view prompt, const std::string& word,
                               const ServedModel& model) {
  // Behind the end of the prompt, as a reply is: alone, some tokenizers put a space before it.
  constexpr size_t kTailBytes = 64;
  size_t begin = prompt.size() - std::min(prompt.size(), kTailBytes);
  while (begin < prompt.size() && (prompt[begin] & 0xC0) == 0x80) ++begin;
  const Result<std::vector<TokenId>> tokens = model.tokenizer->Encode(
      std::string(prompt.substr(begin)) + word, {.add_special_tokens = false});
  size_t size = 0;  // of the text from the token on
  for (size_t i = tokens ? tokens->size() : 0; i > 0 && size < word.size(); --i) {
    const TokenId token = (*tokens)[i - 1];
    size += model.tokenizer->TokenBytes(token).size();
    if (size == word.size()) return token;
  }
  return tl::unexpected(InvalidField(
      "model", fmt::format("the tokenizer of the model '{}' does not begin a reply with '{}', so "
                           "that it answers no such question",
                           model.id, word)));
}

}  // namespace weft
