#include "server/commands/chat/chat_command.h"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "proto/json_dump.h"
#include "server/commands/chat/chat_client.h"
#include "server/commands/chat/chat_line.h"
#include "server/commands/chat/conversation.h"
#include "server/commands/chat/line_editor.h"
#include "server/commands/chat/own_server.h"
#include "server/commands/chat/terminal_text.h"
#include "server/commands/command_line.h"

namespace weft {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kClearLine = "\r\x1b[K";

volatile std::sig_atomic_t interrupt_count = 0;

void OnChatInterrupt(int) { interrupt_count = interrupt_count + 1; }
bool IsInterrupted() { return interrupt_count != 0; }

// So that waiting is interrupted, too.
void InstallChatInterrupt() {
  struct sigaction action {};
  action.sa_handler = OnChatInterrupt;
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

struct ChatOptions {
  ModelOptions model;                  // checked here, for the server's command line
  std::vector<std::string> arguments;  // of `weft serve`
  std::string url;
  std::string api_key;
  std::string message;
  std::string system;
  std::string load;
  std::vector<std::string> settings;  // NAME=VALUE
  bool hides_reasoning = false;
};

// The options that were given of those that the app has from the `first` one on.
std::vector<std::string> GivenOptions(const CLI::App& app, size_t first) {
  std::vector<std::string> words;
  const std::vector<const CLI::Option*> all = app.get_options();
  for (size_t i = first; i < all.size(); ++i) {
    if (all[i]->count() == 0) continue;
    words.push_back("--" + all[i]->get_lnames().front());
    for (const std::string& value : all[i]->results()) words.push_back(value);
  }
  return words;
}

// For people, beside what is said.
void Note(std::string_view text) {
  TerminalText shown;
  fmt::print(stderr, "{}{}\n", shown.Append(text), shown.Finish());
}

class Chat {
 public:
  Chat(ChatClient& client, std::string model, const ChatOptions& options)
      : client_(client),
        model_(std::move(model)),
        hides_reasoning_(options.hides_reasoning),
        has_colours_(isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr) {}

  Conversation& conversation() { return conversation_; }
  Result<void> Load(const std::string& path);
  // Says it and prints the answer. Error: there is none.
  Result<void> Say(std::string text);
  // One line after another, until the user leaves.
  void Talk();

 private:
  // To the last question.
  Result<void> Answer();
  void Show(ChatReply::Part part, std::string_view text);
  void EndThoughts();
  // False: the user leaves.
  bool Do(const ChatLine& line);
  Result<void> Obey(const ChatLine& line);
  Result<void> ChooseModel(const std::string& name);
  void PrintSettings() const;

  ChatClient& client_;
  std::string model_;
  const bool hides_reasoning_;
  const bool has_colours_;
  Conversation conversation_;
  TerminalText shown_;
  bool is_thinking_ = false;  // thoughts are on the screen, and have not ended
  char last_shown_ = '\n';
};

void Chat::EndThoughts() {
  if (!std::exchange(is_thinking_, false)) return;
  fmt::print("{}{}\n\n", shown_.Finish(), has_colours_ ? kPlain : "");
  last_shown_ = '\n';
}

void Chat::Show(ChatReply::Part part, std::string_view text) {
  if (part == ChatReply::Part::kReasoning) {
    if (hides_reasoning_) return;
    if (!std::exchange(is_thinking_, true)) fmt::print("{}", has_colours_ ? kDim : "");
  } else {
    EndThoughts();
    last_shown_ = text.back();
  }
  fmt::print("{}", shown_.Append(text));
  std::fflush(stdout);
}

Result<void> Chat::Say(std::string text) {
  conversation_.AddQuestion(std::move(text));
  return Answer();
}

Result<void> Chat::Answer() {
  interrupt_count = 0;
  ChatReply reply;
  const Result<bool> answered = client_.Answer(
      conversation_.Body(model_),
      [this](ChatReply::Part part, std::string_view text) { Show(part, text); }, reply);
  EndThoughts();
  fmt::print("{}{}", shown_.Finish(), last_shown_ == '\n' ? "" : "\n");
  last_shown_ = '\n';
  for (const auto& [index, call] : reply.calls())
    Note(fmt::format("(it calls {} with {})", call.name, call.arguments));
  std::fflush(stdout);
  if (reply.content().empty() && reply.calls().empty()) {
    conversation_.DropQuestion();  // it can be asked again, and two in a row would confuse
  } else {
    conversation_.AddAnswer(reply.content());
  }
  if (!answered) return tl::unexpected(answered.error());
  if (!*answered) Note("(stopped)");
  if (reply.finish_reason() == "length") Note("(cut off: no more tokens were allowed)");
  return {};
}

Result<void> Chat::Load(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  const Result<void> loaded = conversation_.Load(text);
  if (loaded) return {};
  return Fail(loaded.error().code, "{}: {}", path, loaded.error().message);
}

Result<void> Chat::ChooseModel(const std::string& name) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, client_.Models());
  if (!name.empty()) {
    model_ = name;  // it may have others by which it is called, too
    return {};
  }
  for (const std::string& each : names) Note((each == model_ ? "* " : "  ") + each);
  return {};
}

