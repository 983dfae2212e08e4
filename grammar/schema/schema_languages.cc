// Strings and numbers that a value formula allows.
#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "grammar/regex/decimal.h"
#include "grammar/regex/formats.h"
#include "grammar/regex/number_regex.h"
#include "grammar/regex/pattern.h"
#include "grammar/schema/schema_logic.h"

namespace weft {
namespace {

// Of regular languages within `universe` what a formula makes of them; `language` says what an atom
// stands for, nullopt: that cannot be said.
class LanguageOfFormula {
 public:
  using OfSchema = std::function<std::optional<RegexId>(SchemaId)>;
  using OfConstants = std::function<std::optional<RegexId>(std::span<const ConstantId>)>;

  LanguageOfFormula(FormulaStore& formulas, RegexArena& regexes, RegexId universe,
                    OfSchema of_schema, OfConstants of_constants)
      : formulas_(formulas),
        regexes_(regexes),
        universe_(universe),
        of_schema_(std::move(of_schema)),
        of_constants_(std::move(of_constants)) {}

  std::optional<RegexId> Of(FormulaId f) {
    const auto known = known_.find(f);
    if (known != known_.end()) return known->second;
    const std::optional<RegexId> language = Find(f);
    known_.emplace(f, language);
    return language;
  }

 private:
  std::optional<RegexId> Find(FormulaId f) {
    switch (formulas_.kind(f)) {
      case FormulaKind::kFalse:
        return RegexArena::Nothing();
      case FormulaKind::kTrue:
        return universe_;
      case FormulaKind::kAtom: {
        const Atom atom = formulas_.atom(f);
        if (atom.kind == AtomKind::kSchema) return of_schema_(atom.subject);
        const auto constant = static_cast<ConstantId>(atom.subject);
        return of_constants_(std::span(&constant, 1));
      }
      default:
        return OfParts(f);
    }
  }

  RegexId Complement(RegexId id) { return regexes_.And(universe_, regexes_.Not(id)); }

  std::optional<RegexId> OfParts(FormulaId f) {
    std::vector<RegexId> parts;
    std::vector<ConstantId> constants;  // one of which it is, or of which it is none
    const FormulaKind kind = formulas_.kind(f);
    for (const FormulaId part : formulas_.PartsOf(f)) {
      const std::optional<ConstantId> constant = ConstantIn(part, kind);
      if (constant) {
        constants.push_back(*constant);
        continue;
      }
      const std::optional<RegexId> language = Of(part);
      if (!language) return std::nullopt;
      parts.push_back(*language);
    }
    if (!constants.empty()) {
      const std::optional<RegexId> language = of_constants_(constants);
      if (!language) return std::nullopt;
      parts.push_back(kind == FormulaKind::kOr ? *language : Complement(*language));
    }
    switch (kind) {
      case FormulaKind::kNot:
        return Complement(parts[0]);
      case FormulaKind::kAnd:
        return regexes_.And(parts);
      case FormulaKind::kOr:
        return regexes_.Or(parts);
      default:
        return OneOf(parts);
    }
  }

  // Constants in an Or, and such that are refused in an And: many make one language.
  std::optional<ConstantId> ConstantIn(FormulaId part, FormulaKind whole) const {
    const bool is_refused = formulas_.kind(part) == FormulaKind::kNot;
    if (whole != (is_refused ? FormulaKind::kAnd : FormulaKind::kOr)) return std::nullopt;
    const FormulaId inner = is_refused ? formulas_.parts(part)[0] : part;
    if (formulas_.kind(inner) != FormulaKind::kAtom) return std::nullopt;
    const Atom& atom = formulas_.atom(inner);
    if (atom.kind != AtomKind::kEquals) return std::nullopt;
    return static_cast<ConstantId>(atom.subject);
  }

  RegexId OneOf(const std::vector<RegexId>& parts) {
    RegexId one = RegexArena::Nothing();
    RegexId some = RegexArena::Nothing();  // of those so far
    for (const RegexId part : parts) {
      one = regexes_.Or(regexes_.And(one, Complement(part)), regexes_.And(part, Complement(some)));
      some = regexes_.Or(some, part);
    }
    return one;
  }

