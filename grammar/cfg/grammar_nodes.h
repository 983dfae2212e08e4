// The expressions of a GrammarBuilder, for the passes that make a grammar of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grammar/cfg/grammar.h"
#include "grammar/regex/regex.h"

namespace weft {

struct GrammarLimits {
  // Expressions of a builder, and symbols in all rules of the grammar.
  int64_t max_expressions = 1 << 20;
  // Parts of a grammar that are regular are matched as one regex, a rule that is used several times
  // in several copies, up to this many expressions together.
  int64_t max_fused_expressions = 20'000;
};

struct GrammarNode {
  enum class Kind : uint8_t { kRegex, kTerminal, kSequence, kChoice, kRepeat, kRule };
  static constexpr int32_t kUnbounded = -1;

  Kind kind = Kind::kRegex;
  // kRegex: the regex; kTerminal, kRule: index in `factories`, `rules`; kSequence, kChoice: where
  // its parts begin in `parts`; kRepeat: the body.
  int32_t first = 0;
  int32_t count = 0;  // of parts; kRepeat: the least number
  int32_t max = 0;    // kRepeat: the greatest number, or kUnbounded
};

// Whatever a node is made of has a lower number, but for the bodies of rules.
struct GrammarNodes {
  struct Rule {
    std::string name;
    std::optional<int32_t> body;
  };

  int32_t ChildCount(int32_t node) const {
    switch (nodes[node].kind) {
      case GrammarNode::Kind::kRegex:
      case GrammarNode::Kind::kTerminal:
        return 0;
      case GrammarNode::Kind::kRepeat:
      case GrammarNode::Kind::kRule:
        return 1;
      default:
        return nodes[node].count;
    }
  }
  int32_t Child(int32_t node, int32_t index) const {
    const GrammarNode& parent = nodes[node];
    if (parent.kind == GrammarNode::Kind::kRepeat) return parent.first;
    if (parent.kind == GrammarNode::Kind::kRule) return *rules[parent.first].body;
    return parts[parent.first + index];
  }

  GrammarLimits limits;
  std::shared_ptr<RegexArena> regexes = std::make_shared<RegexArena>();
  std::vector<GrammarNode> nodes;
  std::vector<int32_t> parts;
  std::vector<RecognizerFactory> factories;
  std::vector<Rule> rules;
};

}  // namespace weft
