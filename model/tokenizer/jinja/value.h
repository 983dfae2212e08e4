// The values that templates compute with: Python's, as far as templates see them. Values are
// immutable and shared; what can change (namespaces, iterators, loops) says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/jinja/limits.h"

namespace weft::jinja {

class Runtime;
class Value;

enum class Kind : uint8_t {
  kMissing,    // a variable that nothing was assigned to; never seen by a template
  kUndefined,  // jinja2.Undefined
  kNone,
  kBool,
  kInt,
  kBigInt,  // above 64 bits signed, as a request may have it: can be printed and compared
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kDictView,  // dict.keys(), .values(), .items()
  kRange,
  kIterator,   // a generator: can be walked once
  kNamespace,  // the one thing whose attributes can be assigned
  kCallable,   // functions, methods, macros, loops, cyclers, joiners
};

// How deep a value is nested, and how many values it is made of when those that stand in it twice
// count twice (saturating).
struct Shape {
  int depth = 0;
  uint64_t weight = 1;
};

// What stands behind a value that is more than a number. `budget`, if any, is charged for it and
// must outlive it.
class Object {
 public:
  Object() = default;
  Object(Budget* budget, size_t size_bytes) : budget_(budget), size_bytes_(size_bytes) {
    if (budget_ != nullptr) budget_->Charge(size_bytes_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (budget_ != nullptr) budget_->Release(size_bytes_);
  }

 private:
  Budget* budget_ = nullptr;
  size_t size_bytes_ = 0;
};

struct StringObject;
struct UndefinedObject;
struct SequenceObject;
struct DictObject;
struct DictViewObject;
struct RangeObject;
class IteratorObject;
struct NamespaceObject;
class CallableObject;

// 32 bytes, cheap to copy. The accessors require the right kind.
class Value {
 public:
  Value() = default;
  static Value None() { return Value(Kind::kNone); }
  static Value Bool(bool value) {
    Value result(Kind::kBool);
    result.int_ = value ? 1 : 0;
    return result;
  }
  static Value Int(int64_t value) {
    Value result(Kind::kInt);
    result.int_ = value;
    return result;
  }
  static Value BigInt(uint64_t value) {
    Value result(Kind::kBigInt);
    result.int_ = static_cast<int64_t>(value);
    return result;
  }
  static Value Float(double value) {
    Value result(Kind::kFloat);
    result.float_ = value;
    return result;
  }
  Value(Kind kind, std::shared_ptr<Object> object) : kind_(kind), object_(std::move(object)) {}

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool is_integer() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integer() || kind_ == Kind::kFloat; }

  bool as_bool() const { return int_ != 0; }
  int64_t as_int() const { return int_; }  // of kBool too
  uint64_t as_big_int() const { return static_cast<uint64_t>(int_); }
  double as_float() const { return kind_ == Kind::kFloat ? float_ : static_cast<double>(int_); }

  inline const StringObject& string() const;
  inline std::string_view text() const;
  inline const std::vector<Value>& items() const;
  inline const SequenceObject& sequence() const;
  inline const DictObject& dict() const;
  inline const DictViewObject& view() const;
  inline const RangeObject& range() const;
  inline IteratorObject& iterator() const;
  inline NamespaceObject& name_space() const;
  inline CallableObject& callable() const;
  inline const UndefinedObject& undefined() const;

  const Object* object() const { return object_.get(); }
  const std::shared_ptr<Object>& shared_object() const { return object_; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::kMissing;
  union {
    int64_t int_ = 0;
    double float_;
  };
  std::shared_ptr<Object> object_;
};

// Valid UTF-8. What Python counts in code points is counted so here.
struct StringObject final : Object {
  StringObject(Budget* budget, std::string text, bool is_markup);

  const std::string bytes;
  const int64_t character_count;
  const bool is_markup;  // markupsafe.Markup: what is added to it gets escaped

  bool is_ascii() const { return character_count == static_cast<int64_t>(bytes.size()); }
};

// Why a value is undefined, for the error of whoever uses it.
struct UndefinedObject final : Object {
  explicit UndefinedObject(std::string why) : message(std::move(why)) {}
  const std::string message;
};

struct SequenceObject final : Object {
  SequenceObject(Budget* budget, std::vector<Value> values, Shape value_shape, bool group);
  const std::vector<Value> items;
  const Shape shape;
  const bool is_group;  // groupby's tuples have the attributes grouper and list
};

// Insertion-ordered, as Python's. Keys are compared as Python does (1 == 1.0 == True).
struct DictObject final : Object {
  using Entry = std::pair<Value, Value>;
  // Of equal keys the first one's place and the last one's value count.
  DictObject(Budget* budget, std::vector<Entry> given, Shape value_shape);

