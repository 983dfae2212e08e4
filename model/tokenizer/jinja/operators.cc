#include "model/tokenizer/jinja/operators.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/quoted.h"
#include "model/tokenizer/jinja/builtins.h"

namespace weft::jinja {
namespace {

bool EqualNumbers(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.as_int() == b.as_int();
  // A long double holds every int64 and every double.
  const auto wide = [](const Value& v) {
    return v.is_integer() ? static_cast<long double>(v.as_int())
                          : static_cast<long double>(v.as_float());
  };
  return wide(a) == wide(b);
}

bool EqualItems(Runtime& runtime, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Equals(runtime, a[i], b[i])) return false;
  }
  return true;
}

bool EqualDicts(Runtime& runtime, const DictObject& a, const DictObject& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.Find(key);
    if (other == nullptr || !Equals(runtime, value, *other)) return false;
  }
  return true;
}

bool Holds(Comparison comparison, int order) {
  switch (comparison) {
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    case Comparison::kGreaterEqual:
      return order >= 0;
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
  }
  return false;
}

bool HoldsForNumbers(Comparison comparison, const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) {
    return Holds(comparison, a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0);
  }
  const auto wide = [](const Value& v) {
    return v.is_integer() ? static_cast<long double>(v.as_int())
                          : static_cast<long double>(v.as_float());
  };
  const long double x = wide(a);
  const long double y = wide(b);
  if (std::isnan(x) || std::isnan(y)) return false;
  return Holds(comparison, x < y ? -1 : x > y ? 1 : 0);
}

constexpr std::string_view kComparisonSymbols[] = {"==", "!=", "<", "<=", ">", ">="};

Result<bool> ContainsString(const Value& container, const Value& item) {
  if (!item.is_string()) {
    return Fault("'in <string>' requires string as left operand, not {}", TypeName(item));
  }
  return container.text().find(item.text()) != std::string_view::npos;
}

bool RangeContains(const RangeObject& range, const Value& item) {
  if (!item.is_number() || range.count == 0) return false;
  const double number = item.as_float();
  const auto whole = static_cast<int64_t>(number);
  if (static_cast<double>(whole) != number) return false;
  const int64_t value = item.is_integer() ? item.as_int() : whole;
  const int64_t last = range.start + (range.count - 1) * range.step;
  const bool inside = range.step > 0 ? value >= range.start && value <= last
                                     : value <= range.start && value >= last;
  return inside && (value - range.start) % range.step == 0;
}

}  // namespace

tl::unexpected<Error> UndefinedFault(const Value& undefined) {
  return Fault("{}", undefined.undefined().message);
}

Result<int64_t> ToIndex(const Value& value, std::string_view wanted_for) {
  if (value.is(Kind::kUndefined)) return UndefinedFault(value);
  if (!value.is_integer()) {
    return Fault("{}: expected an integer, found '{}'", wanted_for, TypeName(value));
  }
  return value.as_int();
}

bool Truth(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_float() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.items().empty();
    case Kind::kDict:
      return !value.dict().entries.empty();
    case Kind::kDictView:
      return Truth(value.view().dict);
    case Kind::kRange:
      return value.range().count != 0;
    case Kind::kBigInt:
    case Kind::kIterator:
    case Kind::kNamespace:
    case Kind::kCallable:
      return true;
  }
  return false;
}

bool Equals(Runtime& runtime, const Value& a, const Value& b) {
  if (!runtime.Spend(1)) return false;
  if (a.is_number() && b.is_number()) return EqualNumbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return true;
    case Kind::kBigInt:
      return a.as_big_int() == b.as_big_int();
    case Kind::kString:
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
      return a.object() == b.object() || EqualItems(runtime, a.items(), b.items());
    case Kind::kDict:
      return a.object() == b.object() || EqualDicts(runtime, a.dict(), b.dict());
    case Kind::kRange:
      return a.range().count == b.range().count &&
             (a.range().count == 0 || (a.range().start == b.range().start &&
                                       (a.range().count == 1 || a.range().step == b.range().step)));
    case Kind::kDictView:
      return a.object() == b.object() ||
             (a.view().part == b.view().part && a.view().part != DictViewObject::Part::kValues &&
              Equals(runtime, a.view().dict, b.view().dict));
    default:
      return a.object() == b.object();
  }
}

