#include "server/commands/chat/chat_reply.h"

#include <nlohmann/json.hpp>

#include "base/quoted.h"

namespace weft {
namespace {

using nlohmann::json;

// The member of that name if it is text, otherwise "".
std::string TextOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t NumberOf(const json& object, const char* name, int64_t otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

const json& MemberOf(const json& object, const char* name) {
  static const json none = json::object();
  const auto found = object.find(name);
  return found != object.end() ? *found : none;
}

}  // namespace

Result<void> ChatReply::Take(std::string_view data, const Show& show) {
  if (data == "[DONE]") return {};
  const json chunk = json::parse(data, nullptr, false);
  if (!chunk.is_object()) {
    return Fail(ErrorCode::kCorrupt, "the answer has an event that is no object: {}", Quoted(data));
  }
  if (chunk.contains("error")) {
    return Fail(ErrorCode::kUnavailable, "{}", ErrorMessageOf(data));
  }
  const json& choices = MemberOf(chunk, "choices");
  if (!choices.is_array() || choices.empty() || !choices[0].is_object()) return {};
  const json& delta = MemberOf(choices[0], "delta");
  if (!delta.is_object()) return {};
  if (const std::string text = TextOf(delta, "reasoning_content"); !text.empty()) {
    show(Part::kReasoning, text);
  }
  if (const std::string text = TextOf(delta, "content"); !text.empty()) {
    content_ += text;
    show(Part::kContent, text);
  }
  const json& calls = MemberOf(delta, "tool_calls");
  if (calls.is_array()) {
    for (const json& call : calls) {
      if (!call.is_object()) continue;
      const json& function = MemberOf(call, "function");
      if (!function.is_object()) continue;
      ReplyCall& known = calls_[NumberOf(call, "index", 0)];
      known.name += TextOf(function, "name");
      known.arguments += TextOf(function, "arguments");
    }
  }
  if (const std::string reason = TextOf(choices[0], "finish_reason"); !reason.empty()) {
    finish_reason_ = reason;
  }
  return {};
}

std::string ErrorMessageOf(std::string_view body) {
  const json document = json::parse(body, nullptr, false);
  if (document.is_object()) {
    const json& error = MemberOf(document, "error");
    if (error.is_string()) return error.get<std::string>();
    if (error.is_object()) {
      if (std::string message = TextOf(error, "message"); !message.empty()) return message;
    }
  }
  return Quoted(body);
}

}  // namespace weft
