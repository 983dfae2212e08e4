// JSON texts whose values satisfy a schema, byte by byte.
//
// A value is read with a goal: a value formula that it must satisfy, and others of which it is to
// be known, when it ends, whether it does. Of a string or a number these are automata that run
// beside it; of an object or an array formulas over its atoms, in which each property or item
// replaces what it decides. So every combination of schemas is followed exactly, and the solver
// says what may come so that the first one can still be satisfied.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "grammar/recognizer.h"
#include "grammar/regex/string_dfa.h"
#include "grammar/schema/schema_logic.h"
#include "grammar/schema/schema_solver.h"

namespace weft {

// White space between the parts of a JSON text.
enum class JsonSpace : uint8_t {
  kNone,
  kAfterSeparators,  // one space, or none, behind `,` and `:`
  kAny,
};

struct JsonMachineOptions {
  JsonSpace space = JsonSpace::kAfterSeparators;
  bool any_order = false;  // of properties
  // Where only integers may come, 1.0 and -0 do not, though they are the same numbers: many readers
  // of JSON take them for none.
  bool plain_integers = false;
};

class JsonMachine : public Recognizer {
 public:
  JsonMachine(SchemaLogic logic, const JsonMachineOptions& options);

  State Start() override;
  State Step(State state, uint8_t byte) override;
  bool Accepts(State state) override;
  std::optional<TextRun> RunAt(State state) override;
  int64_t RunEndClass(State state, std::string_view rest) override;
  State RunEnd(State state, std::string_view rest) override;
  ByteSet BytesTowardsEnd(State state) override;

  Result<void> status() const override;
  size_t bytes() const override;
  // Whether some of what may come was not looked into, since that would have taken too long.
  bool has_given_up() const { return solver_.has_given_up(); }

 private:
  enum class Place : uint8_t {
    kValue,   // before a value
    kString,  // in one
    kNumber,
    kConstant,       // in null, false or true
    kObjectStart,    // behind `{`
    kName,           // in a name
    kNameEnd,        // behind it
    kPropertyValue,  // around a value
    kPropertyEnd,    // behind it
    kPropertyNext,   // behind `,`
    kArrayStart,     // behind `[`
    kItem,           // around an item
    kItemEnd,        // behind it
    kEnd,
  };
  using FrameId = int32_t;
  using GoalId = int32_t;
  using TextId = int32_t;
  static constexpr int32_t kNone = -1;
  static constexpr size_t kMostUniqueItems = 1000;  // each is compared with all before

  // Where a text is within a value, and what the value is within.
  struct Frame {
    Place place = Place::kEnd;
    bool may_space = false;  // one space may come
    bool records = false;    // the bytes of the value around it are kept
    FrameId parent = kNone;
    GoalId goal = kNone;
    int32_t state = kNone;    // of an object or array; of a string, number or name its automaton's
    int32_t watched = kNone;  // of a string or number: automata of the goal's others
    int32_t object = kNone;   // of a name: the object's state
    int32_t detail = 0;       // a name; how much of a constant has come; where a text begins

    auto operator<=>(const Frame&) const = default;
  };
  struct Goal {
    FormulaId value = FormulaId::kTrue;
    std::vector<FormulaId> watched;

    auto operator<=>(const Goal&) const = default;
  };
  template <typename Context>
  struct Structure {
    FormulaId formula = FormulaId::kTrue;
    std::vector<FormulaId> watched;
    Context context;

    auto operator<=>(const Structure&) const = default;
  };
  using ObjectState = Structure<ObjectContext>;
  using ArrayState = Structure<ArrayContext>;
  // What a property or an item does to the structure around it.
  struct Element {
    int32_t after = kNone;  // the structure with it, but for its value
    GoalId goal = kNone;    // kNone: nothing can come here
    std::vector<ElementAtom> atoms;
    std::vector<int32_t> places;  // of an atom's value among what the goal watches; kNone: it holds
  };
  // What tells the names of an object's next property apart.
  struct NameKinds {
    std::unordered_set<std::string> spoken;    // of themselves
    std::vector<RegexId> patterns;             // the others by which of these they match
    std::map<std::vector<bool>, NameId> like;  // one of each kind of others
  };
  // Names of an object's next property, as JSON spells them.
  struct NameSpellings {
    std::vector<std::string> required;  // without which it cannot end; ascending
    std::vector<std::string> spoken;    // of themselves; see NameKinds
    bool has_patterns = false;
  };
  // Which of the goal's others hold.
  using Truths = std::vector<bool>;

  // Numbers of things that are kept once.
  template <typename Thing>
  struct Interned {
    std::map<Thing, int32_t> ids;
    std::vector<Thing> things;

