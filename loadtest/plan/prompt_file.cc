#include "loadtest/plan/prompt_file.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "loadtest/plan/lengths.h"
#include "loadtest/plan/text_lines.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxPrompts = 2'000'000;

Result<std::string> ReadString(const Json& value, const char* where) {
  if (value.is_string()) return value.get<std::string>();
  return Fail(ErrorCode::kCorrupt, "{} is {}: expected a string", where, value.type_name());
}

// A string, or the texts of [{"type": "text", "text": "..."}, ...].
Result<std::string> ReadContent(const Json& content) {
  if (!content.is_array()) return ReadString(content, "\"content\" of a message");
  std::string text;
  for (const Json& part : content) {
    if (!part.is_object() || !part.contains("type") || part["type"] != "text" ||
        !part.contains("text")) {
      return Fail(ErrorCode::kCorrupt, "\"content\" of a message has a part that is not of text");
    }
    WEFT_ASSIGN_OR_RETURN(const std::string piece, ReadString(part["text"], "\"text\" of a part"));
    text += piece;
  }
  return text;
}

Result<std::vector<GivenPrompt::Message>> ReadMessages(const Json& array) {
  if (!array.is_array() || array.empty()) {
    return Fail(ErrorCode::kCorrupt, "\"messages\": expected an array of at least one message");
  }
  std::vector<GivenPrompt::Message> messages;
  for (const Json& object : array) {
    if (!object.is_object() || !object.contains("role") || !object.contains("content")) {
      return Fail(ErrorCode::kCorrupt, "\"messages\": expected objects with role and content");
    }
    GivenPrompt::Message message;
    WEFT_ASSIGN_OR_RETURN(message.role, ReadString(object["role"], "\"role\" of a message"));
    WEFT_ASSIGN_OR_RETURN(message.content, ReadContent(object["content"]));
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<std::optional<int32_t>> ReadMaxTokens(const Json& body) {
  for (const char* key : {"max_completion_tokens", "max_tokens"}) {
    const auto field = body.find(key);
    if (field == body.end() || field->is_null()) continue;
    if (field->is_number_unsigned() && *field >= 1 && *field <= kMaxLength) {
      return field->get<int32_t>();
    }
    return Fail(ErrorCode::kCorrupt, "\"{}\": expected an integer from 1 to {}", key, kMaxLength);
  }
  return std::nullopt;
}

}  // namespace

Result<FilePrompt> ParsePromptLine(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) {
    return Fail(ErrorCode::kCorrupt, "expected a JSON object, found {}", Quoted(line));
  }
  const bool is_batch = object.contains("body") && object["body"].is_object();
  const Json& body = is_batch ? object["body"] : object;
  FilePrompt prompt;
  if (body.contains("prompt") == body.contains("messages")) {
    return Fail(ErrorCode::kCorrupt, "expected either \"prompt\" or \"messages\", found {}",
                body.contains("prompt") ? "both" : "neither");
  }
  if (body.contains("prompt")) {
    WEFT_ASSIGN_OR_RETURN(prompt.prompt.text, ReadString(body["prompt"], "\"prompt\""));
  } else {
    WEFT_ASSIGN_OR_RETURN(prompt.prompt.messages, ReadMessages(body["messages"]));
  }
  WEFT_ASSIGN_OR_RETURN(prompt.max_tokens, ReadMaxTokens(body));
  return prompt;
}

Result<std::vector<FilePrompt>> ReadPromptFile(const std::string& path) {
  std::vector<FilePrompt> prompts;
  WEFT_RETURN_IF_ERROR(ReadLines(path, [&](std::string_view line) -> Result<void> {
    if (prompts.size() == kMaxPrompts) {
      return Fail(ErrorCode::kResourceExhausted, "more than {} prompts", kMaxPrompts);
    }
    WEFT_ASSIGN_OR_RETURN(FilePrompt prompt, ParsePromptLine(line));
    prompts.push_back(std::move(prompt));
    return {};
  }));
  if (prompts.empty()) return Fail(ErrorCode::kCorrupt, "{}: no prompts in it", path);
  return prompts;
}

}  // namespace weft
