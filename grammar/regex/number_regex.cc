#include "grammar/regex/number_regex.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr int64_t kMaxBoundDigits = 1000;
constexpr uint64_t kMaxMultipleStates = 20'000;

// Texts of numbers without a sign.
class UnsignedNumbers {
 public:
  explicit UnsignedNumbers(RegexArena* arena) : arena_(*arena) {}

  RegexId Digit(char first = '0', char last = '9') {
    if (first > last) return RegexId::kNothing;
    return arena_.Set(SymbolSet({{static_cast<Symbol>(first), static_cast<Symbol>(last)}}));
  }
  RegexId Digits() { return arena_.Repeat(Digit(), 0); }
  RegexId Zeros() { return arena_.Repeat(Digit('0', '0'), 0); }
  RegexId Join(std::initializer_list<RegexId> parts) {
    return arena_.Concat(std::span(parts.begin(), parts.size()));
  }

  // Without leading zeros.
  RegexId Integer() { return arena_.Or(Digit('0', '0'), Join({Digit('1'), Digits()})); }
  RegexId Fraction() { return arena_.Optional(Join({Point(), Digit(), Digits()})); }
  RegexId NoFraction() { return arena_.Optional(Join({Point(), Digit('0', '0'), Zeros()})); }
  RegexId All() { return Join({Integer(), Fraction()}); }
  RegexId Integers() { return Join({Integer(), NoFraction()}); }
  RegexId Exponent() {
    const RegexId e = arena_.Set(SymbolSet({{'E', 'E'}, {'e', 'e'}}));
    const RegexId sign = arena_.Set(SymbolSet({{'+', '+'}, {'-', '-'}}));
    // No value needs more, and with more there is no end to what a number comes to.
    return arena_.Optional(Join({e, arena_.Optional(sign), arena_.Repeat(Digit(), 1, 3)}));
  }

  struct Bound {
    std::string digits;    // before the point, at least one
    std::string fraction;  // without trailing zeros
  };

  RegexId AtLeast(const Bound& bound) { return arena_.Or(Greater(bound), Equal(bound)); }
  RegexId AtMost(const Bound& bound) { return arena_.Or(Less(bound), Equal(bound)); }

  RegexId Equal(const Bound& bound) {
    if (bound.fraction.empty()) return Join({arena_.Literal(bound.digits), NoFraction()});
    return Join({arena_.Literal(bound.digits + "." + bound.fraction), Zeros()});
  }

  RegexId Greater(const Bound& bound) {
    const auto length = static_cast<uint32_t>(bound.digits.size());
    // From the last digit to the first: a greater digit and any, or the same and what is greater.
    RegexId fraction = Join({Zeros(), Digit('1'), Digits()});
    for (size_t i = bound.fraction.size(); i-- > 0;) {
      const char digit = bound.fraction[i];
      fraction =
          arena_.Or(Join({Digit(Up(digit)), Digits()}), Join({Digit(digit, digit), fraction}));
    }
    RegexId same_length = Join({Point(), fraction});
    for (uint32_t i = length; i-- > 0;) {
      const char digit = bound.digits[i];
      const RegexId others = arena_.Repeat(Digit(), length - i - 1, length - i - 1);
      same_length = arena_.Or(Join({Digit(Up(digit)), others, Fraction()}),
                              Join({Digit(digit, digit), same_length}));
    }
    return arena_.Or(Join({Digit('1'), arena_.Repeat(Digit(), length), Fraction()}), same_length);
  }

  RegexId Less(const Bound& bound) {
    const auto length = static_cast<uint32_t>(bound.digits.size());
    RegexId fraction = RegexId::kNothing;
    for (size_t i = bound.fraction.size(); i-- > 0;) {
      const char digit = bound.fraction[i];
      fraction = arena_.Or(Join({Digit('0', Down(digit)), Digits()}),
                           Join({Digit(digit, digit), fraction}));
      // What ends before the last digit of the bound, which is not 0, is less.
      if (i > 0) fraction = arena_.Or(fraction, RegexId::kEmpty);
    }
    RegexId same_length = Join({Point(), fraction});
    if (!bound.fraction.empty()) same_length = arena_.Optional(same_length);
    for (uint32_t i = length; i-- > 0;) {
      const char digit = bound.digits[i];
      const RegexId others = arena_.Repeat(Digit(), length - i - 1, length - i - 1);
      const char least = i == 0 && length > 1 ? '1' : '0';
      same_length = arena_.Or(Join({Digit(least, Down(digit)), others, Fraction()}),
                              Join({Digit(digit, digit), same_length}));
    }
    if (length == 1) return same_length;
    const RegexId shorter =
        arena_.Or(Digit('0', '0'), Join({Digit('1'), arena_.Repeat(Digit(), 0, length - 2)}));
    return arena_.Or(Join({shorter, Fraction()}), same_length);
  }

