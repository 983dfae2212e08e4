// What a schema says, as languages and formulas: of strings and numbers regular languages, of
// objects and arrays formulas over what is seen while one goes by (Atom). Keywords, references and
// combinations of schemas come to nothing else.
//
// Values are described by formulas over kSchema and kEquals ("value formulas"); Objects and Arrays
// make of one a formula over the atoms of an object or an array.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/regex/number_regex.h"
#include "grammar/regex/regex.h"
#include "grammar/schema/constants.h"
#include "grammar/schema/formula.h"
#include "grammar/schema/schema_error.h"
#include "grammar/schema/schema_node.h"

namespace weft {

// What the values of properties must be, by their names.
struct PropertyTable {
  std::vector<std::pair<NameId, FormulaId>> named;  // in the schema's order
  std::unordered_map<NameId, FormulaId> by_name;    // the same
  std::vector<std::pair<RegexId, FormulaId>> patterns;
  FormulaId others = FormulaId::kTrue;  // of names that are neither
};

// What items must be, by their index.
struct ItemTable {
  std::vector<FormulaId> prefix;
  FormulaId rest = FormulaId::kTrue;
};

// Grows as it is asked. A copy goes on by itself, with the same numbers. One owner at a time.
class SchemaLogic {
 public:
  // Everything that the document has is looked at: errors name what cannot be enforced.
  static SchemaResult<SchemaLogic> Create(std::shared_ptr<const SchemaDocument> document);

  FormulaStore& formulas() { return formulas_; }
  RegexArena& regexes() { return regexes_; }
  const RegexArena& regexes() const { return regexes_; }
  Constants& constants() { return constants_; }
  FormulaId root();

  // kResourceExhausted: a limit was reached, and what was said since may be too little.
  Result<void> status() const;

  // What a value formula says of values of a kind.
  bool HoldsFor(FormulaId value, ValueKind constant);  // kNull, kFalse, kTrue
  RegexId Strings(FormulaId value);                    // what they say
  RegexId Numbers(FormulaId value);                    // their texts
  // Of several that are asked about one text: all with exponents or all without.
  std::vector<RegexId> Numbers(std::span<const FormulaId> values);
  // Of texts of numbers: where all are of integers, those without a sign of 0 and a fraction.
  RegexId PlainIntegers(RegexId numbers);
  FormulaId Objects(FormulaId value);
  // Values that a schema lists, where it does; others do not satisfy the formula.
  std::optional<std::vector<ConstantId>> ListedValues(FormulaId value);
  // Of a constant that is no object and no array.
  bool Satisfies(ConstantId constant, FormulaId value);
  FormulaId Equals(ConstantId id) {
    return formulas_.Of({.kind = AtomKind::kEquals, .subject = static_cast<int32_t>(id)});
  }
  FormulaId Arrays(FormulaId value);

  const PropertyTable& properties(int32_t table) const {
    return property_tables_[static_cast<size_t>(table)];
  }
  const ItemTable& items(int32_t table) const { return item_tables_[static_cast<size_t>(table)]; }
  // What the table says of the value of a property of this name.
  FormulaId ValueOf(int32_t table, NameId name);
  FormulaId ItemAt(int32_t table, int64_t index) const;
  bool Matches(RegexId regex, std::string_view utf8);

 private:
  // Names that a schema has looked at, or items, where it holds.
  struct Coverage {
    bool all = false;
    std::set<NameId> names;
    std::set<RegexId> patterns;
    int64_t prefix = 0;
    std::set<FormulaId> contains;  // items that satisfy one of them

    auto operator<=>(const Coverage&) const = default;
  };
  struct Alternative {
    FormulaId condition = FormulaId::kTrue;  // over the atoms of the kind
    Coverage coverage;

    auto operator<=>(const Alternative&) const = default;
  };
  enum class NumberForm : uint8_t { kWithExponent, kPlain };

