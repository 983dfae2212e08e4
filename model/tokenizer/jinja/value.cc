#include "model/tokenizer/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::jinja {
namespace {

constexpr size_t kFewEntries = 8;  // below this, a scan is quicker than an index

int64_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

// Keys of different classes are never equal. The order is that of DictObject's index.
enum KeyClasses : int {
  kNoneClass,
  kNumberClass,
  kStringClass,
  kTupleClass,
  kUndefinedClass,
  kIdentityClass,
};

int KeyClass(const Value& key) {
  switch (key.kind()) {
    case Kind::kNone:
      return kNoneClass;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return kNumberClass;
    case Kind::kString:
      return kStringClass;
    case Kind::kTuple:
      return kTupleClass;
    case Kind::kUndefined:
      return kUndefinedClass;
    default:
      return kIdentityClass;
  }
}

int CompareNumbers(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) {
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  }
  const double x = a.as_float();
  const double y = b.as_float();
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) - std::isnan(y);
  return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace

StringObject::StringObject(Budget* budget, std::string text, bool markup)
    : Object(budget, sizeof(StringObject) + text.capacity()),
      bytes(std::move(text)),
      character_count(CountCharacters(bytes)),
      is_markup(markup) {}

SequenceObject::SequenceObject(Budget* budget, std::vector<Value> values, Shape value_shape,
                               bool group)
    : Object(budget, sizeof(SequenceObject) + values.capacity() * sizeof(Value)),
      items(std::move(values)),
      shape(value_shape),
      is_group(group) {}

DictObject::DictObject(Budget* budget, std::vector<Entry> given, Shape value_shape)
    : Object(budget, sizeof(DictObject) + given.capacity() * (sizeof(Entry) + sizeof(uint32_t))),
      shape(value_shape) {
  if (given.size() <= kFewEntries) {
    entries.reserve(given.size());
    for (Entry& entry : given) {
      if (Value* found = const_cast<Value*>(Find(entry.first))) {
        *found = std::move(entry.second);
      } else {
        entries.push_back(std::move(entry));
      }
    }
    return;
  }
  std::vector<uint32_t> order(given.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return CompareKeys(given[a].first, given[b].first) < 0;
  });
  std::vector<bool> dropped(given.size());
  for (size_t first = 0, last = 0; first < order.size(); first = last + 1) {
    for (last = first; last + 1 < order.size(); ++last) {
      if (CompareKeys(given[order[last]].first, given[order[last + 1]].first) != 0) break;
      dropped[order[last + 1]] = true;
    }
    if (last != first) given[order[first]].second = given[order[last]].second;
    by_key_.push_back(order[first]);
  }
  std::vector<uint32_t> new_position(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    new_position[i] = static_cast<uint32_t>(entries.size());
    if (!dropped[i]) entries.push_back(std::move(given[i]));
  }
  for (uint32_t& position : by_key_) position = new_position[position];
}

const Value* DictObject::Find(const Value& key) const {
  if (by_key_.empty()) {
    for (const Entry& entry : entries) {
      if (CompareKeys(entry.first, key) == 0) return &entry.second;
    }
    return nullptr;
  }
  const auto found = std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [&](uint32_t i, const Value& k) { return CompareKeys(entries[i].first, k) < 0; });
  if (found == by_key_.end() || CompareKeys(entries[*found].first, key) != 0) return nullptr;
  return &entries[*found].second;
}

const Value* DictObject::Find(std::string_view key) const {
  // Strings come after None and numbers and before everything else.
  const auto before = [&](const Entry& entry) {
    const int key_class = KeyClass(entry.first);
    return key_class < kStringClass || (key_class == kStringClass && entry.first.text() < key);
  };
  const auto equal = [&](const Entry& entry) {
    return entry.first.is_string() && entry.first.text() == key;
  };
  if (by_key_.empty()) {
    const auto found = std::find_if(entries.begin(), entries.end(), equal);
    return found == entries.end() ? nullptr : &found->second;
  }
  const auto found = std::partition_point(by_key_.begin(), by_key_.end(),
                                          [&](uint32_t i) { return before(entries[i]); });
  if (found == by_key_.end() || !equal(entries[*found])) return nullptr;
  return &entries[*found].second;
}

DictViewObject::DictViewObject(Budget* budget, Value of, Part which)
    : Object(budget, sizeof(DictViewObject)), dict(std::move(of)), part(which) {}

Value* NamespaceObject::Find(std::string_view name) {
  for (auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<Value> CallableObject::Attribute(Runtime&, std::string_view) { return Value(); }

Value ConstantString(std::string text) {
  return {Kind::kString, std::make_shared<StringObject>(nullptr, std::move(text), false)};
}

Value MakeUndefined(std::string message) {
  return {Kind::kUndefined, std::make_shared<UndefinedObject>(std::move(message))};
}

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.string().is_markup ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kDictView:
      switch (value.view().part) {
        case DictViewObject::Part::kKeys:
          return "dict_keys";
        case DictViewObject::Part::kValues:
          return "dict_values";
        case DictViewObject::Part::kItems:
          return "dict_items";
      }
      return "dict_view";
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "TemplateNamespace";
    case Kind::kCallable:
      return value.callable().TypeName();
  }
  return "object";
}

Shape ShapeOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kList:
    case Kind::kTuple:
      return value.sequence().shape;
    case Kind::kDict:
      return value.dict().shape;
    case Kind::kDictView:
      return ShapeOf(value.view().dict);
    case Kind::kIterator:
      return {value.iterator().depth(), 1};
    case Kind::kCallable:
      return {value.callable().depth(), 1};
    default:
      return {};
  }
}

Shape ShapeAround(const std::vector<Value>& values) {
  Shape result;
  for (const Value& value : values) {
    const Shape shape = ShapeOf(value);
    result.depth = std::max(result.depth, shape.depth);
    if (__builtin_add_overflow(result.weight, shape.weight, &result.weight)) {
      result.weight = std::numeric_limits<uint64_t>::max();
    }
  }
  ++result.depth;
  return result;
}

bool IsHashable(const Value& value) {
  constexpr uint64_t kMaxKeyWeight = 1000;
  switch (value.kind()) {
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kBigInt:
      return false;
    case Kind::kTuple:
      return value.sequence().shape.weight <= kMaxKeyWeight &&
             std::all_of(value.items().begin(), value.items().end(), IsHashable);
    default:
      return true;
  }
}

int CompareKeys(const Value& a, const Value& b) {
  const int a_class = KeyClass(a);
  const int b_class = KeyClass(b);
  if (a_class != b_class) return a_class < b_class ? -1 : 1;
  switch (a_class) {
    case kNumberClass:
      return CompareNumbers(a, b);
    case kStringClass:
      return a.text().compare(b.text());
    case kTupleClass: {
      if (a.object() == b.object()) return 0;
      const auto& x = a.items();
      const auto& y = b.items();
      for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
        if (const int order = CompareKeys(x[i], y[i]); order != 0) return order;
      }
      return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
    }
    case kIdentityClass:
      return a.object() < b.object() ? -1 : a.object() > b.object() ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace weft::jinja