  // nullptr if absent. `key` must be hashable.
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;

  std::vector<Entry> entries;
  const Shape shape;

 private:
  std::vector<uint32_t> by_key_;  // positions ordered by key; empty while there are few
};

struct DictViewObject final : Object {
  enum class Part : uint8_t { kKeys, kValues, kItems };
  DictViewObject(Budget* budget, Value of, Part which);
  const Value dict;
  const Part part;
};

struct RangeObject final : Object {
  RangeObject(int64_t first, int64_t end, int64_t by, int64_t item_count)
      : start(first), stop(end), step(by), count(item_count) {}
  const int64_t start, stop, step, count;
};

// Mutable: where it stands.
class IteratorObject : public Object {
 public:
  IteratorObject(Budget* budget, int depth)
      : Object(budget, sizeof(IteratorObject)), depth_(depth) {}
  // The next item, or a missing value at the end.
  virtual Result<Value> Next(Runtime& runtime) = 0;
  int depth() const { return depth_; }

 private:
  const int depth_;
};

// Something mutable that can come to hold itself. The runtime keeps all of them until the end of
// the render, when it empties them.
class CyclicObject {
 public:
  CyclicObject() = default;
  CyclicObject(const CyclicObject&) = delete;
  CyclicObject& operator=(const CyclicObject&) = delete;
  virtual ~CyclicObject() = default;
  virtual void Empty() = 0;
};

struct NamespaceObject final : Object, CyclicObject {
  explicit NamespaceObject(Budget* budget) : Object(budget, sizeof(NamespaceObject)) {}
  void Empty() override { attributes.clear(); }
  std::vector<std::pair<std::string, Value>> attributes;
  Value* Find(std::string_view name);
};

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;  // names differ
};

// Something that can be called, has attributes, or both.
class CallableObject : public Object {
 public:
  using Object::Object;
  virtual Result<Value> Call(Runtime& runtime, CallArguments arguments) = 0;
  // A missing value if there is none of this name.
  virtual Result<Value> Attribute(Runtime& runtime, std::string_view name);
  virtual bool is_callable() const { return true; }
  virtual std::string Describe() const = 0;  // its repr()
  virtual std::string_view TypeName() const { return "function"; }
  virtual int depth() const { return 0; }
};

// A function of its own, such as the methods of loops and cyclers.
class FunctionObject final : public CallableObject {
 public:
  using Body = std::function<Result<Value>(Runtime&, CallArguments)>;
  FunctionObject(Budget* budget, std::string name, Body body)
      : CallableObject(budget, sizeof(FunctionObject)),
        name_(std::move(name)),
        body_(std::move(body)) {}
  Result<Value> Call(Runtime& runtime, CallArguments arguments) override {
    return body_(runtime, std::move(arguments));
  }
  std::string Describe() const override { return "<function " + name_ + ">"; }

 private:
  const std::string name_;
  const Body body_;
};

// A constant outside any render: parsing makes them, every thread may read them.
Value ConstantString(std::string text);
Value MakeUndefined(std::string message);

// Python's name of the type.
std::string_view TypeName(const Value& value);
Shape ShapeOf(const Value& value);
// One level deeper than the deepest of them.
Shape ShapeAround(const std::vector<Value>& values);

// An order of hashable values in which Python's equal ones are equal: the keys of dicts.
int CompareKeys(const Value& a, const Value& b);
// Whether it can be a key: as in Python, and not made of more than a thousand values.
bool IsHashable(const Value& value);

const StringObject& Value::string() const { return static_cast<const StringObject&>(*object_); }
std::string_view Value::text() const { return string().bytes; }
const SequenceObject& Value::sequence() const {
  return static_cast<const SequenceObject&>(*object_);
}
const std::vector<Value>& Value::items() const { return sequence().items; }
const DictObject& Value::dict() const { return static_cast<const DictObject&>(*object_); }
const DictViewObject& Value::view() const { return static_cast<const DictViewObject&>(*object_); }
const RangeObject& Value::range() const { return static_cast<const RangeObject&>(*object_); }
IteratorObject& Value::iterator() const { return static_cast<IteratorObject&>(*object_); }
NamespaceObject& Value::name_space() const { return static_cast<NamespaceObject&>(*object_); }
CallableObject& Value::callable() const { return static_cast<CallableObject&>(*object_); }
const UndefinedObject& Value::undefined() const {
  return static_cast<const UndefinedObject&>(*object_);
}

}  // namespace weft::jinja
