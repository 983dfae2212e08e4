#include "server/commands/chat/line_editor.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <histedit.h>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include "base/check.h"

namespace weft {
namespace {

constexpr int kMostRemembered = 1000;

}  // namespace

struct LineEditor::State {
  std::string history_path;
  std::string prompt;
  bool was_interrupted = false;
  HistEvent event{};
  std::unique_ptr<History, decltype(&history_end)> history{history_init(), history_end};
  std::unique_ptr<EditLine, decltype(&el_end)> editor{el_init("weft", stdin, stdout, stderr),
                                                      el_end};

  static State& Of(EditLine* editor) {
    State* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *self;
  }
  static char* Prompt(EditLine* editor) { return Of(editor).prompt.data(); }
  static unsigned char OnInterrupt(EditLine* editor, int) {
    Of(editor).was_interrupted = true;
    return CC_EOF;
  }
};

LineEditor::LineEditor(std::string history_path) : state_(std::make_unique<State>()) {
  State& it = *state_;
  it.history_path = std::move(history_path);
  EditLine* const editor = it.editor.get();
  WEFT_CHECK(editor != nullptr && it.history != nullptr);
  history(it.history.get(), &it.event, H_SETSIZE, kMostRemembered);
  history(it.history.get(), &it.event, H_SETUNIQUE, 1);
  if (!it.history_path.empty())
    history(it.history.get(), &it.event, H_LOAD, it.history_path.c_str());
  el_set(editor, EL_CLIENTDATA, &it);
  el_set(editor, EL_PROMPT, &State::Prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 1);
  el_set(editor, EL_HIST, history, it.history.get());
  // While a line is typed Ctrl-C is a key, which clears it.
  el_set(editor, EL_SETTY, "-d", "-isig", nullptr);
  el_set(editor, EL_ADDFN, "weft-interrupt", "Clears the line", &State::OnInterrupt);
  el_set(editor, EL_BIND, "^C", "weft-interrupt", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(editor, nullptr);  // what the user has set up in ~/.editrc
}

LineEditor::~LineEditor() {
  State& it = *state_;
  if (it.history_path.empty()) return;
  const mode_t mask = umask(0077);
  history(it.history.get(), &it.event, H_SAVE, it.history_path.c_str());
  umask(mask);
}

TypedLine LineEditor::Read(std::string_view prompt, std::string& line) {
  State& it = *state_;
  it.prompt = prompt;
  it.was_interrupted = false;
  // A signal in place of the key would leave the terminal to its own editing of lines.
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  int length = 0;
  const char* const typed = el_gets(it.editor.get(), &length);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (it.was_interrupted) return TypedLine::kInterrupted;
  if (typed == nullptr || length <= 0) return TypedLine::kEnd;
  line.assign(typed, static_cast<size_t>(length));
  if (line.ends_with('\n')) line.pop_back();
  return TypedLine::kLine;
}

void LineEditor::Remember(const std::string& text) {
  if (text.empty()) return;
  history(state_->history.get(), &state_->event, H_ENTER, text.c_str());
}

std::string ChatHistoryPath() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".local" / "state";
  } else {
    return "";
  }
  folder /= "weft";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  return failed ? "" : (folder / "chat_history").string();
}

}  // namespace weft
