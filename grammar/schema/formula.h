// Boolean formulas over what can be said of one JSON value. Formulas that are the same are one, and
// what is known about them is kept by their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weft {

enum class FormulaId : int32_t { kFalse = 0, kTrue = 1 };
enum class AtomId : int32_t {};

// What an atom says; `subject` and `count` mean something else in each.
enum class AtomKind : uint8_t {
  // Of any value.
  kSchema,  // it satisfies schema `subject`
  kEquals,  // it is constant `subject`
  // Of an object; they are true of it when it ends, unless otherwise said.
  kHasName,        // it has a property of name `subject`
  kProperties,     // each of its properties satisfies what table `subject` says of its name
  kMinProperties,  // it has `count` properties at least
  // Of an array.
  kItems,     // each of its items satisfies what table `subject` says of its index
  kContains,  // `count` more of its items at least satisfy the formula `subject`
  kMinItems,  // it has `count` items at least
  kUnique,    // no two items are equal
};

struct Atom {
  AtomKind kind = AtomKind::kSchema;
  int32_t subject = 0;
  int64_t count = 0;

  bool operator==(const Atom&) const = default;
};

enum class FormulaKind : uint8_t { kFalse, kTrue, kAtom, kNot, kAnd, kOr, kExactlyOne };

struct FormulaLimits {
  int64_t steps = 30'000'000;  // of looking at parts of formulas, each less than 100 ns
  int64_t parts = 16'000'000;  // of all formulas, and of what is known about them
};

// A limit that is reached stays reached: status() is an error from then on, what is made is false,
// and nothing occurs in anything. That may be wrong; who builds or asks looks at status() when he
// is done.
class FormulaStore {
 public:
  explicit FormulaStore(const FormulaLimits& limits = {});

  // kResourceExhausted: a limit was reached.
  Result<void> status() const;

  FormulaId Of(const Atom& atom);
  FormulaId Not(FormulaId f);
  FormulaId And(std::span<const FormulaId> parts);  // of none: true
  FormulaId And(FormulaId a, FormulaId b);
  FormulaId Or(std::span<const FormulaId> parts);  // of none: false
  FormulaId Or(FormulaId a, FormulaId b);
  FormulaId ExactlyOne(std::span<const FormulaId> parts);

  FormulaKind kind(FormulaId f) const { return NodeOf(f).kind; }
  // Of kAtom.
  const Atom& atom(FormulaId f) const { return atoms_[static_cast<size_t>(NodeOf(f).first)]; }
  // Of kNot one, of kAnd, kOr and kExactlyOne more; valid until the next formula is made.
  std::span<const FormulaId> parts(FormulaId f) const {
    const Node& node = NodeOf(f);
    return std::span(parts_).subspan(static_cast<size_t>(node.first),
                                     static_cast<size_t>(node.count));
  }
  std::vector<FormulaId> PartsOf(FormulaId f) const {
    const std::span<const FormulaId> all = parts(f);
    return {all.begin(), all.end()};
  }

  // The formula with each atom replaced by what `value` says of it.
  using Replacement = std::function<FormulaId(FormulaId atom, const Atom&)>;
  FormulaId Replace(FormulaId f, const Replacement& value);

  // The atoms that it is made of, each once, and where they stand: a formula in which an atom is
  // only positive stays true when the atom becomes true.
  struct Occurrence {
    FormulaId atom = FormulaId::kFalse;
    bool positive = false;
    bool negative = false;
  };
  // Valid as long as the store.
  const std::vector<Occurrence>& Occurrences(FormulaId f);

  size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    FormulaKind kind = FormulaKind::kFalse;
    int32_t first = 0;  // in parts_, or the atom
    int32_t count = 0;
  };

  // What Replace works with; kUnknown everywhere between two of them.
  struct Scratch {
    std::vector<FormulaId> replaced;  // by formula
    std::vector<FormulaId> touched;
    std::vector<std::pair<FormulaId, bool>> stack;
    std::vector<FormulaId> made;
  };
  static constexpr FormulaId kUnknown{-1};

  // Whether the limits allow so many more.
  bool Count(size_t steps);
  bool is_full() const { return std::ssize(parts_) + occurrence_count_ > limits_.parts; }
  const Node& NodeOf(FormulaId f) const { return nodes_[static_cast<size_t>(f)]; }
  FormulaId Intern(FormulaKind kind, std::span<const FormulaId> parts);
  FormulaId Make(FormulaKind kind, std::span<const FormulaId> parts);
  std::vector<Occurrence> FindOccurrences(FormulaId f);
  // What is left of parts of an And (of an Or, with the constants swapped); `absorbing` alone
  // where one of them is that, or the negation of another.
  std::vector<FormulaId> Simplify(std::span<const FormulaId> parts, FormulaKind kind,
                                  FormulaId absorbing);

  FormulaLimits limits_;
  int64_t steps_ = 0;
  int64_t occurrence_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<FormulaId> parts_;
  std::vector<Atom> atoms_;
  std::unordered_multimap<uint64_t, int32_t> index_;  // by hash
  std::unordered_map<FormulaId, std::vector<Occurrence>> occurrences_;
  Scratch scratch_;
};

}  // namespace weft
