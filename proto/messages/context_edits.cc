#include "proto/messages/context_edits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_dump.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kClearToolUses = "clear_tool_uses_20250919";
constexpr std::string_view kClearThinking = "clear_thinking_20251015";
constexpr std::string_view kClearedResult = "[result cleared to save context]";

// {"type":...,"value":N}, with one of these types, which is returned.
ApiResult<std::string> ReadAmount(const ordered_json& amount, const std::string& path,
                                  std::initializer_list<std::string_view> types, int32_t least,
                                  int64_t& output) {
  if (!amount.is_object()) return RefuseValue(path, "an object", amount);
  WEFT_RETURN_IF_ERROR(CheckRequiredString(amount, "type", path, "it says what is counted"));
  const auto type = amount["type"].get<std::string>();
  if (std::ranges::find(types, type) == types.end()) {
    return RefuseValue(path + ".type", fmt::format("one of {}", fmt::join(types, ", ")),
                       amount["type"]);
  }
  const ordered_json* value = FindField(amount, "value");
  if (value == nullptr) return RefuseMissing(path + ".value", "it says how many");
  int32_t number = 0;
  WEFT_RETURN_IF_ERROR(CheckInteger(json(*value), path + ".value", least, kMaxInt32, number));
  output = number;
  return type;
}

// An array of names of tools.
ApiResult<void> ReadNames(const ordered_json& names, const std::string& path,
                          std::vector<std::string>& output) {
  if (!names.is_array()) return RefuseValue(path, "an array of names", names);
  if (names.size() > static_cast<size_t>(kMaxTools)) {
    return RefuseValue(path, fmt::format("an array of at most {} names", kMaxTools), names);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string()) {
      return RefuseValue(fmt::format("{}[{}]", path, i), "the name of a tool", names[i]);
    }
    output.push_back(names[i].get<std::string>());
  }
  return {};
}

ApiResult<void> ReadClearedInputs(const ordered_json& value, const std::string& path,
                                  ClearToolUses& edit) {
  if (value.is_boolean()) {
    edit.clears_all_inputs = value.get<bool>();
    return {};
  }
  if (value.is_array()) return ReadNames(value, path, edit.cleared_inputs);
  return RefuseValue(path, "true, false or an array of names", value);
}

ApiResult<ContextEdit> ReadClearToolUses(const ordered_json& value, const std::string& path) {
  ClearToolUses edit;
  if (const ordered_json* trigger = FindField(value, "trigger")) {
    WEFT_ASSIGN_OR_RETURN(
        const std::string type,
        ReadAmount(*trigger, path + ".trigger", {"input_tokens", "tool_uses"}, 0, edit.trigger));
    edit.counts_uses = type == "tool_uses";
  }
  if (const ordered_json* keep = FindField(value, "keep")) {
    WEFT_RETURN_IF_ERROR(ReadAmount(*keep, path + ".keep", {"tool_uses"}, 0, edit.kept_uses));
  }
  if (const ordered_json* least = FindField(value, "clear_at_least")) {
    WEFT_RETURN_IF_ERROR(
        ReadAmount(*least, path + ".clear_at_least", {"input_tokens"}, 0, edit.least_tokens));
  }
  if (const ordered_json* names = FindField(value, "exclude_tools")) {
    WEFT_RETURN_IF_ERROR(ReadNames(*names, path + ".exclude_tools", edit.excluded_tools));
  }
  if (const ordered_json* inputs = FindField(value, "clear_tool_inputs")) {
    WEFT_RETURN_IF_ERROR(ReadClearedInputs(*inputs, path + ".clear_tool_inputs", edit));
  }
  return edit;
}

ApiResult<ContextEdit> ReadClearThinking(const ordered_json& value, const std::string& path) {
  ClearThinking edit;
  const ordered_json* keep = FindField(value, "keep");
  if (keep == nullptr) return edit;
  const bool keeps_all =
      *keep == "all" || (keep->is_object() && keep->value("type", ordered_json()) == "all");
  if (keeps_all) {
    edit.kept_turns = std::numeric_limits<int64_t>::max();
    return edit;
  }
  WEFT_RETURN_IF_ERROR(
      ReadAmount(*keep, path + ".keep", {"thinking_turns", "all"}, 1, edit.kept_turns));
  return edit;
}

