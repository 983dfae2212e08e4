// Which expressions of a grammar are regular. They are matched as one regex, so that a text's place
// in them is one state of an automaton: the rule of a string or of a number costs what a regex
// does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grammar/cfg/grammar_nodes.h"

namespace weft {

// Regular is what has no terminals but regexes and no recursion, or none but that of one rule which
// occurs in itself only last (`ws: " " ws | `) or only first. Not everything is found that could
// be, and an expression is given up where its regex would have more than
// GrammarLimits::max_fused_expressions parts.
class RegularParts {
 public:
  struct Part {
    RegexId regex = RegexId::kEmpty;
    int64_t cost = 0;  // expressions; those of a rule for each of its uses
  };

  explicit RegularParts(GrammarNodes& nodes) : all_(nodes) {}

  // Looks at everything that `start` is made of.
  void Find(int32_t start);
  // What was looked at; whatever an expression is made of comes before it, but a rule's body may
  // come behind the rule.
  std::span<const int32_t> nodes() const { return nodes_; }
  // nullopt: it is not regular.
  const std::optional<Part>& Of(int32_t node) const { return parts_[node]; }
  int64_t max_cost() const { return all_.limits.max_fused_expressions; }

 private:
  using Kind = GrammarNode::Kind;

  // `again` then the rule itself, or `end`: what a recursive rule's expression comes to.
  struct Linear {
    RegexId again = RegexId::kNothing;
    RegexId end = RegexId::kNothing;
    int64_t cost = 0;
  };

  const GrammarNode& NodeOf(int32_t node) const { return all_.nodes[node]; }
  // Expressions that contain one another, or a single one, behind all others that they contain.
  void FindInComponent(std::span<const int32_t> component);
  std::optional<Part> Fuse(int32_t node);
  // The only rule of a component, if all of it is linear. `first`: it occurs first, not last.
  std::optional<Part> SolveRule(std::span<const int32_t> component, int32_t rule, bool first);
  std::optional<Linear> LinearOf(int32_t node, bool first);
  std::optional<Linear> LinearSequence(int32_t node, bool first);

  GrammarNodes& all_;
  std::vector<int32_t> nodes_;
  std::vector<std::optional<Part>> parts_;     // by node
  std::vector<std::optional<Linear>> linear_;  // by node, of the component being looked at
};

}  // namespace weft
