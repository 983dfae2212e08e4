// Tables of what templates can call by name: filters, tests, methods, global functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/jinja/runtime.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

// The arguments of one call, by the order of the parameters. Those not given are missing values.
struct BoundArguments {
  std::vector<Value> values;
  CallArguments rest;  // of variadic functions: everything

  bool has(size_t i) const { return i < values.size() && !values[i].is(Kind::kMissing); }
  const Value& operator[](size_t i) const { return values[i]; }
};

struct Builtin {
  using Function = Result<Value> (*)(Runtime& runtime, const Value& self,
                                     const BoundArguments& arguments);
  std::string_view name;
  Function function;
  std::string_view parameters = {};  // names parted by spaces; "*": variadic, arguments as given
  size_t required = 0;
  bool by_name = true;  // whether arguments can be given by name
};

// Binds and calls. Errors name the function.
Result<Value> Invoke(Runtime& runtime, const Builtin& builtin, const Value& self,
                     CallArguments arguments);

const Builtin* FindFilter(std::string_view name);
const Builtin* FindTest(std::string_view name);
// The method of a value of this kind. Methods that would change a list or dict are not among them.
const Builtin* FindMethod(Kind kind, std::string_view name);
// Whether Python has this method and the sandbox forbids it.
bool IsForbiddenMethod(Kind kind, std::string_view name);
// range, dict, namespace, cycler, joiner, raise_exception, strftime_now; missing if none of these.
Value FindGlobal(Runtime& runtime, std::string_view name);

// namespace.name = value. Names that begin with an underscore are refused.
Result<void> SetAttribute(Runtime& runtime, const Value& object, std::string_view name,
                          const Value& value);

// A method and the value that it belongs to.
Value BindMethod(Runtime& runtime, const Builtin& method, const Value& self);

// Calls whatever can be called.
Result<Value> CallValue(Runtime& runtime, const Value& callee, CallArguments arguments);

// json.dumps(); `indent` is what one level is indented by.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
Result<std::string> ToJson(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace weft::jinja
