// Filters over lists and dicts that answer at once.
#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/quoted.h"
#include "model/tokenizer/jinja/filters.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {

bool ArgumentTruth(const BoundArguments& arguments, size_t i) {
  return arguments.has(i) && Truth(arguments[i]);
}

namespace {

Value ArgumentOrNone(const BoundArguments& arguments, size_t i) {
  return arguments.has(i) ? arguments[i] : Value::None();
}

Result<Value> LowerIfText(Runtime& runtime, Value value) {
  if (!value.is_string()) return value;
  if (!runtime.SpendBytes(value.text().size())) return runtime.Exceeded();
  return runtime.NewString(ToLower(value.text()));
}

bool IsAllDigits(std::string_view text) {
  bool all = !text.empty();
  ForEachCharacter(text, [&](char32_t c, std::string_view) { all = all && IsDigit(c); });
  return all;
}

// The extreme by `better`.
Result<Value> Extreme(Runtime& runtime, const Value& self, const BoundArguments& arguments,
                      Comparison better) {
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(self));
  WEFT_ASSIGN_OR_RETURN(
      const AttributeGetter getter,
      AttributeGetter::Make(runtime, ArgumentOrNone(arguments, 1), !ArgumentTruth(arguments, 0)));
  Value best;
  Value best_key;
  while (true) {
    if (!runtime.Spend(1)) return runtime.Exceeded();
    WEFT_ASSIGN_OR_RETURN(Value item, cursor.Next(runtime));
    if (item.is(Kind::kMissing)) break;
    WEFT_ASSIGN_OR_RETURN(Value key, getter.Get(runtime, item));
    if (!best.is(Kind::kMissing)) {
      WEFT_ASSIGN_OR_RETURN(const bool is_better, Compare(runtime, better, key, best_key));
      if (!is_better) continue;
    }
    best = std::move(item);
    best_key = std::move(key);
  }
  if (best.is(Kind::kMissing)) return MakeUndefined("No aggregated item, sequence was empty.");
  return best;
}

}  // namespace

Result<AttributeGetter> AttributeGetter::Make(Runtime& runtime, const Value& attribute,
                                              bool fold_case, Value fallback) {
  AttributeGetter getter;
  getter.fold_case_ = fold_case;
  getter.fallback_ = std::move(fallback);
  if (attribute.is(Kind::kNone)) return getter;
  if (!attribute.is_string()) {
    getter.parts_.push_back(attribute);
    return getter;
  }
  for (const std::string_view part : Split(attribute.text(), ".", -1)) {
    int64_t index = 0;
    if (IsAllDigits(part)) {
      const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
      if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size()) {
        return Fault("attribute {} is not a number of 64 bits", Quoted(part));
      }
      getter.parts_.push_back(Value::Int(index));
    } else {
      getter.parts_.push_back(runtime.NewString(std::string(part)));
    }
  }
  return getter;
}

Result<Value> AttributeGetter::Get(Runtime& runtime, const Value& item) const {
  Value value = item;
  for (const Value& part : parts_) {
    WEFT_ASSIGN_OR_RETURN(value, GetItem(runtime, value, part));
    if (value.is(Kind::kUndefined) && !fallback_.is(Kind::kMissing)) value = fallback_;
  }
  if (fold_case_) return LowerIfText(runtime, std::move(value));
  return value;
}

Result<MultiAttributeGetter> MultiAttributeGetter::Make(Runtime& runtime, const Value& attribute,
                                                        bool fold_case) {
  MultiAttributeGetter result;
  if (!attribute.is_string()) {
    WEFT_ASSIGN_OR_RETURN(AttributeGetter getter,
                          AttributeGetter::Make(runtime, attribute, fold_case));
    result.getters_.push_back(std::move(getter));
    return result;
  }
  for (const std::string_view part : Split(attribute.text(), ",", -1)) {
    WEFT_ASSIGN_OR_RETURN(
        AttributeGetter getter,
        AttributeGetter::Make(runtime, runtime.NewString(std::string(part)), fold_case));
    result.getters_.push_back(std::move(getter));
  }
  return result;
}