void Chat::PrintSettings() const {
  Note("model   " + model_);
  if (!conversation_.system().empty()) Note("system  " + conversation_.system());
  for (const auto& [name, value] : conversation_.settings().items())
    Note(fmt::format("{} = {}", name, DumpJson(value)));
}

Result<void> WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << '\n';
  file.close();
  if (file) return {};
  return Fail(ErrorCode::kInternal, "{}: cannot be written", path);
}

Result<void> Chat::Obey(const ChatLine& line) {
  switch (line.verb) {
    case ChatVerb::kSay:
      return line.text.empty() ? Result<void>() : Say(line.text);
    case ChatVerb::kHelp:
      for (const ChatCommandHelp& command : ChatCommands()) {
        Note(fmt::format("  {:<8} {:<13} {}", command.name, command.arguments, command.summary));
      }
      Note(
          "A message of several lines has \\ at the ends of them, or stands between two \"\"\". "
          "Ctrl-C stops an answer.");
      return {};
    case ChatVerb::kSystem:
      conversation_.SetSystem(line.text);
      return {};
    case ChatVerb::kSet: {
      const size_t end = std::min(line.text.find_first_of(kAsciiSpace), line.text.size());
      return conversation_.Set(line.text.substr(0, end),
                               std::string(Trimmed(line.text.substr(end), kAsciiSpace)));
    }
    case ChatVerb::kShow:
      PrintSettings();
      return {};
    case ChatVerb::kModel:
      return ChooseModel(line.text);
    case ChatVerb::kRetry:
      if (conversation_.DropAnswer()) return Answer();
      return Fail(ErrorCode::kNotFound, "nothing has been answered yet");
    case ChatVerb::kUndo:
      if (conversation_.DropQuestion()) return {};
      return Fail(ErrorCode::kNotFound, "nothing has been said yet");
    case ChatVerb::kClear:
      conversation_.Clear();
      return {};
    case ChatVerb::kSave:
      if (line.text.empty()) return Fail(ErrorCode::kInvalidArgument, "/save needs a FILE");
      return WriteFile(line.text, conversation_.ToJson());
    case ChatVerb::kLoad:
      if (line.text.empty()) return Fail(ErrorCode::kInvalidArgument, "/load needs a FILE");
      return Load(line.text);
    case ChatVerb::kLeave:
      return {};
  }
  return {};
}

bool Chat::Do(const ChatLine& line) {
  if (line.verb == ChatVerb::kLeave) return false;
  if (const Result<void> done = Obey(line); !done) Note(done.error().message);
  return true;
}

void Chat::Talk() {
  LineEditor editor(ChatHistoryPath());
  Note(fmt::format("{}; /help lists what there is besides talking", model_));
  MessageLines message;
  bool goes_on = false;
  for (std::string typed;;) {
    const TypedLine read = editor.Read(goes_on ? "... " : ">>> ", typed);
    if (read == TypedLine::kEnd) break;
    if (read == TypedLine::kInterrupted) {
      static_cast<void>(message.Take());
      goes_on = false;
      fmt::print("\n");
      continue;
    }
    const bool is_command = !goes_on && typed.starts_with('/');
    goes_on = !message.Add(typed);
    if (goes_on) continue;
    const std::string text = message.Take();
    editor.Remember(text);
    const Result<ChatLine> line = is_command ? ParseChatLine(text) : ChatLine{ChatVerb::kSay, text};
    if (!line) {
      Note(line.error().message);
    } else if (!Do(*line)) {
      return;
    }
  }
  fmt::print("\n");
}

