// object.name, container[key] and container[start:stop:step].
#include <algorithm>
#include <limits>

#include "base/quoted.h"
#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

std::string ObjectText(const Value& object) {
  if (object.is(Kind::kNone)) return "'None'";
  return fmt::format("'{} object'", TypeName(object));
}

Value NoAttribute(const Value& object, std::string_view name) {
  return MakeUndefined(fmt::format("{} has no attribute {}", ObjectText(object), Quoted(name)));
}

// What Python's getattr() finds and the sandbox lets through; a missing value if there is nothing.
Result<Value> FindAttribute(Runtime& runtime, const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kNamespace: {
      const Value* found = object.name_space().Find(name);
      return found != nullptr ? *found : Value();
    }
    case Kind::kCallable:
      return object.callable().Attribute(runtime, name);
    default:
      break;
  }
  if (object.is(Kind::kTuple) && object.sequence().is_group) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  if (const Builtin* method = FindMethod(object.kind(), name)) {
    return BindMethod(runtime, *method, object);
  }
  if (IsForbiddenMethod(object.kind(), name)) {
    return MakeUndefined(fmt::format("access to attribute {} of '{}' object is unsafe.",
                                     Quoted(name), TypeName(object)));
  }
  return Value();
}

Result<Value> UndefinedItem(Runtime& runtime, const Value& container, const Value& key) {
  if (key.is_string()) return NoAttribute(container, key.text());
  std::string text;
  WEFT_RETURN_IF_ERROR(AppendRepr(runtime, key, &text));
  return MakeUndefined(
      fmt::format("{} object has no element {}", TypeName(container), Quoted(text)));
}

// The place that an index means; nothing if it lies outside.
std::optional<int64_t> IndexOf(const Value& key, int64_t count) {
  if (!key.is_integer()) return std::nullopt;
  int64_t index = key.as_int();
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return index;
}

Result<int64_t> SliceIndex(const Value& value) {
  if (!value.is_integer()) {
    return Fault("slice indices must be integers or None, not '{}'", TypeName(value));
  }
  return value.as_int();
}

// The indexes that a slice of `count` items takes, as Python's slice.indices() has them.
Result<SliceRange> SliceBounds(const Value& start, const Value& stop, const Value& step,
                               int64_t count) {
  SliceRange range;
  if (!step.is(Kind::kNone)) {
    WEFT_ASSIGN_OR_RETURN(range.step, SliceIndex(step));
  }
  if (range.step == 0) return Fault("slice step cannot be zero");
  range.step = std::max(range.step, -std::numeric_limits<int64_t>::max());
  const bool down = range.step < 0;
  const auto clamp = [&](int64_t index) {
    if (index < 0) index = index < -count ? -1 : index + count;
    if (index < 0) return down ? int64_t{-1} : int64_t{0};
    if (index >= count) return down ? count - 1 : count;
    return index;
  };
  range.start = down ? count - 1 : 0;
  int64_t end = down ? -1 : count;
  if (!start.is(Kind::kNone)) {
    WEFT_ASSIGN_OR_RETURN(const int64_t index, SliceIndex(start));
    range.start = clamp(index);
  }
  if (!stop.is(Kind::kNone)) {
    WEFT_ASSIGN_OR_RETURN(const int64_t index, SliceIndex(stop));
    end = clamp(index);
  }
  const int64_t distance = down ? range.start - end : end - range.start;
  const int64_t stride = down ? -range.step : range.step;
  range.count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return range;
}

}  // namespace

Result<Value> GetAttribute(Runtime& runtime, const Value& object, const Value& name) {
  if (object.is(Kind::kUndefined)) return UndefinedFault(object);
  WEFT_ASSIGN_OR_RETURN(Value found, FindAttribute(runtime, object, name.text()));
  if (!found.is(Kind::kMissing)) return found;
  if (object.is(Kind::kDict)) {
    if (const Value* item = object.dict().Find(name.text())) return *item;
  }
  return NoAttribute(object, name.text());
}

Result<Value> GetItem(Runtime& runtime, const Value& container, const Value& key) {
  switch (container.kind()) {
    case Kind::kUndefined:
      return UndefinedFault(container);
    case Kind::kDict: {
      const Value* found = key.is_string()   ? container.dict().Find(key.text())
                           : IsHashable(key) ? container.dict().Find(key)
                                             : nullptr;
      if (found != nullptr) return *found;
      break;
    }
    case Kind::kList:
    case Kind::kTuple:
      if (const auto index = IndexOf(key, static_cast<int64_t>(container.items().size()))) {
        return container.items()[static_cast<size_t>(*index)];
      }
      break;
    case Kind::kString:
      if (const auto index = IndexOf(key, container.string().character_count)) {
        if (!runtime.SpendBytes(static_cast<uint64_t>(*index))) return runtime.Exceeded();
        return runtime.NewText(SliceText(container.string(), {*index, 1, 1}),
                               container.string().is_markup);
      }
      break;
    case Kind::kRange:
      if (const auto index = IndexOf(key, container.range().count)) {
        return Value::Int(container.range().start + *index * container.range().step);
      }
      break;
    default:
      break;
  }
  if (key.is_string()) {
    WEFT_ASSIGN_OR_RETURN(Value found, FindAttribute(runtime, container, key.text()));
    if (!found.is(Kind::kMissing)) return found;
  }
  return UndefinedItem(runtime, container, key);
}

Result<Value> GetSlice(Runtime& runtime, const Value& container, const Value& start,
                       const Value& stop, const Value& step) {
  if (container.is(Kind::kUndefined)) return UndefinedFault(container);
  if (!container.is_string() && !container.is_sequence() && !container.is(Kind::kRange)) {
    return Fault("'{}' object cannot be sliced", TypeName(container));
  }
  WEFT_ASSIGN_OR_RETURN(const int64_t count, Length(container));
  WEFT_ASSIGN_OR_RETURN(const SliceRange range, SliceBounds(start, stop, step, count));
  if (container.is_string()) {
    if (!runtime.SpendBytes(container.text().size()) ||
        !runtime.budget().FitsString(container.text().size())) {
      return runtime.Exceeded();
    }
    return runtime.NewText(SliceText(container.string(), range), container.string().is_markup);
  }
  if (container.is(Kind::kRange)) {
    const RangeObject& whole = container.range();
    if (range.count == 0) return Value(Kind::kRange, std::make_shared<RangeObject>(0, 0, 1, 0));
    const int64_t first = whole.start + range.start * whole.step;
    const int64_t by = range.count > 1 ? whole.step * range.step : whole.step;
    int64_t end = 0;
    if (__builtin_add_overflow(first, range.count * by, &end)) end = whole.stop;
    return Value(Kind::kRange, std::make_shared<RangeObject>(first, end, by, range.count));
  }
  if (!runtime.Spend(range.count) ||
      !runtime.budget().FitsItems(static_cast<uint64_t>(range.count))) {
    return runtime.Exceeded();
  }
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i) {
    items.push_back(container.items()[static_cast<size_t>(range.start + i * range.step)]);
  }
  return container.is(Kind::kList) ? runtime.NewList(std::move(items))
                                   : runtime.NewTuple(std::move(items));
}

}  // namespace weft::jinja