Result<Value> MultiAttributeGetter::Get(Runtime& runtime, const Value& item) const {
  std::vector<Value> values;
  for (const AttributeGetter& getter : getters_) {
    WEFT_ASSIGN_OR_RETURN(Value value, getter.Get(runtime, item));
    values.push_back(std::move(value));
  }
  return runtime.NewList(std::move(values));
}

Result<std::vector<size_t>> SortedOrder(Runtime& runtime, const std::vector<Value>& keys,
                                        bool descending) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  Result<void> status;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!status) return false;
    if (!runtime.Spend(1)) {
      status = runtime.Exceeded();
      return false;
    }
    if (descending) std::swap(a, b);
    const auto less = Compare(runtime, Comparison::kLess, keys[a], keys[b]);
    if (!less) status = tl::unexpected(less.error());
    return less && *less;
  });
  if (!status) return tl::unexpected(std::move(status).error());
  return order;
}

Result<Value> FilterAttr(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  if (!arguments[0].is_string()) return Fault("attr: expected the name as a string");
  if (self.is(Kind::kDict)) {
    // Attributes only, not items.
    const Builtin* method = FindMethod(Kind::kDict, arguments[0].text());
    if (method != nullptr) return BindMethod(runtime, *method, self);
    return MakeUndefined(
        fmt::format("'dict object' has no attribute {}", Quoted(arguments[0].text())));
  }
  return GetAttribute(runtime, self, arguments[0]);
}

Result<Value> FilterDefault(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  const bool replace = self.is(Kind::kUndefined) || (ArgumentTruth(arguments, 1) && !Truth(self));
  if (!replace) return self;
  return arguments.has(0) ? arguments[0] : runtime.empty_string();
}

Result<Value> FilterDictSort(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  const bool case_sensitive = ArgumentTruth(arguments, 0);
  bool by_value = false;
  if (arguments.has(1)) {
    const Value& by = arguments[1];
    by_value = by.is_string() && by.text() == "value";
    if (!by_value && (!by.is_string() || by.text() != "key")) {
      return Fault("dictsort: can sort by \"key\" or \"value\" only");
    }
  }
  if (self.is(Kind::kUndefined)) return UndefinedFault(self);
  if (!self.is(Kind::kDict)) return Fault("dictsort: expected a dict, not '{}'", TypeName(self));
  const auto& entries = self.dict().entries;
  std::vector<Value> keys;
  for (const auto& [key, value] : entries) {
    Value sort_key = by_value ? value : key;
    if (!case_sensitive) {
      WEFT_ASSIGN_OR_RETURN(sort_key, LowerIfText(runtime, std::move(sort_key)));
    }
    keys.push_back(std::move(sort_key));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<size_t> order,
                        SortedOrder(runtime, keys, ArgumentTruth(arguments, 2)));
  std::vector<Value> items;
  for (const size_t i : order) {
    items.push_back(runtime.NewTuple({entries[i].first, entries[i].second}));
  }
  return runtime.NewList(std::move(items));
}

Result<Value> FilterFirst(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(self));
  WEFT_ASSIGN_OR_RETURN(Value first, cursor.Next(runtime));
  if (first.is(Kind::kMissing)) return MakeUndefined("No first item, sequence was empty.");
  return first;
}

Result<Value> FilterLast(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (self.is(Kind::kIterator)) return Fault("'generator' object is not reversible");
  WEFT_ASSIGN_OR_RETURN(const int64_t count, Length(self));
  if (count == 0) return MakeUndefined("No last item, sequence was empty.");
  if (!self.is(Kind::kDict) && !self.is(Kind::kDictView)) {
    return GetItem(runtime, self, Value::Int(count - 1));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, self));
  return items.back();
}

