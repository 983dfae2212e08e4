// What Python's operators and built-in functions do with values: truth, comparison, arithmetic,
// items, iteration. Errors have no position; the interpreter adds the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/jinja/runtime.h"
#include "model/tokenizer/jinja/text.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

enum class BinaryOperator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
};
enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

bool Truth(const Value& value);
// Values that are compared with themselves a great many times exceed the budget: false then.
bool Equals(Runtime& runtime, const Value& a, const Value& b);
Result<bool> Compare(Runtime& runtime, Comparison comparison, const Value& a, const Value& b);
Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item);

Result<Value> Operate(Runtime& runtime, BinaryOperator op, const Value& a, const Value& b);
Result<Value> Negate(const Value& value);
Result<Value> Plus(const Value& value);  // +value

Result<int64_t> Length(const Value& value);

// container[key], or an undefined value.
Result<Value> GetItem(Runtime& runtime, const Value& container, const Value& key);
// object.name, or else object["name"], or an undefined value.
Result<Value> GetAttribute(Runtime& runtime, const Value& object, const Value& name);
// container[start:stop:step]; each may be None.
Result<Value> GetSlice(Runtime& runtime, const Value& container, const Value& start,
                       const Value& stop, const Value& step);

// Walks what can be walked. Holds the value that it walks.
class Cursor {
 public:
  static Result<Cursor> Over(const Value& iterable);
  // The next item; a missing value at the end.
  Result<Value> Next(Runtime& runtime);
  // How many there are, if that is known without walking.
  std::optional<int64_t> Count() const;
  int depth() const { return ShapeOf(iterable_).depth; }

 private:
  explicit Cursor(Value iterable) : iterable_(std::move(iterable)) {}
  Value iterable_;
  int64_t position_ = 0;  // an index, or for strings a byte
};

bool IsIterable(const Value& value);
// All that is left of it.
Result<std::vector<Value>> Collect(Runtime& runtime, const Value& iterable);

// The error of whoever uses an undefined value.
[[nodiscard]] tl::unexpected<Error> UndefinedFault(const Value& undefined);
// An int or a bool; the error says what it was wanted for.
Result<int64_t> ToIndex(const Value& value, std::string_view wanted_for);

}  // namespace weft::jinja