 private:
  RegexId Point() { return arena_.Set(SymbolSet({{'.', '.'}})); }
  static char Up(char digit) { return static_cast<char>(digit + 1); }
  static char Down(char digit) { return static_cast<char>(digit - 1); }

  RegexArena& arena_;
};

Result<UnsignedNumbers::Bound> BoundOf(const Decimal& number) {
  const int64_t point = number.PointPosition();
  const auto size = static_cast<int64_t>(number.digits.size());
  if (std::max(point, size) + std::max<int64_t>(0, -point) > kMaxBoundDigits) {
    return Fail(ErrorCode::kUnsupported, "a bound of more than {} digits", kMaxBoundDigits);
  }
  if (point <= 0) {
    const std::string zeros(number.IsZero() ? 0U : static_cast<size_t>(-point), '0');
    return UnsignedNumbers::Bound{"0", zeros + number.digits};
  }
  const std::string padding(static_cast<size_t>(std::max<int64_t>(0, point - size)), '0');
  const std::string all = number.digits + padding;
  return UnsignedNumbers::Bound{all.substr(0, static_cast<size_t>(point)),
                                all.substr(static_cast<size_t>(point))};
}

// Numbers without a sign that are multiples, as an automaton whose states are remainders: of what
// was read, times the power of ten that makes all of it whole.
class MultiplesBuilder {
 public:
  MultiplesBuilder(uint64_t modulus, uint64_t places) : modulus_(modulus), places_(places) {}

  SymbolAutomaton Build() {
    automaton_.states.resize(IndexOf(places_ + 1, 0));
    automaton_.start = kStart;
    SymbolAutomaton::State& start = automaton_.states[kStart];
    AddDigit(&start, 0, kLoneZero);
    for (uint64_t digit = 1; digit < 10; ++digit) {
      AddDigit(&start, digit, IntegerIndex(digit % modulus_));
    }
    // Behind a zero at the beginning no digit comes.
    automaton_.states[kLoneZero].accepts = true;
    AddPoint(&automaton_.states[kLoneZero], 0);
    automaton_.states[kZeros].accepts = true;
    AddDigit(&automaton_.states[kZeros], 0, kZeros);
    for (uint64_t r = 0; r < modulus_; ++r) {
      SymbolAutomaton::State& integer = automaton_.states[IntegerIndex(r)];
      integer.accepts = IsMultiple(r, 0);
      AddPoint(&integer, r);
      for (uint64_t digit = 0; digit < 10; ++digit) {
        AddDigit(&integer, digit, IntegerIndex(Append(r, digit)));
      }
      for (uint64_t place = 0; place <= places_; ++place) AddFraction(place, r);
    }
    return std::move(automaton_);
  }

 private:
  static constexpr uint32_t kStart = 0;
  static constexpr uint32_t kLoneZero = 1;
  static constexpr uint32_t kZeros = 2;  // behind all places that can differ from 0

  uint32_t IntegerIndex(uint64_t r) const { return static_cast<uint32_t>(3 + r); }
  // So many digits behind the point.
  uint32_t IndexOf(uint64_t place, uint64_t r) const {
    return static_cast<uint32_t>(3 + modulus_ * (place + 1) + r);
  }
  uint64_t Append(uint64_t r, uint64_t digit) const { return (r * 10 + digit) % modulus_; }
  bool IsMultiple(uint64_t r, uint64_t place) const {
    for (; place < places_ && r != 0; ++place) r = Append(r, 0);
    return r == 0;
  }
  static void AddDigit(SymbolAutomaton::State* state, uint64_t digit, uint32_t next) {
    const auto symbol = static_cast<Symbol>('0' + digit);
    state->edges.push_back({symbol, symbol, next});
  }
  void AddPoint(SymbolAutomaton::State* state, uint64_t r) const {
    state->edges.insert(state->edges.begin(), {'.', '.', IndexOf(0, r)});
  }
  void AddFraction(uint64_t place, uint64_t r) {
    SymbolAutomaton::State& state = automaton_.states[IndexOf(place, r)];
    state.accepts = place > 0 && IsMultiple(r, place);
    if (place == places_) {
      if (r == 0) AddDigit(&state, 0, kZeros);
      return;
    }
    for (uint64_t digit = 0; digit < 10; ++digit) {
      AddDigit(&state, digit, IndexOf(place + 1, Append(r, digit)));
    }
  }

