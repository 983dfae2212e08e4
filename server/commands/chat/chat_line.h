// What the user of `weft chat` types: a message, or a command that begins with a slash.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

enum class ChatVerb {
  kSay,
  kHelp,
  kSystem,
  kSet,
  kShow,
  kModel,
  kRetry,
  kUndo,
  kClear,
  kSave,
  kLoad,
  kLeave
};

struct ChatCommandHelp {
  std::string_view name;  // "/save"
  std::string_view arguments;
  std::string_view summary;
  ChatVerb verb;
};
std::span<const ChatCommandHelp> ChatCommands();

struct ChatLine {
  ChatVerb verb = ChatVerb::kSay;
  std::string text;  // what is said, or what stands behind the command
};

// "//" at the beginning is a slash that is said. Errors: a command that there is not.
Result<ChatLine> ParseChatLine(std::string_view typed);

// Whether a message goes on in the next line: a backslash at the end of this one, or the quotes
// (""") that began it have not come again. What they say together, without those.
class MessageLines {
 public:
  // False: there is more to come.
  bool Add(std::string_view line);
  std::string Take();

 private:
  std::string text_;
  bool is_quoted_ = false;
  bool has_begun_ = false;
};

}  // namespace weft
