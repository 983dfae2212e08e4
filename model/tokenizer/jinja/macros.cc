// Macros and call blocks.
#include <algorithm>

#include "base/quoted.h"
#include "model/tokenizer/jinja/interpreter.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

class MacroObject final : public CallableObject {
 public:
  MacroObject(Budget* budget, Interpreter* interpreter, const Statement* macro, Activation* outer)
      : CallableObject(budget, sizeof(MacroObject)),
        interpreter_(*interpreter),
        macro_(*macro),
        outer_(outer) {}

  Result<Value> Call(Runtime&, CallArguments arguments) override {
    return interpreter_.CallMacro(macro_, outer_, std::move(arguments));
  }
  Result<Value> Attribute(Runtime& runtime, std::string_view name) override {
    const MacroParameters& parameters = *macro_.parameters;
    if (name == "name") return macro_.text.empty() ? Value::None() : runtime.NewString(macro_.text);
    if (name == "arguments") {
      std::vector<Value> names;
      for (const ExpressionPtr& parameter : parameters.names) {
        names.push_back(runtime.NewString(parameter->text));
      }
      return runtime.NewTuple(std::move(names));
    }
    if (name == "catch_kwargs") return Value::Bool(parameters.kwargs.index >= 0);
    if (name == "catch_varargs") return Value::Bool(parameters.varargs.index >= 0);
    if (name == "caller") return Value::Bool(parameters.takes_caller);
    return Value();
  }
  std::string Describe() const override {
    if (macro_.text.empty()) return "<Macro anonymous>";
    std::string text = "<Macro ";
    AppendQuoted(macro_.text, &text);
    return text + ">";
  }
  std::string_view TypeName() const override { return "Macro"; }

 private:
  Interpreter& interpreter_;
  const Statement& macro_;
  Activation* const outer_;
};

std::string MacroName(const Statement& macro) {
  return macro.text.empty() ? "the call block" : "macro " + Quoted(macro.text);
}

// Takes the keyword argument of this name; a missing value if there is none.
Value TakeKeyword(CallArguments* arguments, std::string_view name) {
  auto& keyword = arguments->keyword;
  const auto found = std::find_if(keyword.begin(), keyword.end(),
                                  [&](const auto& argument) { return argument.first == name; });
  if (found == keyword.end()) return {};
  Value value = std::move(found->second);
  keyword.erase(found);
  return value;
}

}  // namespace

Value Interpreter::NewMacro(const Statement& macro, Activation& activation) {
  return runtime_.NewCallable<MacroObject>(this, &macro, &activation);
}

Result<void> Interpreter::ExecuteCallBlock(const Statement& statement, Activation& activation) {
  const Value caller = NewMacro(statement, activation);
  if (statement.call == nullptr) {
    WEFT_ASSIGN_OR_RETURN(const Value text, CallValue(runtime_, caller, {}));
    return AppendStr(runtime_, text, out_);
  }
  WEFT_ASSIGN_OR_RETURN(const Value text, EvaluateCall(*statement.call, activation, &caller));
  return AppendText(text);
}

Result<Value> Interpreter::CallMacro(const Statement& macro, Activation* outer,
                                     CallArguments arguments) {
  if (!runtime_.Spend(macro.function->slot_count)) return runtime_.Exceeded();
  if (!macro.function->has_closures) {
    Activation activation(&runtime_.budget(), *macro.function, outer);
    WEFT_RETURN_IF_ERROR(BindParameters(macro, std::move(arguments), activation));
    return Capture(macro.body, activation);
  }
  const auto activation = std::make_shared<Activation>(&runtime_.budget(), *macro.function, outer);
  runtime_.Keep(activation);
  WEFT_RETURN_IF_ERROR(BindParameters(macro, std::move(arguments), *activation));
  return Capture(macro.body, *activation);
}

Result<Value> Interpreter::Capture(const Body& body, Activation& activation) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  const auto flow = Execute(body, activation);
  out_ = outer;
  if (!flow) return tl::unexpected(flow.error());
  return runtime_.NewString(std::move(text));
}

Result<void> Interpreter::BindParameters(const Statement& macro, CallArguments arguments,
                                         Activation& activation) {
  const MacroParameters& parameters = *macro.parameters;
  const size_t count = parameters.names.size();
  std::vector<Value>& positional = arguments.positional;
  const bool all_positional = positional.size() >= count;
  bool found_caller = false;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = parameters.names[i]->text;
    const bool given = i < positional.size();
    activation.At(parameters.names[i]->slot) =
        given ? positional[i] : TakeKeyword(&arguments, name);
    if (name == "caller" && (all_positional || !given)) found_caller = true;
  }
  if (parameters.takes_caller && !found_caller) {
    Value caller = TakeKeyword(&arguments, "caller");
    if (caller.is(Kind::kMissing) || caller.is(Kind::kNone)) {
      caller = MakeUndefined("No caller defined");
    }
    if (parameters.caller.index >= 0) activation.At(parameters.caller) = std::move(caller);
  }
  if (parameters.kwargs.index >= 0) {
    std::vector<DictObject::Entry> entries;
    for (auto& [name, value] : arguments.keyword) {
      entries.emplace_back(runtime_.NewString(name), std::move(value));
    }
    activation.At(parameters.kwargs) = runtime_.NewDict(std::move(entries));
  } else if (!arguments.keyword.empty()) {
    return Fault("{} takes no keyword argument {}", MacroName(macro),
                 Quoted(arguments.keyword.front().first));
  }
  if (parameters.varargs.index >= 0) {
    std::vector<Value> rest;
    if (positional.size() > count) {
      rest.assign(positional.begin() + static_cast<std::ptrdiff_t>(count), positional.end());
    }
    activation.At(parameters.varargs) = runtime_.NewTuple(std::move(rest));
  } else if (positional.size() > count) {
    return Fault("{} takes at most {} arguments, found {}", MacroName(macro), count,
                 positional.size());
  }
  EnterScope(macro.scope, activation);
  const size_t first_default = count - parameters.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    Value& parameter = activation.At(parameters.names[i]->slot);
    if (!parameter.is(Kind::kMissing)) continue;
    if (i >= first_default) {
      WEFT_ASSIGN_OR_RETURN(parameter,
                            Evaluate(*parameters.defaults[i - first_default], activation));
    } else {
      parameter = MakeUndefined(
          fmt::format("parameter {} was not provided", Quoted(parameters.names[i]->text)));
    }
  }
  return {};
}

}  // namespace weft::jinja
