// Whether there is a value as a schema wants it, and how what has begun can go on: what keeps a
// text under a schema from running into a dead end.
//
// All answers are on the safe side: a yes is certain, a no may be one that was not found within the
// steps that a question may take, or that only a combination would have which is not looked at (see
// ElementValue). So nothing begins that cannot be ended; and of schemas that play several
// properties off against each other, an instance may be missed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/schema/schema_logic.h"

namespace weft {

// What has come of an object, as far as it matters for the rest.
struct ObjectContext {
  std::vector<NameId> seen = {};  // ascending; names that the order alone would let come again
  int32_t order = 0;              // see SchemaSolver::OrderOf
  int32_t position = 0;           // of that order: what stands before it is over
  int64_t count = 0;              // of properties

  auto operator<=>(const ObjectContext&) const = default;
};

// What has come of an array.
struct ArrayContext {
  int64_t count = 0;                   // of items
  std::vector<ConstantId> items = {};  // ascending; where it matters whether an item is there twice
  // What the solver has taken others to be, whose values are not known. Ascending.
  std::vector<FormulaId> assumed = {};

  auto operator<=>(const ArrayContext&) const = default;
};

// An atom that the next property or item changes: it becomes `if_true` where its value satisfies
// `value`, otherwise `if_false`, from which the former follows.
struct ElementAtom {
  FormulaId atom = FormulaId::kTrue;
  FormulaId value = FormulaId::kTrue;
  FormulaId if_true = FormulaId::kTrue;
  FormulaId if_false = FormulaId::kFalse;
};

struct SolverOptions {
  bool any_order = false;  // of properties; otherwise as the schema lists them, then the others
};

class SchemaSolver {
 public:
  // The logic is the caller's and stays where it is.
  SchemaSolver(SchemaLogic* logic, const SolverOptions& options)
      : logic_(*logic), options_(options) {}

  // Whether a value satisfies the value formula.
  bool IsSatisfiable(FormulaId value);

  // --- Objects.
  // The formula of a value formula's objects, simplified.
  FormulaId Objects(FormulaId value);
  // The order of names in objects that begin with this formula.
  int32_t OrderOf(FormulaId object);
  // Whether it is true of the object as it stands.
  bool ObjectMayEnd(FormulaId object);
  bool ObjectCanEnd(FormulaId object, const ObjectContext& context);
  // The texts of names that may come next.
  RegexId NextNames(FormulaId object, const ObjectContext& context);
  // Names of which the formula or its order say something of their own; of others what they match.
  std::vector<NameId> SpokenNames(FormulaId object, const ObjectContext& context);
  std::vector<RegexId> PatternsOf(FormulaId object);
  // Names without which the formula is false for certain.
  std::vector<NameId> RequiredNames(FormulaId object) const;
  // With one property more of this name, but for its value.
  FormulaId WithName(FormulaId object, NameId name, const ObjectContext& after);
  ObjectContext ContextWith(const ObjectContext& context, NameId name) const;
  std::vector<ElementAtom> AtomsOfProperty(FormulaId object, NameId name);
  // What the value of that property must be so that the object can end; `object` is WithName's.
  FormulaId PropertyValue(FormulaId object, NameId name, const ObjectContext& after);

  // --- Arrays.
  bool ArrayMayEnd(FormulaId array);
  bool ArrayCanEnd(FormulaId array, const ArrayContext& context);
  // With one item more, but for its value.
  FormulaId WithItem(FormulaId array, const ArrayContext& after);
  // `context` is that before the item.
  std::vector<ElementAtom> AtomsOfItem(FormulaId array, const ArrayContext& context);
  FormulaId ItemValue(FormulaId array, const ArrayContext& context);
  ArrayContext ContextWith(const ArrayContext& context) const;
  // As many as make no difference any more are as good as more.
  int64_t CountThatMatters(std::span<const FormulaId> arrays, int64_t count);
  // Whether equal items make a difference.
  bool LooksForEqualItems(FormulaId array);

  // Whether questions were given up.
  bool has_given_up() const { return gave_up_; }
  // kResourceExhausted: there were so many that all are given up from now on.
  Result<void> status() const;

