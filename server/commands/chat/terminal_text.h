// Text of others on a terminal: a model's, a file's, a server's. What terminals take for commands
// is never among it.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Takes text in pieces, which may end inside a character.
class TerminalText {
 public:
  // What may be shown of it by now: UTF-8, U+FFFD in place of control characters (but for line
  // feeds and tabs), of marks that turn the direction of text around, and of what is no UTF-8.
  std::string Append(std::string_view piece);
  // What is left at the end.
  std::string Finish();

 private:
  std::string held_;  // of a character that has not ended
};

}  // namespace weft