Result<std::unique_ptr<OwnServer>> StartOwnServer(const ChatOptions& options) {
  const bool has_terminal = isatty(STDERR_FILENO) != 0;
  const std::string what =
      options.model.path.empty() ? std::string("the bundled model") : options.model.path;
  bool has_line = false;
  auto server = OwnServer::Start(options.arguments, IsInterrupted, [&](int seconds) {
    if (!has_terminal || seconds == 0) return;
    has_line = true;
    fmt::print(stderr, "{}loads {}: {} s", kClearLine, what, seconds);
  });
  if (has_line) fmt::print(stderr, "{}", kClearLine);
  return server;
}

Result<void> RunChat(const ChatOptions& options) {
  ChatServer server{.url = options.url, .unix_path = {}, .api_key = options.api_key};
  std::unique_ptr<OwnServer> own;
  if (options.url.empty()) {
    WEFT_ASSIGN_OR_RETURN(own, StartOwnServer(options));
    server.url = "http://localhost";
    server.unix_path = own->socket_path();
  }
  while (server.url.ends_with('/')) server.url.pop_back();
  ChatClient client(server, IsInterrupted);
  std::string model = options.url.empty() ? "" : options.model.path;
  if (model.empty()) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, client.Models());
    model = names.front();
  }
  Chat chat(client, model, options);
  if (!options.load.empty()) WEFT_RETURN_IF_ERROR(chat.Load(options.load));
  if (!options.system.empty()) chat.conversation().SetSystem(options.system);
  for (const std::string& setting : options.settings) {
    const size_t equals = std::min(setting.find('='), setting.size());
    const std::string value = setting.substr(std::min(equals + 1, setting.size()));
    WEFT_RETURN_IF_ERROR(chat.conversation().Set(setting.substr(0, equals), value));
  }
  if (!options.message.empty()) return chat.Say(options.message);
  if (isatty(STDIN_FILENO) == 0) {
    WEFT_ASSIGN_OR_RETURN(std::string text, ReadText("-"));
    return chat.Say(std::move(text));
  }
  chat.Talk();
  return {};
}

}  // namespace

int ChatCommand(int argc, const char* const* argv) {
  ChatOptions options;
  LogLevel log_level = LogLevel::kWarning;
  CLI::App app(
      "A conversation on the terminal, with a model of its own or with a server (--url). With a "
      "MESSAGE, or where standard input is no terminal, that is said, and its answer printed.",
      "weft chat");
  app.add_option("MESSAGE", options.message, "What is said, once");
  app.add_option("--url", options.url,
                 "A server that speaks OpenAI's API, as http://127.0.0.1:8080; --model is then the "
                 "name that it knows it by (the first one it lists)");
  app.add_option("--api-key", options.api_key, "Sent to it as a bearer token")
      ->envname("WEFT_API_KEY");
  app.add_option("--system", options.system, "What the model is told before all");
  app.add_option("--set", options.settings,
                 "NAME=VALUE of requests, as temperature=0.7, max_tokens=500 or reasoning=off; may "
                 "be repeated")
      ->allow_extra_args(false);
  app.add_option("--load", options.load, "A conversation that /save has written, to go on with");
  app.add_flag("--hide-reasoning", options.hides_reasoning, "Thoughts are not printed");
  const size_t first_of_server = app.get_options().size();
  AddModelFlags(app, options.model);
  AddLogFlag(app, log_level);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  options.arguments = GivenOptions(app, first_of_server);
  options.arguments.insert(options.arguments.begin(), {"--log-level", "warning"});
  std::setlocale(LC_CTYPE, "");
  InstallChatInterrupt();
  const Result<void> ended = RunChat(options);
  if (!ended) return FailCommand(app, ended.error());
  return IsInterrupted() && isatty(STDIN_FILENO) == 0 ? 128 + SIGINT : 0;
}

}  // namespace weft