  FormulaStore& formulas_;
  RegexArena& regexes_;
  RegexId universe_;
  OfSchema of_schema_;
  OfConstants of_constants_;
  std::unordered_map<FormulaId, std::optional<RegexId>> known_;
};

}  // namespace

RegexId SchemaLogic::Strings(FormulaId value) {
  const auto found = strings_.find(value);
  if (found != strings_.end()) return found->second;
  const Level level(*this);
  if (level.is_too_deep()) return RegexArena::Nothing();
  LanguageOfFormula language(
      formulas_, regexes_, regexes_.AnyText(), [this](SchemaId id) { return StringsOf(node(id)); },
      [this](std::span<const ConstantId> constants) { return StringsLike(constants); });
  const RegexId strings = language.Of(value).value();
  strings_.emplace(value, strings);
  return strings;
}

RegexId SchemaLogic::StringsLike(std::span<const ConstantId> constants) {
  std::vector<std::string> words;
  for (const ConstantId id : constants) {
    if (constants_[id].kind == ValueKind::kString) words.push_back(constants_[id].text);
  }
  return regexes_.Words(words);
}

RegexId SchemaLogic::StringsOf(const SchemaNode& node) {
  if (!AllowsKind(node, ValueKind::kString)) return RegexArena::Nothing();
  if (node.boolean_schema) return regexes_.AnyText();
  std::vector<RegexId> parts;
  if (node.enum_values) {
    std::vector<std::string> words;
    for (const nlohmann::ordered_json& value : *node.enum_values) {
      if (value.is_string()) words.push_back(value.get<std::string>());
    }
    parts.push_back(regexes_.Words(words));
  }
  if (node.const_value) {
    parts.push_back(node.const_value->is_string()
                        ? regexes_.Literal(node.const_value->get_ref<const std::string&>())
                        : RegexArena::Nothing());
  }
  if (node.min_length || node.max_length) {
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max() - 1;
    std::optional<uint32_t> most;
    if (node.max_length && *node.max_length < kMost) most = *node.max_length;
    const auto least = static_cast<uint32_t>(std::min(node.min_length.value_or(0), kMost));
    parts.push_back(most && *most < least
                        ? RegexArena::Nothing()
                        : regexes_.Repeat(regexes_.Set(SymbolSet::AllCodePoints()), least, most));
  }
  if (node.pattern) parts.push_back(patterns_.at(*node.pattern));
  if (node.format && !IsAnnotationFormat(*node.format)) parts.push_back(formats_.at(*node.format));
  parts.push_back(Strings(InPlace(node)));
  return regexes_.And(parts);
}

RegexId SchemaLogic::Numbers(FormulaId value) { return Numbers(std::span(&value, 1))[0]; }

std::vector<RegexId> SchemaLogic::Numbers(std::span<const FormulaId> values) {
  std::vector<RegexId> languages;
  for (const NumberForm form : {NumberForm::kWithExponent, NumberForm::kPlain}) {
    languages.clear();
    for (const FormulaId value : values) {
      const std::optional<RegexId> numbers = NumbersIn(value, form);
      if (!numbers) break;
      languages.push_back(*numbers);
    }
    if (languages.size() == values.size()) return languages;
  }
  if (regexes_.status()) Fail("a number is too long to be written without an exponent");
  languages.assign(values.size(), RegexArena::Nothing());
  return languages;
}

RegexId SchemaLogic::PlainIntegers(RegexId numbers) {
  const auto pattern = [&](std::string_view text) {
    return ParsePattern(&regexes_, text, PatternDialect::kRe2).value_or(RegexArena::Nothing());
  };
  const RegexId others = pattern("[^.eE]*([eE].*|\\.[0-9]*[1-9eE].*)");
  if (!regexes_.IsEmpty(regexes_.And(numbers, others))) return numbers;
  return regexes_.And(numbers, pattern("0|-?[1-9][0-9]*"));
}

std::optional<RegexId> SchemaLogic::NumbersIn(FormulaId value, NumberForm form) {
  auto& known = numbers_in_[static_cast<size_t>(form)];
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  const Level level(*this);
  if (level.is_too_deep()) return RegexArena::Nothing();
  const RegexId universe =
      form == NumberForm::kPlain ? PlainNumber(&regexes_) : AnyNumber(&regexes_);
  LanguageOfFormula language(
      formulas_, regexes_, universe, [&](SchemaId id) { return NumbersOf(node(id), form); },
      [&](std::span<const ConstantId> constants) { return NumbersLike(constants, form); });
  const std::optional<RegexId> numbers = language.Of(value);
  known.emplace(value, numbers);
  return numbers;
}

std::optional<RegexId> SchemaLogic::NumbersOf(const SchemaNode& node, NumberForm form) {
  if (!AllowsKind(node, ValueKind::kNumber)) return RegexArena::Nothing();
  const NumberSet set = NumberSetOf(node);
  std::vector<RegexId> parts;
  if (form == NumberForm::kWithExponent) {
    const std::optional<RegexId> of_set = SignedNumberRegex(&regexes_, set);
    if (!of_set) return std::nullopt;
    parts.push_back(*of_set);
  } else {
    const Result<RegexId> of_set = NumberRegex(&regexes_, set);
    if (!of_set) return std::nullopt;  // CheckTexts has seen to it
    parts.push_back(*of_set);
  }
  if (set.integer && !node.types->Has(JsonType::kInteger)) {
    parts.push_back(ParsePattern(&regexes_, "-?(0|[1-9][0-9]*)", PatternDialect::kRe2)
                        .value_or(RegexArena::Nothing()));
  }
  for (const FormulaId value : {OneOfValues(node, ValueKind::kNumber), InPlace(node)}) {
    const std::optional<RegexId> numbers = NumbersIn(value, form);
    if (!numbers) return std::nullopt;
    parts.push_back(*numbers);
  }
  return regexes_.And(parts);
}

std::optional<RegexId> SchemaLogic::NumbersLike(std::span<const ConstantId> constants,
                                                NumberForm form) {
  constexpr int64_t kMostDigits = 2000;
  std::vector<std::string> integers;
  std::vector<std::string> fractions;
  for (const ConstantId id : constants) {
    if (constants_[id].kind != ValueKind::kNumber) continue;
    if (form == NumberForm::kWithExponent) return std::nullopt;
    const Decimal number = ParseDecimal(constants_[id].text).value();
    if (std::abs(number.exponent) > kMostDigits) return std::nullopt;
    const std::string sign = number.negative ? "-" : "";
    if (number.IsZero()) {
      integers.insert(integers.end(), {"0", "-0"});
    } else if (number.IsInteger()) {
      integers.push_back(sign + number.digits +
                         std::string(static_cast<size_t>(number.exponent), '0'));
    } else {
      const int64_t zeros = std::max<int64_t>(0, 1 - number.PointPosition());
      std::string digits = std::string(static_cast<size_t>(zeros), '0') + number.digits;
      digits.insert(digits.size() - static_cast<size_t>(-number.exponent), 1, '.');
      fractions.push_back(sign + digits);
    }
  }
  const RegexId zero = regexes_.Literal("0");
  const RegexId no_fraction = regexes_.Concat(regexes_.Literal("."), regexes_.Repeat(zero, 1));
  return regexes_.Or(regexes_.Concat(regexes_.Words(integers), regexes_.Optional(no_fraction)),
                     regexes_.Concat(regexes_.Words(fractions), regexes_.Repeat(zero, 0)));
}

NumberSet SchemaLogic::NumberSetOf(const SchemaNode& node) {
  NumberSet set;
  set.integer = node.types && !node.types->Has(JsonType::kNumber);
  const auto read = [](const std::optional<std::string>& text) -> std::optional<Decimal> {
    if (!text) return std::nullopt;
    const Result<Decimal> decimal = ParseDecimal(*text);
    return decimal ? std::optional(*decimal) : std::nullopt;
  };
  set.minimum = read(node.minimum);
  const std::optional<Decimal> above = read(node.exclusive_minimum);
  if (above && (!set.minimum || *above >= *set.minimum)) {
    set.minimum = above;
    set.exclusive_minimum = true;
  }
  set.maximum = read(node.maximum);
  const std::optional<Decimal> below = read(node.exclusive_maximum);
  if (below && (!set.maximum || *below <= *set.maximum)) {
    set.maximum = below;
    set.exclusive_maximum = true;
  }
  set.multiple_of = read(node.multiple_of);
  return set;
}

}  // namespace weft
