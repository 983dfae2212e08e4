#include "grammar/regex/pattern.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "grammar/regex/pattern_syntax.h"

namespace weft {
namespace {

// Makes expressions of what was read. Recursion goes as deep as groups are nested, which the reader
// bounds.
class PatternBuilder {
 public:
  PatternBuilder(RegexArena* arena, const PatternTree& tree, PatternDialect dialect)
      : arena_(arena), tree_(tree), dialect_(dialect) {}

  Result<RegexId> Build() {
    std::vector<RegexId> alternatives;
    const PatternNode& root = tree_.nodes[tree_.root];
    const std::vector<uint32_t> whole = {tree_.root};
    for (const uint32_t part : root.kind == PatternKind::kOr ? root.parts : whole) {
      WEFT_ASSIGN_OR_RETURN(const RegexId id, BuildAlternative(part));
      alternatives.push_back(id);
    }
    return arena_->Asserted(arena_->Or(alternatives), before_);
  }

 private:
  // Anchors at its ends are no assertions: they say whether other text may surround it.
  Result<RegexId> BuildAlternative(uint32_t index) {
    const PatternNode& node = tree_.nodes[index];
    const std::vector<uint32_t> whole = {index};
    std::span<const uint32_t> parts = node.kind == PatternKind::kConcat ? node.parts : whole;
    bool starts = dialect_ != PatternDialect::kEcma;
    bool ends = starts;
    while (!parts.empty() && tree_.nodes[parts.front()].kind == PatternKind::kTextStart) {
      starts = true;
      parts = parts.subspan(1);
    }
    while (!parts.empty() && tree_.nodes[parts.back()].kind == PatternKind::kTextEnd) {
      ends = true;
      parts = parts.first(parts.size() - 1);
    }
    WEFT_ASSIGN_OR_RETURN(RegexId id, BuildConcat(parts));
    if (!starts) id = arena_->Concat(arena_->AnyText(), id);
    return ends ? id : arena_->Concat(id, arena_->AnyText());
  }

  Result<RegexId> BuildConcat(std::span<const uint32_t> parts) {
    std::vector<RegexId> ids;
    for (const uint32_t part : parts) {
      WEFT_ASSIGN_OR_RETURN(const RegexId id, BuildNode(part));
      ids.push_back(id);
    }
    return arena_->Concat(ids);
  }

  Result<RegexId> BuildNode(uint32_t index) {
    const PatternNode& node = tree_.nodes[index];
    switch (node.kind) {
      case PatternKind::kSet:
        return node.set;
      case PatternKind::kConcat:
        return BuildConcat(node.parts);
      case PatternKind::kOr: {
        std::vector<RegexId> ids;
        for (const uint32_t part : node.parts) {
          WEFT_ASSIGN_OR_RETURN(const RegexId id, BuildNode(part));
          ids.push_back(id);
        }
        return arena_->Or(ids);
      }
      case PatternKind::kRepeat: {
        WEFT_ASSIGN_OR_RETURN(const RegexId id, BuildNode(node.parts.front()));
        if (node.max == RegexNode::kUnbounded) return arena_->Repeat(id, node.min);
        return arena_->Repeat(id, node.min, node.max);
      }
      case PatternKind::kTextStart:
        return Behind(RegexId::kEmpty);
      case PatternKind::kLineStart:
        return Behind(arena_->Or(RegexId::kEmpty, EndsWith(LineEndSymbols(dialect_))));
      case PatternKind::kTextEnd:
        return Ahead(RegexId::kEmpty, false);
      case PatternKind::kLineEnd:
        return Ahead(arena_->Or(RegexId::kEmpty, BeginsWith(LineEndSymbols(dialect_))), false);
      case PatternKind::kWordBoundary:
        return WordBoundary(true);
      case PatternKind::kNoWordBoundary:
        return WordBoundary(false);
      case PatternKind::kAhead: {
        WEFT_ASSIGN_OR_RETURN(const RegexId id, BuildNode(node.parts.front()));
        return Ahead(arena_->Concat(id, arena_->AnyText()), node.negated);
      }
      case PatternKind::kBehind: {
        const bool was_behind = std::exchange(in_behind_, true);
        WEFT_ASSIGN_OR_RETURN(RegexId id, BuildNode(node.parts.front()));
        in_behind_ = was_behind;
        id = arena_->Asserted(arena_->Concat(arena_->AnyText(), id), before_);
        return Behind(node.negated ? arena_->Not(id) : id);
      }
    }
    return RegexId::kNothing;
  }

  RegexId EndsWith(const SymbolSet& set) {
    return arena_->Concat(arena_->AnyText(), arena_->Set(set));
  }
  RegexId BeginsWith(const SymbolSet& set) {
    return arena_->Concat(arena_->Set(set), arena_->AnyText());
  }

  // The same on both sides, or not the same.
  Result<RegexId> WordBoundary(bool differs) {
    const SymbolSet word = WordSymbols(dialect_);
    const SymbolSet other = word.Complement();
    const RegexId word_before = Behind(EndsWith(word));
    const RegexId other_before = Behind(arena_->Or(RegexId::kEmpty, EndsWith(other)));
    WEFT_ASSIGN_OR_RETURN(const RegexId word_ahead, Ahead(BeginsWith(word), false));
    WEFT_ASSIGN_OR_RETURN(const RegexId other_ahead,
                          Ahead(arena_->Or(RegexId::kEmpty, BeginsWith(other)), false));
    return arena_->Or(arena_->Concat(word_before, differs ? other_ahead : word_ahead),
                      arena_->Concat(other_before, differs ? word_ahead : other_ahead));
  }

  Result<RegexId> Ahead(RegexId rest, bool negated) {
    if (in_behind_) {
      return Fail(
          ErrorCode::kUnsupported,
          "a lookbehind has $, a word boundary or a lookahead in it, which is not supported");
    }
    return arena_->Ahead(rest, negated);
  }

  RegexId Behind(RegexId before) {
    const auto at = std::ranges::find(before_, before);
    const auto place = static_cast<uint32_t>(at - before_.begin());
    if (at == before_.end()) before_.push_back(before);
    return arena_->Behind(place);
  }

  RegexArena* arena_;
  const PatternTree& tree_;
  PatternDialect dialect_;
  bool in_behind_ = false;
  std::vector<RegexId> before_;  // what assertions say of the text before them
};

}  // namespace

Result<RegexId> ParsePattern(RegexArena* arena, std::string_view pattern, PatternDialect dialect) {
  const auto build = [&]() -> Result<RegexId> {
    WEFT_ASSIGN_OR_RETURN(const PatternTree tree, ReadPattern(arena, pattern, dialect));
    WEFT_ASSIGN_OR_RETURN(const RegexId id, PatternBuilder(arena, tree, dialect).Build());
    WEFT_RETURN_IF_ERROR(arena->status());
    return id;
  };
  return build().map_error([&](const Error& error) {
    return Error{error.code, fmt::format("pattern {}: {}", Quoted(pattern), error.message)};
  });
}

}  // namespace weft