ApiResult<ContextEdit> ReadContextEdit(const ordered_json& value, const std::string& path) {
  if (!value.is_object()) return RefuseValue(path, "an object", value);
  WEFT_RETURN_IF_ERROR(CheckRequiredString(value, "type", path, "it says what is cleared"));
  const auto type = value["type"].get<std::string>();
  if (type == kClearToolUses) return ReadClearToolUses(value, path);
  if (type == kClearThinking) return ReadClearThinking(value, path);
  return RefuseUnsupportedValue(
      path + ".type",
      fmt::format("'{}.type' is '{}', an edit that this server does not have; it has {} and {}",
                  path, type.substr(0, 60), kClearThinking, kClearToolUses));
}

// What stood where something was cleared, so that it can be put back.
using Cleared = std::vector<std::pair<ordered_json*, ordered_json>>;

void Clear(ordered_json& place, ordered_json instead, Cleared& cleared) {
  cleared.emplace_back(&place, std::exchange(place, std::move(instead)));
}

// Messages of the assistant and results of tools between two messages of others are one turn.
// Returns how many turns have lost their thoughts.
int64_t ClearThoughts(const ClearThinking& edit, ordered_json& messages) {
  int64_t later_turns = 0;  // with thoughts, behind the place that has been come to
  int64_t cleared_turns = 0;
  bool has_thoughts = false;  // this turn
  for (size_t i = messages.size(); i-- > 0;) {
    ordered_json& message = messages[i];
    if (message["role"] == "assistant") {
      if (!message.contains("reasoning_content")) continue;
      if (!std::exchange(has_thoughts, true)) {
        ++later_turns;
        if (later_turns > edit.kept_turns) ++cleared_turns;
      }
      if (later_turns <= edit.kept_turns) continue;
      message.erase("reasoning_content");
      if (message["content"].is_null() && !message.contains("tool_calls")) message["content"] = "";
    } else if (message["role"] != "tool") {
      has_thoughts = false;
    }
  }
  return cleared_turns;
}

bool Contains(const std::vector<std::string>& names, const ordered_json& name) {
  return std::ranges::any_of(names, [&](const std::string& each) { return name == each; });
}

// By their ids; of two calls of one id the later one.
std::map<std::string, ordered_json*> CallsOf(ordered_json& messages) {
  std::map<std::string, ordered_json*> calls;
  for (ordered_json& message : messages) {
    const auto list = message.find("tool_calls");
    if (list == message.end()) continue;
    for (ordered_json& call : *list) calls[call["id"].get<std::string>()] = &call;
  }
  return calls;
}

// Returns how many results are cleared.
int64_t ClearResults(const ClearToolUses& edit, ordered_json& messages, Cleared& cleared) {
  const std::map<std::string, ordered_json*> calls = CallsOf(messages);
  int64_t kept = 0;
  int64_t count = 0;
  for (size_t i = messages.size(); i-- > 0;) {
    ordered_json& message = messages[i];
    if (message["role"] != "tool") continue;
    const ordered_json name = message.value("name", ordered_json());
    if (Contains(edit.excluded_tools, name) || kept++ < edit.kept_uses) continue;
    Clear(message["content"], kClearedResult, cleared);
    ++count;
    if (!edit.clears_all_inputs && !Contains(edit.cleared_inputs, name)) continue;
    const auto call = calls.find(message["tool_call_id"].get<std::string>());
    if (call == calls.end()) continue;
    Clear((*call->second)["function"]["arguments"], ordered_json::object(), cleared);
  }
  return count;
}

int64_t CountResults(const ordered_json& messages) {
  return std::ranges::count_if(messages,
                               [](const ordered_json& each) { return each["role"] == "tool"; });
}

// Edits one conversation. The tokens are counted where an edit depends on them, and of what an edit
// changes.
class ConversationEditor {
 public:
  ConversationEditor(const TokenCounter& count_tokens, ordered_json& messages)
      : count_tokens_(count_tokens), messages_(messages) {}

  ApiResult<void> Apply(const ContextEdit& edit) {
    if (const auto* thinking = std::get_if<ClearThinking>(&edit)) return Apply(*thinking);
    return Apply(std::get<ClearToolUses>(edit));
  }

