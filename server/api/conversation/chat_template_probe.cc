#include "server/api/conversation/chat_template_probe.h"

#include <array>
#include <ctime>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "server/api/conversation/chat_messages.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Texts and names that no template has by itself.
constexpr std::string_view kFirst = "weft probe first";
constexpr std::string_view kSecond = "weft probe second";
constexpr std::string_view kTool = "weft_probe_tool";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Both texts, one after the other, and not as the members "text" of a list that is printed.
bool HasInTurn(std::string_view text) {
  const size_t first = text.find(kFirst);
  if (first == std::string_view::npos) return false;
  const size_t begin = first + kFirst.size();
  const size_t second = text.find(kSecond, begin);
  return second != std::string_view::npos && !Has(text.substr(begin, second - begin), "text");
}

ordered_json Message(std::string_view role, ordered_json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

ordered_json User() { return Message("user", "weft probe user"); }

ordered_json TwoParts() {
  return ordered_json::array(
      {{{"type", "text"}, {"text", kFirst}}, {{"type", "text"}, {"text", kSecond}}});
}

// Ids of nine characters, which Mistral's templates insist on.
std::string IdOf(char call) { return fmt::format("probe000{}", call); }

ordered_json Call(char call) {
  ordered_json arguments = {
      {fmt::format("weft_probe_key_{}", call), fmt::format("weft probe value {}", call)}};
  return {
      {"id", IdOf(call)},
      {"type", "function"},
      {"function",
       {{"name", fmt::format("weft_probe_call_{}", call)}, {"arguments", std::move(arguments)}}}};
}

// The name is not the function's: it must not stand for that of a call that was left out.
ordered_json Answer(char call, ordered_json content) {
  ordered_json answer = Message("tool", std::move(content));
  answer["tool_call_id"] = IdOf(call);
  answer["name"] = "weft_probe_answer";
  return answer;
}

// These calls in one message, and their answers.
ordered_json Conversation(std::string_view calls, ordered_json content) {
  ordered_json message = Message("assistant", std::move(content));
  for (const char call : calls) message["tool_calls"].push_back(Call(call));
  ordered_json messages = ordered_json::array({User(), std::move(message)});
  for (const char call : calls) {
    messages.push_back(Answer(call, fmt::format("weft probe answer {}", call)));
  }
  return messages;
}

class Probe {
 public:
  Probe(const ChatTemplate& chat_template, const ordered_json& variables,
        const ChatTemplate::Options& options, bool with_tools)
      : template_(chat_template),
        variables_(variables),
        options_(options),
        with_tools_(with_tools) {
    // Two renderings must not differ because a second has passed.
    options_.now = std::tm{};
    options_.now->tm_mday = 1;
    options_.now->tm_year = 126;
  }

  ChatTemplateTraits Run() {
    if (with_tools_) FindTools();
    FindUser();
    if (!traits_.fault.empty()) return std::move(traits_);
    FindGenerationPrompt();
    FindSystem();
    FindDeveloper();
    FindForms("assistant", [](ordered_json content) {
      return ordered_json::array({User(), Message("assistant", std::move(content)), User()});
    });
    FindArguments();
    FindCalls();
    if (traits_.takes_tool_role) {
      FindForms("tool", [](ordered_json content) {
        ordered_json messages = Conversation("a", nullptr);
        messages.back() = Answer('a', std::move(content));
        return messages;
      });
    }
    return std::move(traits_);
  }

 private:
  // In the shape that what is known so far asks for.
  Result<std::string> Render(ordered_json messages, bool add_generation_prompt = true) const {
    WEFT_CHECK(ShapeMessages(traits_, "messages", messages).has_value());
    ordered_json variables = variables_;
    variables["messages"] = std::move(messages);
    variables["add_generation_prompt"] = add_generation_prompt;
    if (with_tools_ || traits_.takes_null_tools) variables["tools"] = tools_;
    return template_.Render(variables, options_);
  }
  // Empty if the template refuses.
  std::string TryRender(ordered_json messages) const {
    return Render(std::move(messages)).value_or("");
  }

  void FindTools() {
    const ordered_json user = ordered_json::array({User()});
    ordered_json function = {{"name", kTool}};
    tools_ = ordered_json::array({{{"type", "function"}, {"function", function}}});
    traits_.takes_bare_tools = Has(TryRender(user), kTool);
    tools_ = FilledTools(tools_);
    traits_.lists_tools = Has(TryRender(user), kTool);
  }

  // The first thing to know: how the user's words get into a prompt at all.
  void FindUser() {
    const auto user = [](ordered_json content) {
      return ordered_json::array({Message("user", std::move(content))});
    };
    FindForms("user", user);
    if (Succeeded("user")) return;
    const Result<std::string> plain = Render(user(kFirst));
    if (!with_tools_) {
      traits_.takes_null_tools = false;
      FindForms("user", user);
      if (Succeeded("user")) return;
      traits_.takes_null_tools = true;
    }
    traits_.fault = plain ? "it does not print what a user says" : plain.error().message;
  }

  void FindGenerationPrompt() {
    const ordered_json user = ordered_json::array({User()});
    const std::string asking = TryRender(user);
    const std::string plain = Render(user, false).value_or("");
    traits_.has_generation_prompt = asking != plain;
    if (asking.starts_with(plain)) traits_.generation_prompt = asking.substr(plain.size());
  }

  void FindSystem() {
    FindForms("system", [](ordered_json content) {
      return ordered_json::array({Message("system", std::move(content)), User()});
    });
    traits_.takes_system = Succeeded("system");
  }

  // A template that prints the name of any role does not know this one.
  void FindDeveloper() {
    constexpr std::string_view kNoRole = "weft_probe_role";
    const auto developer = [](std::string_view role, ordered_json content) {
      return ordered_json::array({Message(role, std::move(content)), User()});
    };
    traits_.knows_developer = true;
    FindForms("developer",
              [&](ordered_json content) { return developer("developer", std::move(content)); });
    std::string as_any = TryRender(developer(kNoRole, kFirst));
    if (const size_t found = as_any.find(kNoRole); found != std::string::npos) {
      as_any.replace(found, kNoRole.size(), "developer");
    }
    traits_.knows_developer =
        Succeeded("developer") && as_any != TryRender(developer("developer", kFirst));
  }

  // What content the template prints in messages of a role.
  template <typename ConversationWith>
  void FindForms(const std::string& role, const ConversationWith& conversation_with) {
    ContentForms& forms = traits_.content[role];
    forms = {.text = true, .parts = true};  // stays as it is for now
    const bool text = Has(TryRender(conversation_with(kFirst)), kFirst);
    const bool parts = HasInTurn(TryRender(conversation_with(TwoParts())));
    forms = {.text = text, .parts = parts};
    succeeded_[role] = text || parts;
    if (text || parts) return;
    // Most likely as the user's.
    forms.text = role == "user" || traits_.content["user"].text;
    forms.parts = !forms.text;
  }
  bool Succeeded(const std::string& role) const { return succeeded_.at(role); }

  void FindArguments() {
    traits_.calls = CallShape::kAsTheyAre;
    traits_.takes_tool_role = true;
    const auto prints = [this](bool json_text, bool null_content) {
      traits_.wants_json_text = json_text;
      traits_.takes_null_content = null_content;
      const std::string prompt = TryRender(Conversation("a", nullptr));
      return Has(prompt, "weft_probe_key_a") && !Has(prompt, "'weft_probe_key_a'") &&
             !Has(prompt, "\\\"weft_probe_key_a") && !Has(prompt, "None");
    };
    if (prints(false, true) || prints(false, false) || prints(true, true)) return;
    if (!prints(true, false)) traits_.wants_json_text = false;
  }

  // The first shape in which no call vanishes, and no answer.
  void FindCalls() {
    struct Candidate {
      CallShape calls;
      bool names_calls_by_id;
      bool takes_tool_role;
    };
    constexpr std::array<Candidate, 6> kCandidates = {{{CallShape::kAsTheyAre, false, true},
                                                       {CallShape::kAsTheyAre, true, true},
                                                       {CallShape::kOneByOne, false, true},
                                                       {CallShape::kOneByOne, true, true},
                                                       {CallShape::kText, false, true},
                                                       {CallShape::kText, false, false}}};
    for (const Candidate& candidate : kCandidates) {
      traits_.calls = candidate.calls;
      traits_.names_calls_by_id = candidate.names_calls_by_id;
      traits_.takes_tool_role = candidate.takes_tool_role;
      traits_.text_hides_calls = false;
      if (!PrintsAll("a", nullptr) || !PrintsAll("ab", nullptr)) continue;
      if (PrintsAll("ab", kFirst)) return;
      traits_.text_hides_calls = true;
      if (PrintsAll("ab", kFirst)) return;
    }
    traits_.text_hides_calls = false;
  }

  // Every name, argument and answer of these calls.
  bool PrintsAll(std::string_view calls, ordered_json content) const {
    const std::string prompt = TryRender(Conversation(calls, std::move(content)));
    for (const char call : calls) {
      for (const std::string_view part :
           {"weft_probe_call_", "weft_probe_key_", "weft probe value ", "weft probe answer "}) {
        if (!Has(prompt, fmt::format("{}{}", part, call))) return false;
      }
    }
    return true;
  }

  const ChatTemplate& template_;
  const ordered_json& variables_;
  ChatTemplate::Options options_;
  const bool with_tools_;
  ordered_json tools_;
  ChatTemplateTraits traits_;
  std::map<std::string, bool> succeeded_;  // by role
};

}  // namespace

ChatTemplateTraits ProbeChatTemplate(const ChatTemplate& chat_template,
                                     const ordered_json& variables,
                                     const ChatTemplate::Options& options, bool with_tools) {
  return Probe(chat_template, variables, options, with_tools).Run();
}

}  // namespace weft