Result<Value> FilterGroupBy(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  const Value fallback = arguments.has(1) && !arguments[1].is(Kind::kNone) ? arguments[1] : Value();
  const bool case_sensitive = ArgumentTruth(arguments, 2);
  WEFT_ASSIGN_OR_RETURN(const AttributeGetter getter,
                        AttributeGetter::Make(runtime, arguments[0], !case_sensitive, fallback));
  WEFT_ASSIGN_OR_RETURN(const AttributeGetter shown,
                        AttributeGetter::Make(runtime, arguments[0], false, fallback));
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, self));
  std::vector<Value> keys;
  for (const Value& item : items) {
    WEFT_ASSIGN_OR_RETURN(Value key, getter.Get(runtime, item));
    keys.push_back(std::move(key));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<size_t> order, SortedOrder(runtime, keys, false));
  std::vector<Value> groups;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::vector<Value> members;
    for (end = begin; end < order.size(); ++end) {
      if (!Equals(runtime, keys[order[begin]], keys[order[end]])) break;
      members.push_back(items[order[end]]);
    }
    if (members.empty()) return runtime.Exceeded();
    WEFT_ASSIGN_OR_RETURN(Value grouper, shown.Get(runtime, members.front()));
    groups.push_back(runtime.NewGroup(std::move(grouper), runtime.NewList(std::move(members))));
  }
  return runtime.NewList(std::move(groups));
}

Result<Value> FilterJoin(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  std::string separator;
  if (arguments.has(0)) {
    WEFT_ASSIGN_OR_RETURN(separator, Str(runtime, arguments[0]));
  }
  WEFT_ASSIGN_OR_RETURN(const AttributeGetter getter,
                        AttributeGetter::Make(runtime, ArgumentOrNone(arguments, 1), false));
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(self));
  std::string text;
  bool first = true;
  while (true) {
    if (!runtime.SpendBytes(separator.size()) || !runtime.budget().FitsString(text.size())) {
      return runtime.Exceeded();
    }
    WEFT_ASSIGN_OR_RETURN(const Value item, cursor.Next(runtime));
    if (item.is(Kind::kMissing)) return runtime.NewString(std::move(text));
    if (!first) text.append(separator);
    first = false;
    WEFT_ASSIGN_OR_RETURN(const Value value, getter.Get(runtime, item));
    WEFT_RETURN_IF_ERROR(AppendStr(runtime, value, &text));
  }
}

Result<Value> FilterLength(Runtime&, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const int64_t length, Length(self));
  return Value::Int(length);
}

Result<Value> FilterList(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(std::vector<Value> items, Collect(runtime, self));
  return runtime.NewList(std::move(items));
}

Result<Value> FilterMax(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return Extreme(runtime, self, arguments, Comparison::kGreater);
}

Result<Value> FilterMin(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return Extreme(runtime, self, arguments, Comparison::kLess);
}

Result<Value> FilterSort(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const MultiAttributeGetter getter,
                        MultiAttributeGetter::Make(runtime, ArgumentOrNone(arguments, 2),
                                                   !ArgumentTruth(arguments, 1)));
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, self));
  std::vector<Value> keys;
  for (const Value& item : items) {
    WEFT_ASSIGN_OR_RETURN(Value key, getter.Get(runtime, item));
    keys.push_back(std::move(key));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<size_t> order,
                        SortedOrder(runtime, keys, ArgumentTruth(arguments, 0)));
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t i : order) sorted.push_back(items[i]);
  return runtime.NewList(std::move(sorted));
}

Result<Value> FilterSum(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  Value sum = arguments.has(1) ? arguments[1] : Value::Int(0);
  if (sum.is_string()) return Fault("sum: strings cannot be summed, use join");
  WEFT_ASSIGN_OR_RETURN(const AttributeGetter getter,
                        AttributeGetter::Make(runtime, ArgumentOrNone(arguments, 0), false));
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(self));
  while (true) {
    if (!runtime.Spend(1)) return runtime.Exceeded();
    WEFT_ASSIGN_OR_RETURN(const Value item, cursor.Next(runtime));
    if (item.is(Kind::kMissing)) return sum;
    WEFT_ASSIGN_OR_RETURN(const Value value, getter.Get(runtime, item));
    WEFT_ASSIGN_OR_RETURN(sum, Operate(runtime, BinaryOperator::kAdd, sum, value));
  }
}

}  // namespace weft::jinja