    int32_t Of(const Thing& thing) {
      const auto [entry, is_new] = ids.emplace(thing, static_cast<int32_t>(things.size()));
      if (is_new) things.push_back(thing);
      return entry->second;
    }
    const Thing& operator[](int32_t id) const { return things[static_cast<size_t>(id)]; }
  };

  using Row = std::array<State, 256>;
  static constexpr State kUnknown = -2;

  static std::string_view SpellingOf(ValueKind constant);
  static std::unique_ptr<Row> NewRow(Place place);
  State FindStep(State state, uint8_t byte);
  State StateOf(const Frame& frame, TextId text);
  State BeginValue(const Frame& frame, TextId text, uint8_t byte);
  State BeginObject(const Frame& frame, TextId text);
  State BeginArray(const Frame& frame, TextId text);
  State StepString(const Frame& frame, TextId text, uint8_t byte);
  State StepNumber(const Frame& frame, TextId text, uint8_t byte);
  State StepConstant(const Frame& frame, TextId text, uint8_t byte);
  State StepName(const Frame& frame, TextId text, uint8_t byte);
  State StepObject(const Frame& frame, TextId text, uint8_t byte);
  State StepArray(const Frame& frame, TextId text, uint8_t byte);
  // The value of this frame has ended; `text` has all of it.
  State EndValue(const Frame& frame, TextId text, const Truths& truths);
  State EndProperty(const Frame& frame, TextId text, const Truths& truths);
  State EndItem(const Frame& frame, TextId text, const Truths& truths);
  // `records`: the bytes of its value are kept, whether those around it are or not.
  State BeginElement(const Frame& around, const Element& element, TextId text, bool may_space,
                     bool records);
  State EndObject(const Frame& frame, TextId text);
  State EndArray(const Frame& frame, TextId text);

  int32_t WatchedStarts(StringDfa& dfa, std::span<const RegexId> languages);
  int32_t StepWatched(StringDfa& dfa, int32_t watched, uint8_t byte);
  Truths WatchedTruths(const StringDfa& dfa, int32_t watched) const;

  // What ends a string, object or array, where it may; and `others` where it may not, or where
  // more is to be known of the value than that its goal is reached.
  ByteSet EndOr(State state, char end, const ByteSet& others, bool is_watched);
  ByteSet NumberBytes(const Frame& frame, TextId text);
  ByteSet NameBytes(State state);
  // Of strings and numbers: what leads on in all of the automata that watch them.
  static ByteSet WatchedBytes(StringDfa& dfa, std::span<const StringDfa::State> watched);
  const NameSpellings& SpellingsOf(int32_t object);

  RegexId NextNames(int32_t object);
  const Element& PropertyOf(int32_t object, NameId name);
  NameKinds& NameKindsOf(int32_t object);
  // A name of which the object says the same: of its value, and of what may come behind that.
  NameId NameLike(int32_t object, const std::string& name);
  NameId NameLike(const Frame& frame, TextId text, std::string_view rest);
  // The text of a name that is spelled so.
  std::string NameSpelled(const std::string& spelling);
  Truths TruthsBehind(const Frame& frame, std::string_view rest);
  const Element& ItemOf(int32_t array);
  bool LooksForEqualItems(const ArrayState& state);
  void SetGoal(Element& element, FormulaId value, FormulaId formula);
  int32_t ObjectStateOf(ObjectState state);
  int32_t ArrayStateOf(ArrayState state);
  FormulaId Decided(FormulaId formula, const Element& element, const Truths& truths);

  TextId Append(TextId text, uint8_t byte);
  int32_t LengthOf(TextId text) const;
  std::string TextFrom(TextId text, int32_t first) const;

  bool AllowsSpace(const Frame& frame, uint8_t byte) const;

  SchemaLogic logic_;
  SchemaSolver solver_;
  JsonMachineOptions options_;
  StringDfa strings_;
  StringDfa numbers_;
  StringDfa names_;
  Interned<Frame> frames_;
  Interned<Goal> goals_;
  Interned<ObjectState> objects_;
  Interned<ArrayState> arrays_;
  Interned<std::vector<StringDfa::State>> watched_;
  Interned<std::pair<FrameId, TextId>> states_;
  Interned<std::pair<TextId, uint8_t>> texts_;  // a text and the byte behind it
  std::vector<int32_t> lengths_;                // of texts
  std::map<std::pair<int32_t, NameId>, Element> properties_;
  std::unordered_map<int32_t, NameKinds> name_kinds_;  // by object
  std::map<int32_t, Element> items_;
  std::map<int32_t, RegexId> next_names_;
  std::map<int32_t, NameSpellings> name_spellings_;  // by object
  std::vector<std::unique_ptr<Row>> rows_;           // steps from states without a text
  size_t row_count_ = 0;                             // that are there
  std::unordered_map<uint64_t, State> steps_;        // from others
  bool is_full_ = false;
  bool has_many_items_ = false;
};

}  // namespace weft
