// Lines that are typed on a terminal, with a history of earlier ones, by libedit.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace weft {

enum class TypedLine { kLine, kInterrupted, kEnd };

// One at a time; the terminal is as it was between two calls of Read.
class LineEditor {
 public:
  // Lines typed before are those of the file at `history_path`, which keeps these, too, for its
  // owner alone; "": they are kept nowhere.
  explicit LineEditor(std::string history_path);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Without the end of the line. kInterrupted: Ctrl-C; kEnd: Ctrl-D in an empty line.
  TypedLine Read(std::string_view prompt, std::string& line);
  // For the history: what was typed as one.
  void Remember(const std::string& text);

 private:
  struct State;  // libedit's
  std::unique_ptr<State> state_;
};

// $XDG_STATE_HOME/weft/chat_history, by default of ~/.local/state; its folder is made. "": there is
// no home, or no folder can be made there.
std::string ChatHistoryPath();

}  // namespace weft