Result<bool> Compare(Runtime& runtime, Comparison comparison, const Value& a, const Value& b) {
  if (comparison == Comparison::kEqual || comparison == Comparison::kNotEqual) {
    return Equals(runtime, a, b) == (comparison == Comparison::kEqual);
  }
  if (a.is_number() && b.is_number()) return HoldsForNumbers(comparison, a, b);
  if (a.is(Kind::kUndefined)) return UndefinedFault(a);
  if (b.is(Kind::kUndefined)) return UndefinedFault(b);
  if (a.is_string() && b.is_string()) return Holds(comparison, a.text().compare(b.text()));
  if (a.is_sequence() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!Equals(runtime, x[i], y[i])) return Compare(runtime, comparison, x[i], y[i]);
    }
    return Holds(comparison, x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0);
  }
  return Fault("'{}' not supported between instances of '{}' and '{}'",
               kComparisonSymbols[static_cast<int>(comparison)], TypeName(a), TypeName(b));
}

Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString:
      if (item.is(Kind::kUndefined)) return UndefinedFault(item);
      if (!runtime.SpendBytes(container.text().size())) return runtime.Exceeded();
      return ContainsString(container, item);
    case Kind::kDict:
      if (!IsHashable(item)) return Fault("unhashable type: '{}'", TypeName(item));
      return container.dict().Find(item) != nullptr;
    case Kind::kRange:
      return RangeContains(container.range(), item);
    case Kind::kDictView:
      if (container.view().part == DictViewObject::Part::kKeys) {
        return Contains(runtime, container.view().dict, item);
      }
      break;
    default:
      break;
  }
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(container));
  while (true) {
    if (!runtime.Spend(1)) return runtime.Exceeded();
    WEFT_ASSIGN_OR_RETURN(const Value next, cursor.Next(runtime));
    if (next.is(Kind::kMissing)) return false;
    if (Equals(runtime, next, item)) return true;
  }
}

Result<int64_t> Length(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return value.string().character_count;
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<int64_t>(value.items().size());
    case Kind::kDict:
      return static_cast<int64_t>(value.dict().entries.size());
    case Kind::kDictView:
      return Length(value.view().dict);
    case Kind::kRange:
      return value.range().count;
    default:
      return Fault("object of type '{}' has no len()", TypeName(value));
  }
}

bool IsIterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
      return true;
    default:
      return false;
  }
}

Result<Cursor> Cursor::Over(const Value& iterable) {
  if (!IsIterable(iterable)) return Fault("'{}' object is not iterable", TypeName(iterable));
  return Cursor(iterable);
}

Result<Value> Cursor::Next(Runtime& runtime) {
  const auto index = static_cast<size_t>(position_);
  switch (iterable_.kind()) {
    case Kind::kList:
    case Kind::kTuple:
      if (index >= iterable_.items().size()) return Value();
      ++position_;
      return iterable_.items()[index];
    case Kind::kString: {
      const std::string_view text = iterable_.text();
      if (index >= text.size()) return Value();
      size_t end = index + 1;
      while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
      position_ = static_cast<int64_t>(end);
      return runtime.NewString(std::string(text.substr(index, end - index)));
    }
    case Kind::kDict: {
      const auto& entries = iterable_.dict().entries;
      if (index >= entries.size()) return Value();
      ++position_;
      return entries[index].first;
    }
    case Kind::kDictView: {
      const auto& entries = iterable_.view().dict.dict().entries;
      if (index >= entries.size()) return Value();
      ++position_;
      const auto& [key, value] = entries[index];
      if (iterable_.view().part == DictViewObject::Part::kKeys) return key;
      if (iterable_.view().part == DictViewObject::Part::kValues) return value;
      return runtime.NewTuple({key, value});
    }
    case Kind::kRange: {
      const RangeObject& range = iterable_.range();
      if (position_ >= range.count) return Value();
      return Value::Int(range.start + range.step * position_++);
    }
    case Kind::kIterator: {
      const DepthGuard guard(runtime);
      if (!guard.ok() || !runtime.Spend(1)) return runtime.Exceeded();
      return iterable_.iterator().Next(runtime);
    }
    default:
      return Value();
  }
}

std::optional<int64_t> Cursor::Count() const {
  if (iterable_.is(Kind::kIterator)) return std::nullopt;
  const auto length = Length(iterable_);
  return length ? std::optional(*length) : std::nullopt;
}

Result<std::vector<Value>> Collect(Runtime& runtime, const Value& iterable) {
  if (iterable.is_sequence()) {
    if (!runtime.Spend(static_cast<int64_t>(iterable.items().size())) ||
        !runtime.budget().FitsItems(iterable.items().size())) {
      return runtime.Exceeded();
    }
    return iterable.items();
  }
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(iterable));
  std::vector<Value> items;
  while (true) {
    if (!runtime.Spend(1) || !runtime.budget().FitsItems(items.size())) return runtime.Exceeded();
    WEFT_ASSIGN_OR_RETURN(Value next, cursor.Next(runtime));
    if (next.is(Kind::kMissing)) return items;
    items.push_back(std::move(next));
  }
}

}  // namespace weft::jinja