  AppliedEdits Take() { return std::move(applied_); }

 private:
  ApiResult<void> Apply(const ClearThinking& edit) {
    const bool has_any = std::ranges::any_of(messages_, [](const ordered_json& message) {
      return message.contains("reasoning_content");
    });
    if (!has_any || edit.kept_turns == std::numeric_limits<int64_t>::max()) return {};
    WEFT_ASSIGN_OR_RETURN(const int64_t before, Tokens());
    const int64_t count = ClearThoughts(edit, messages_);
    if (count > 0) tokens_.reset();
    return Report(edit, count, before);
  }

  ApiResult<void> Apply(const ClearToolUses& edit) {
    const int64_t uses = CountResults(messages_);
    if (uses <= edit.kept_uses || (edit.counts_uses && uses < edit.trigger)) return {};
    WEFT_ASSIGN_OR_RETURN(const int64_t before, Tokens());
    if (!edit.counts_uses && before < edit.trigger) return {};
    Cleared cleared;
    const int64_t count = ClearResults(edit, messages_, cleared);
    if (count == 0) return {};
    tokens_.reset();
    WEFT_ASSIGN_OR_RETURN(const int64_t after, Tokens());
    if (before - after >= edit.least_tokens) return Report(edit, count, before);
    for (auto& [place, content] : cleared) *place = std::move(content);
    tokens_ = before;
    return {};
  }

  ApiResult<int64_t> Tokens() {
    if (!tokens_) {
      WEFT_ASSIGN_OR_RETURN(tokens_, count_tokens_());
    }
    return *tokens_;
  }

  // Templates may write more where thoughts are missing.
  ApiResult<void> Report(ContextEdit edit, int64_t count, int64_t before) {
    if (count == 0) return {};
    WEFT_ASSIGN_OR_RETURN(const int64_t after, Tokens());
    if (applied_.edits.empty()) applied_.original_tokens = before;
    applied_.edits.push_back({.edit = std::move(edit),
                              .cleared_count = count,
                              .cleared_tokens = std::max<int64_t>(before - after, 0)});
    return {};
  }

  const TokenCounter& count_tokens_;
  ordered_json& messages_;
  std::optional<int64_t> tokens_;  // of the conversation as it is
  AppliedEdits applied_;
};

}  // namespace

ApiResult<std::vector<ContextEdit>> ReadContextManagement(const ordered_json& value) {
  constexpr size_t kMaxEdits = 16;
  const std::string path = "context_management";
  if (!value.is_object()) return RefuseValue(path, "an object", value);
  std::vector<ContextEdit> edits;
  const ordered_json* list = FindField(value, "edits");
  if (list == nullptr) return edits;
  if (!list->is_array() || list->size() > kMaxEdits) {
    return RefuseValue(path + ".edits", fmt::format("an array of at most {} edits", kMaxEdits),
                       *list);
  }
  for (size_t i = 0; i < list->size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(ContextEdit edit,
                          ReadContextEdit((*list)[i], fmt::format("{}.edits[{}]", path, i)));
    edits.push_back(std::move(edit));
  }
  return edits;
}

ApiResult<AppliedEdits> ApplyContextEdits(const std::vector<ContextEdit>& edits,
                                          const TokenCounter& count_tokens,
                                          ordered_json& messages) {
  ConversationEditor editor(count_tokens, messages);
  for (const ContextEdit& edit : edits) WEFT_RETURN_IF_ERROR(editor.Apply(edit));
  return editor.Take();
}

std::string ToJson(const std::vector<AppliedEdit>& edits) {
  ordered_json body;
  ordered_json& list = body["applied_edits"] = ordered_json::array();
  for (const AppliedEdit& applied : edits) {
    const bool is_thinking = std::holds_alternative<ClearThinking>(applied.edit);
    list.push_back(
        {{"type", is_thinking ? kClearThinking : kClearToolUses},
         {is_thinking ? "cleared_thinking_turns" : "cleared_tool_uses", applied.cleared_count},
         {"cleared_input_tokens", applied.cleared_tokens}});
  }
  return DumpJson(body);
}

}  // namespace weft
