#include "server/commands/chat/chat_line.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"

namespace weft {
namespace {

constexpr std::array kCommands = {
    ChatCommandHelp{"/help", "", "this list", ChatVerb::kHelp},
    ChatCommandHelp{"/system", "[TEXT]", "what the model is told before all; nothing without TEXT",
                    ChatVerb::kSystem},
    ChatCommandHelp{"/set", "NAME [VALUE]",
                    "temperature, top_p, seed, max_tokens, reasoning, ...; the server's default "
                    "without VALUE",
                    ChatVerb::kSet},
    ChatCommandHelp{"/show", "", "the model, the settings and what the model is told",
                    ChatVerb::kShow},
    ChatCommandHelp{"/model", "[NAME]", "the models there are, or goes on with that one",
                    ChatVerb::kModel},
    ChatCommandHelp{"/retry", "", "another answer to the last message", ChatVerb::kRetry},
    ChatCommandHelp{"/undo", "", "takes the last message and its answer away", ChatVerb::kUndo},
    ChatCommandHelp{"/clear", "", "begins anew", ChatVerb::kClear},
    ChatCommandHelp{"/save", "FILE", "writes the conversation to a file, as JSON", ChatVerb::kSave},
    ChatCommandHelp{"/load", "FILE", "goes on with one that was saved", ChatVerb::kLoad},
    ChatCommandHelp{"/bye", "", "leaves, as Ctrl-D does", ChatVerb::kLeave},
};
constexpr std::string_view kQuotes = "\"\"\"";

}  // namespace

std::span<const ChatCommandHelp> ChatCommands() { return kCommands; }

Result<ChatLine> ParseChatLine(std::string_view typed) {
  if (typed.starts_with("//")) return ChatLine{ChatVerb::kSay, std::string(typed.substr(1))};
  if (!typed.starts_with('/')) return ChatLine{ChatVerb::kSay, std::string(typed)};
  const size_t end = std::min(typed.find_first_of(kAsciiSpace), typed.size());
  const std::string_view name = typed.substr(0, end);
  const auto* const found = std::ranges::find(kCommands, name, &ChatCommandHelp::name);
  if (found == kCommands.end()) {
    return Fail(ErrorCode::kNotFound,
                "there is no command {}; /help lists them, and // begins a message with a slash",
                name);
  }
  return ChatLine{found->verb, std::string(Trimmed(typed.substr(end), kAsciiSpace))};
}

bool MessageLines::Add(std::string_view line) {
  if (!std::exchange(has_begun_, true)) {
    is_quoted_ = line.starts_with(kQuotes);
    if (is_quoted_) line.remove_prefix(kQuotes.size());
  } else {
    text_ += '\n';
  }
  if (is_quoted_) {
    const bool ends = line.ends_with(kQuotes);
    if (ends) line.remove_suffix(kQuotes.size());
    text_ += line;
    return ends;
  }
  const bool goes_on = line.ends_with('\\');
  if (goes_on) line.remove_suffix(1);
  text_ += line;
  return !goes_on;
}

std::string MessageLines::Take() {
  has_begun_ = false;
  is_quoted_ = false;
  return std::exchange(text_, {});
}

}  // namespace weft