  explicit SchemaLogic(std::shared_ptr<const SchemaDocument> document)
      : document_(std::move(document)) {}

  SchemaResult<void> CheckTexts();
  SchemaResult<void> CheckUnevaluated();
  const SchemaNode& node(int32_t id) const { return document_->nodes[static_cast<size_t>(id)]; }
  FormulaId Schema(SchemaId id) { return formulas_.Of({.kind = AtomKind::kSchema, .subject = id}); }

  // What is in all kinds alike: a value formula of the same place.
  FormulaId InPlace(const SchemaNode& node);
  bool AllowsKind(const SchemaNode& node, ValueKind kind) const;
  FormulaId OneOfValues(const SchemaNode& node, ValueKind kind);

  RegexId StringsOf(const SchemaNode& node);
  std::optional<RegexId> NumbersIn(FormulaId value, NumberForm form);
  // nullopt: it cannot be said in this form.
  std::optional<RegexId> NumbersOf(const SchemaNode& node, NumberForm form);
  static NumberSet NumberSetOf(const SchemaNode& node);
  std::optional<RegexId> NumbersLike(std::span<const ConstantId> constants, NumberForm form);
  RegexId StringsLike(std::span<const ConstantId> constants);

  FormulaId StructureOf(FormulaId value, ValueKind kind);
  FormulaId StructureOfNode(const SchemaNode& node, ValueKind kind);
  FormulaId StructureOfConstant(ConstantId id, ValueKind kind);
  void AddObjectKeywords(const SchemaNode& node, std::vector<FormulaId>& parts);
  void AddArrayKeywords(const SchemaNode& node, std::vector<FormulaId>& parts);
  FormulaId AddTable(PropertyTable table);
  FormulaId AddTable(ItemTable table);
  FormulaId HasName(std::string_view name);
  FormulaId Counted(AtomKind kind, int64_t count, int32_t subject = 0);
  FormulaId Unevaluated(const SchemaNode& node, ValueKind kind);
  // Of a schema that holds: what it may have looked at, under which conditions.
  using Alternatives = std::set<Alternative>;
  const Alternatives& AlternativesOf(SchemaId schema, ValueKind kind);
  Alternatives FindAlternatives(const SchemaNode& node, ValueKind kind, bool with_unevaluated);
  Coverage OwnCoverage(const SchemaNode& node, ValueKind kind, bool with_unevaluated);
  // Of a schema in place that holds on `condition`.
  Alternatives AlternativesIf(FormulaId condition, SchemaId schema, ValueKind kind);
  void Multiply(Alternatives& all, const Alternatives& others);

  // A step down in the recursion over a document.
  class Level {
   public:
    explicit Level(SchemaLogic& logic) : logic_(logic) {
      if (++logic_.depth_ > kMostDepth) logic_.Fail("schemas stand in others too many times over");
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --logic_.depth_; }
    bool is_too_deep() const { return logic_.depth_ > kMostDepth; }

   private:
    static constexpr int kMostDepth = 1000;

    SchemaLogic& logic_;
  };
  void Fail(std::string message);

  std::shared_ptr<const SchemaDocument> document_;
  FormulaStore formulas_;
  RegexArena regexes_;
  Constants constants_;
  std::vector<PropertyTable> property_tables_;
  std::vector<ItemTable> item_tables_;
  std::unordered_map<std::string, RegexId> patterns_;  // by their text
  std::unordered_map<std::string, RegexId> formats_;
  std::unordered_map<FormulaId, RegexId> strings_;
  // By form; nullopt: it cannot be said in it.
  std::array<std::unordered_map<FormulaId, std::optional<RegexId>>, 2> numbers_in_;
  std::array<std::unordered_map<FormulaId, FormulaId>, 7> structures_;  // by kind
  std::optional<std::string> failure_;
  std::map<std::pair<SchemaId, ValueKind>, Alternatives> alternatives_;
  int depth_ = 0;
};

}  // namespace weft