 private:
  enum class Question : uint8_t { kValue, kObject, kArray };
  static constexpr int64_t kMostSteps = 20'000;  // of a question and all that it leads to
  static constexpr int64_t kMostStepsInAll = 1'000'000;
  static constexpr int64_t kAtomsInStep = 16;
  static constexpr int kMostPropertyBranches = 1024;
  using Key = std::pair<Question, std::pair<FormulaId, int32_t>>;
  struct Answer {
    bool is_open = false;  // being found out
    bool yes = false;
    int depth = 0;
  };
  // A conjunction of what is true and what is not, of an object.
  struct ObjectLiterals {
    std::vector<int32_t> tables;    // each property satisfies them
    std::vector<int32_t> violated;  // of each, some property does not
    std::vector<NameId> required;
    std::vector<NameId> forbidden;
    int64_t least = 0;
    int64_t most = std::numeric_limits<int64_t>::max();

    void Add(const Atom& atom, bool is_negated);
  };
  using NamedValues = std::map<NameId, std::vector<FormulaId>>;
  // Names that may be added: some by name, of others what is alike to all tables in question.
  struct OpenNames {
    std::vector<NameId> listed;
    std::vector<RegexId> others;
  };
  // Whether what is left of a formula can end behind an element that satisfies `value`, whichever
  // it is.
  using CanEnd = std::function<bool(FormulaId left, FormulaId value)>;
  // What an element changes, and what is asked of it.
  struct ElementQuestion {
    CanEnd can_end;
    bool one_way_is_enough = false;  // of those in which the formula can end
    std::unordered_map<FormulaId, ElementAtom> atoms = {};
  };

  template <typename Find>
  bool Ask(const Key& key, const Find& find);
  bool FindValue(FormulaId value);
  bool FindArray(FormulaId array, const ArrayContext& context);
  // `must_change`: of items that leave everything as it is, none is taken.
  FormulaId FindItemValue(FormulaId array, const ArrayContext& context, bool must_change);
  // With what the names that may still come, and the one whose value comes now, leave no choice
  // about.
  FormulaId WithoutWhatIsOver(FormulaId object, const ObjectContext& context,
                              std::optional<NameId> now = std::nullopt);
  // Whether there is a conjunction of literals that makes `object` true and can be had.
  bool SearchObject(FormulaId object, const ObjectContext& context);
  // The ways in which a formula can be true, each made when it is asked for. nullopt: it knows
  // none.
  struct Branches {
    size_t count = 0;
    std::function<FormulaId(size_t)> at;
  };
  std::optional<Branches> BranchesOf(FormulaId formula);
  // Without the names that stand in it with a "not" alone. `takes_nothing`: if it can be true at
  // all, then so; set where there are such names.
  FormulaId WithoutRefusedNames(FormulaId object, bool& takes_nothing);
  bool HasRequired(const ObjectLiterals& literals, const ObjectContext& context);
  // Of literals for which that is so.
  bool HasObject(const ObjectLiterals& literals, const ObjectContext& context);
  bool MeetViolations(const ObjectLiterals& literals, const ObjectContext& context, size_t next,
                      NamedValues& values);
  bool HasEnough(const ObjectLiterals& literals, const ObjectContext& context,
                 const NamedValues& values);
  bool MayCome(NameId name, const ObjectContext& context) const;
  static void SortOnce(std::vector<NameId>& names);
  FormulaId ValueUnder(const std::vector<int32_t>& tables, NameId name);
  // In the tables' order.
  const std::vector<NameId>& ListedNames(const std::vector<int32_t>& tables);
  OpenNames FindOpenNames(const ObjectLiterals& literals, const std::vector<int32_t>& tables,
                          const ObjectContext& context, const NamedValues& values);
  const std::vector<RegexId>& RegionsOf(const std::vector<int32_t>& tables);
  std::set<RegexId> PatternsByValue(const std::vector<int32_t>& tables);
  // For certain; `other` is a name of which nothing is said by itself.
  bool AnyNameMayCome(FormulaId object, NameId other, const ObjectContext& context);
  std::optional<NameId> ExampleOf(RegexId names);
  // One that is none of these, which ascend.
  NameId NameBeside(const std::vector<NameId>& listed);
  RegexId NamesOf(const std::vector<NameId>& names);  // ascending
  void BeginQuestion();
  // Whether the question may go on, with `steps` more.
  bool Spend(int64_t steps);