  uint64_t modulus_;
  uint64_t places_;
  SymbolAutomaton automaton_;
};

Result<RegexId> UnsignedMultiples(RegexArena* arena, const Decimal& number) {
  if (number.IsZero() || number.negative) {
    return Fail(ErrorCode::kInvalidArgument, "multiples of a number that is not above 0");
  }
  const auto places = static_cast<uint64_t>(std::max<int64_t>(0, -number.exponent));
  const auto refuse = [] {
    return Fail(ErrorCode::kUnsupported,
                "multiples of a number for which an automaton needs more than {} states",
                kMaxMultipleStates);
  };
  if (number.digits.size() > 5 || number.exponent > 5 || places > kMaxMultipleStates) {
    return refuse();
  }
  uint64_t modulus = std::stoull(number.digits);
  for (int64_t i = 0; i < number.exponent; ++i) modulus *= 10;
  if (modulus * (places + 2) > kMaxMultipleStates) return refuse();
  return arena->Automaton(MultiplesBuilder(modulus, places).Build());
}

// The values with one sign that a bound leaves, by magnitude: a bound below all of them leaves all.
Result<RegexId> Bounded(UnsignedNumbers* numbers, const Decimal& bound, bool from_below,
                        bool exclusive, bool negative) {
  // To numbers below zero a bound from below is one from above, of the magnitude.
  const bool lower = from_below != negative;
  if (!bound.IsZero() && bound.negative != negative) {
    return lower ? numbers->All() : RegexId::kNothing;
  }
  WEFT_ASSIGN_OR_RETURN(const UnsignedNumbers::Bound magnitude, BoundOf(bound));
  if (lower) return exclusive ? numbers->Greater(magnitude) : numbers->AtLeast(magnitude);
  return exclusive ? numbers->Less(magnitude) : numbers->AtMost(magnitude);
}

Result<RegexId> WithOneSign(RegexArena* arena, const NumberSet& set, RegexId multiples,
                            bool negative) {
  UnsignedNumbers numbers(arena);
  RegexId id = arena->And(multiples, set.integer ? numbers.Integers() : numbers.All());
  if (set.minimum) {
    WEFT_ASSIGN_OR_RETURN(const RegexId bounded,
                          Bounded(&numbers, *set.minimum, true, set.exclusive_minimum, negative));
    id = arena->And(id, bounded);
  }
  if (set.maximum) {
    WEFT_ASSIGN_OR_RETURN(const RegexId bounded,
                          Bounded(&numbers, *set.maximum, false, set.exclusive_maximum, negative));
    id = arena->And(id, bounded);
  }
  return id;
}

}  // namespace

RegexId PlainNumber(RegexArena* arena) {
  return arena->Concat(arena->Optional(arena->Literal("-")), UnsignedNumbers(arena).All());
}

RegexId AnyNumber(RegexArena* arena) {
  return arena->Concat(PlainNumber(arena), UnsignedNumbers(arena).Exponent());
}

Result<RegexId> NumberRegex(RegexArena* arena, const NumberSet& set) {
  RegexId multiples = UnsignedNumbers(arena).All();
  if (set.multiple_of) {
    WEFT_ASSIGN_OR_RETURN(multiples, UnsignedMultiples(arena, *set.multiple_of));
  }
  WEFT_ASSIGN_OR_RETURN(const RegexId positive, WithOneSign(arena, set, multiples, false));
  WEFT_ASSIGN_OR_RETURN(const RegexId negative, WithOneSign(arena, set, multiples, true));
  const RegexId either = arena->Or(positive, arena->Concat(arena->Literal("-"), negative));
  WEFT_RETURN_IF_ERROR(arena->status());
  return either;
}

std::optional<RegexId> SignedNumberRegex(RegexArena* arena, const NumberSet& set) {
  const auto far = [](const std::optional<Decimal>& bound) { return bound && !bound->IsZero(); };
  if (set.integer || set.multiple_of || far(set.minimum) || far(set.maximum)) return std::nullopt;
  const Result<RegexId> plain = NumberRegex(arena, set);
  if (!plain) return std::nullopt;
  // An exponent changes no sign and makes no zero of what is none.
  return arena->Concat(*plain, UnsignedNumbers(arena).Exponent());
}

}  // namespace weft
