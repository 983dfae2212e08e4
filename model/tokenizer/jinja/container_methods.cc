// The methods of lists, tuples, dicts and numbers. Jinja's immutable sandbox hides those that
// change what they belong to.
#include <algorithm>
#include <cmath>

#include "model/tokenizer/jinja/methods.h"
#include "model/tokenizer/jinja/operators.h"

namespace weft::jinja {
namespace {

Result<Value> CopyMethod(Runtime&, const Value& self, const BoundArguments&) { return self; }

Result<Value> CountItem(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  int64_t count = 0;
  for (const Value& item : self.items()) {
    if (Equals(runtime, item, arguments[0])) ++count;
  }
  return Value::Int(count);
}

// range.count() and range.index()
template <bool kIndex>
Result<Value> RangeFind(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, self));
  for (size_t i = 0; i < items.size(); ++i) {
    if (!Equals(runtime, items[i], arguments[0])) continue;
    return Value::Int(kIndex ? static_cast<int64_t>(i) : 1);
  }
  if (kIndex) return Fault("index: the value is not in the range");
  return Value::Int(0);
}

Result<Value> IndexOfItem(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  const auto count = static_cast<int64_t>(self.items().size());
  int64_t bounds[2] = {0, count};
  for (size_t i = 0; i < 2; ++i) {
    if (!arguments.has(i + 1)) continue;
    WEFT_ASSIGN_OR_RETURN(bounds[i], ToIndex(arguments[i + 1], "index"));
    if (bounds[i] < 0) bounds[i] = bounds[i] < -count ? 0 : bounds[i] + count;
    bounds[i] = std::min(bounds[i], count);
  }
  for (int64_t i = bounds[0]; i < bounds[1]; ++i) {
    if (Equals(runtime, self.items()[static_cast<size_t>(i)], arguments[0])) return Value::Int(i);
  }
  return Fault("index: the value is not in the {}", TypeName(self));
}

Result<Value> DictGet(Runtime&, const Value& self, const BoundArguments& arguments) {
  if (!IsHashable(arguments[0])) return Fault("unhashable type: '{}'", TypeName(arguments[0]));
  if (const Value* found = self.dict().Find(arguments[0])) return *found;
  return arguments.has(1) ? arguments[1] : Value::None();
}

template <DictViewObject::Part kPart>
Result<Value> DictView(Runtime& runtime, const Value& self, const BoundArguments&) {
  return Value(Kind::kDictView, std::make_shared<DictViewObject>(&runtime.budget(), self, kPart));
}

Result<Value> IsInteger(Runtime&, const Value& self, const BoundArguments&) {
  return Value::Bool(std::isfinite(self.as_float()) &&
                     std::trunc(self.as_float()) == self.as_float());
}

Result<Value> BitLength(Runtime&, const Value& self, const BoundArguments&) {
  const int64_t value = self.as_int();
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int64_t bits = 0;
  for (; magnitude != 0; magnitude >>= 1) ++bits;
  return Value::Int(bits);
}

constexpr Builtin kListMethods[] = {
    {"copy", CopyMethod},
    {"count", CountItem, "value", 1, false},
    {"index", IndexOfItem, "value start stop", 1, false},
};
constexpr Builtin kTupleMethods[] = {
    {"count", CountItem, "value", 1, false},
    {"index", IndexOfItem, "value start stop", 1, false},
};
constexpr Builtin kDictMethods[] = {
    {"copy", CopyMethod},
    {"get", DictGet, "key default", 1, false},
    {"items", DictView<DictViewObject::Part::kItems>},
    {"keys", DictView<DictViewObject::Part::kKeys>},
    {"values", DictView<DictViewObject::Part::kValues>},
};
constexpr Builtin kRangeMethods[] = {
    {"count", RangeFind<false>, "value", 1, false},
    {"index", RangeFind<true>, "value", 1, false},
};
constexpr Builtin kFloatMethods[] = {{"is_integer", IsInteger}};
constexpr Builtin kIntMethods[] = {{"bit_length", BitLength}};

constexpr std::string_view kForbiddenListMethods[] = {"append", "clear",  "extend",  "insert",
                                                      "pop",    "remove", "reverse", "sort"};
constexpr std::string_view kForbiddenDictMethods[] = {"clear", "pop", "popitem", "setdefault",
                                                      "update"};

template <size_t kCount>
const Builtin* FindIn(const Builtin (&methods)[kCount], std::string_view name) {
  for (const Builtin& method : methods) {
    if (method.name == name) return &method;
  }
  return nullptr;
}

}  // namespace

const Builtin* FindMethod(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kString:
      return FindStringMethod(name);
    case Kind::kList:
      return FindIn(kListMethods, name);
    case Kind::kTuple:
      return FindIn(kTupleMethods, name);
    case Kind::kDict:
      return FindIn(kDictMethods, name);
    case Kind::kRange:
      return FindIn(kRangeMethods, name);
    case Kind::kFloat:
      return FindIn(kFloatMethods, name);
    case Kind::kInt:
    case Kind::kBool:
      return FindIn(kIntMethods, name);
    default:
      return nullptr;
  }
}

bool IsForbiddenMethod(Kind kind, std::string_view name) {
  const auto among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (kind == Kind::kList) return among(kForbiddenListMethods);
  if (kind == Kind::kDict) return among(kForbiddenDictMethods);
  return false;
}

}  // namespace weft::jinja
