// What a grammar in Lark's notation says, before names are looked up. Used by ReadLark alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/cfg/grammar_text.h"

namespace weft {

struct LarkNode {
  enum class Kind : uint8_t {
    kString,    // text: what it means; flags: "i" or none
    kPattern,   // text: between the slashes; flags: behind them
    kRange,     // first, last: characters
    kName,      // text: a rule's or a terminal's
    kSpecial,   // text: as it stands, <...>
    kJson,      // text: an object
    kSequence,  // children; of none: the empty text
    kChoice,    // children
    kAnd,       // children
    kNot,       // one child
    kRepeat,    // one child, first to last times; last -1: any number
  };

  Kind kind = Kind::kSequence;
  size_t offset = 0;  // where it stands
  std::string text = {};
  std::string flags = {};
  std::vector<int32_t> children = {};
  int32_t first = 0;
  int32_t last = 0;
};

struct LarkDefinition {
  size_t offset = 0;
  int32_t body = 0;
  // Of a rule: as few characters as may be are matched, and `suffix` behind them.
  bool is_lazy = false;
  std::string suffix = {};
};

struct LarkSyntax {
  std::vector<LarkNode> nodes;                        // children come before
  std::map<std::string, LarkDefinition> definitions;  // of rules and terminals
  std::vector<int32_t> ignored;                       // %ignore
  std::map<std::string, std::string> imports;         // of common, by the names that they get
};

// Whether the name is a terminal's, not a rule's.
bool IsLarkTerminal(std::string_view name);

Result<LarkSyntax> ReadLarkSyntax(GrammarText* text, const GrammarTextLimits& limits);

}  // namespace weft
