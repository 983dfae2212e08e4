#include "model/tokenizer/jinja/builtins.h"

#include <algorithm>

#include "base/quoted.h"
#include "model/tokenizer/jinja/operators.h"

namespace weft::jinja {
namespace {

// A method taken from its object: "abc".upper
class BoundMethod final : public CallableObject {
 public:
  BoundMethod(Budget* budget, const Builtin* method, Value self)
      : CallableObject(budget, sizeof(BoundMethod)), method_(method), self_(std::move(self)) {}

  Result<Value> Call(Runtime& runtime, CallArguments arguments) override {
    return Invoke(runtime, *method_, self_, std::move(arguments));
  }
  std::string Describe() const override {
    return fmt::format("<built-in method {} of {} object>", method_->name, jinja::TypeName(self_));
  }
  std::string_view TypeName() const override { return "builtin_function_or_method"; }
  int depth() const override { return ShapeOf(self_).depth + 1; }

 private:
  const Builtin* method_;
  const Value self_;
};

// Calls visit(index, name) for each parameter until it returns true.
template <typename Visit>
void ForEachParameter(std::string_view parameters, Visit visit) {
  size_t index = 0;
  while (!parameters.empty()) {
    const size_t end = std::min(parameters.find(' '), parameters.size());
    if (visit(index++, parameters.substr(0, end))) return;
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
}

size_t CountParameters(std::string_view parameters) {
  if (parameters.empty()) return 0;
  return static_cast<size_t>(std::count(parameters.begin(), parameters.end(), ' ')) + 1;
}

Result<BoundArguments> Bind(const Builtin& builtin, CallArguments arguments) {
  BoundArguments bound;
  if (builtin.parameters == "*") {
    bound.rest = std::move(arguments);
    return bound;
  }
  const size_t parameter_count = CountParameters(builtin.parameters);
  if (arguments.positional.size() > parameter_count) {
    return Fault("{}: takes at most {} arguments, found {}", builtin.name, parameter_count,
                 arguments.positional.size());
  }
  bound.values = std::move(arguments.positional);
  bound.values.resize(parameter_count);
  for (auto& argument : arguments.keyword) {
    const std::string& name = argument.first;
    size_t place = parameter_count;
    ForEachParameter(builtin.parameters, [&](size_t i, std::string_view parameter) {
      if (builtin.by_name && parameter == name) place = i;
      return place != parameter_count;
    });
    if (place == parameter_count) {
      return Fault("{}: unexpected argument {}", builtin.name, Quoted(name));
    }
    if (bound.has(place)) return Fault("{}: argument {} given twice", builtin.name, Quoted(name));
    bound.values[place] = std::move(argument.second);
  }
  for (size_t i = 0; i < builtin.required; ++i) {
    if (!bound.has(i)) {
      return Fault("{}: needs {} arguments, number {} is not given", builtin.name, builtin.required,
                   i + 1);
    }
  }
  return bound;
}

}  // namespace

Result<Value> Invoke(Runtime& runtime, const Builtin& builtin, const Value& self,
                     CallArguments arguments) {
  WEFT_ASSIGN_OR_RETURN(const BoundArguments bound, Bind(builtin, std::move(arguments)));
  return builtin.function(runtime, self, bound);
}

Value BindMethod(Runtime& runtime, const Builtin& method, const Value& self) {
  if (ShapeOf(self).depth >= kMaxValueDepth) {
    runtime.budget().SetTooDeep();
    return Value::None();
  }
  return runtime.NewCallable<BoundMethod>(&method, self);
}

Result<Value> CallValue(Runtime& runtime, const Value& callee, CallArguments arguments) {
  if (callee.is(Kind::kUndefined)) return UndefinedFault(callee);
  if (!callee.is(Kind::kCallable) || !callee.callable().is_callable()) {
    return Fault("'{}' object is not callable", TypeName(callee));
  }
  const DepthGuard guard(runtime);
  if (!guard.ok() || !runtime.Spend(1)) return runtime.Exceeded();
  return callee.callable().Call(runtime, std::move(arguments));
}

}  // namespace weft::jinja