  // What an element must be so that `formula`, with its atoms as they then are, can end. The
  // question has no atoms yet.
  FormulaId ElementValue(FormulaId formula, const std::vector<ElementAtom>& atoms,
                         ElementQuestion question, int budget);
  // With those alone that its value decides.
  FormulaId ElementValue(FormulaId formula, const ElementQuestion& question, int budget);
  bool IsEnough(FormulaId value, const ElementQuestion& question);
  FormulaId Replaced(FormulaId formula, const std::unordered_map<FormulaId, FormulaId>& atoms);
  // nullopt: it takes more than the atoms without which the formula is false.
  std::optional<FormulaId> LeastValue(FormulaId formula, const ElementQuestion& question);
  FormulaId ValueOfConjunction(FormulaId formula, const ElementQuestion& question);
  // One after the other of the values that a schema lists for the element; nullopt: none does.
  std::optional<FormulaId> ValueAmongListed(FormulaId formula, const ElementQuestion& question);

  bool HasPlainArray(FormulaId array, const ArrayContext& context, bool& has_it);
  // Whether there is a value that none of the others is, whichever those are.
  bool HasAnother(FormulaId value, const std::vector<FormulaId>& others);
  FormulaId WithoutItems(const ArrayContext& context);
  // How many there are, `limit` at most; may be fewer than there are.
  uint64_t CountValues(FormulaId value, uint64_t limit);
  uint64_t CountArrays(FormulaId array, uint64_t limit);
  uint64_t CountObjects(FormulaId object, uint64_t limit);

  std::vector<int32_t> TablesOf(FormulaId formula, AtomKind kind);
  int32_t ContextId(const ObjectContext& context);
  int32_t ContextId(const ArrayContext& context);

  SchemaLogic& logic_;
  SolverOptions options_;
  FormulaId FindPropertyValue(FormulaId object, NameId name, const ObjectContext& after,
                              bool one_way_is_enough);
  FormulaId Loosened(FormulaId object, FormulaId context);
  FormulaId FindLoosened(FormulaId object, FormulaId context);
  bool AreDisjoint(FormulaId a, FormulaId b);
  // Whether there is a property that all of them demand, of which each lists values of its own.
  bool AreToldApart(const std::vector<FormulaId>& objects);
  // What stands in it without choice: tables that it satisfies, names that it has.
  ObjectLiterals LiteralsOf(FormulaId object, bool& is_all) const;
  // Whether these let the name come next.
  bool MayComeNext(const ObjectLiterals& literals, NameId name, const ObjectContext& context);
  bool HasNoValue(FormulaId value);

  std::map<Key, Answer> answers_;
  std::unordered_map<FormulaId, bool> may_end_;  // of objects and arrays: no atom is of both
  std::unordered_map<FormulaId, FormulaId> objects_;
  std::map<std::pair<FormulaId, FormulaId>, FormulaId> loosened_;  // by context, too
  std::map<std::tuple<FormulaId, NameId, int32_t>, FormulaId> property_values_;
  std::map<std::vector<NameId>, RegexId> names_;
  std::map<std::vector<int32_t>, std::vector<RegexId>> regions_;  // by tables
  std::map<std::vector<int32_t>, std::vector<NameId>> listed_names_;
  std::map<std::vector<int32_t>, std::unordered_map<NameId, bool>> has_value_;  // under tables
  std::map<ObjectContext, int32_t> object_contexts_;
  std::map<ArrayContext, int32_t> array_contexts_;
  std::map<FormulaId, int32_t> order_ids_;
  std::vector<std::unordered_map<NameId, int32_t>> orders_;
  int depth_ = 0;
  int count_depth_ = 0;  // of values in values that are counted
  int assumed_depth_ = std::numeric_limits<int>::max();
  int64_t steps_ = 0;  // of the question that was asked from outside
  int64_t steps_in_all_ = 0;
  int search_depth_ = 0;
  bool gave_up_now_ = false;   // of that question
  bool was_too_deep_ = false;  // some of it
  bool gave_up_ = false;
};

}  // namespace weft
