// Walks a template and writes its text. One render, one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/jinja/ast.h"
#include "model/tokenizer/jinja/runtime.h"

namespace weft::jinja {

// The variables of one call of a function. Kept by the runtime until the end where functions inside
// might outlive the call.
class Activation final : public Object, public CyclicObject {
 public:
  Activation(Budget* budget, const Function& function, Activation* outer)
      : Object(budget,
               sizeof(Activation) + static_cast<size_t>(function.slot_count) * sizeof(Value)),
        slots_(static_cast<size_t>(function.slot_count)),
        outer_(outer) {}
  void Empty() override { slots_.clear(); }

  Value& At(const Slot& slot) {
    Activation* activation = this;
    for (int i = 0; i < slot.hops; ++i) activation = activation->outer_;
    return activation->slots_[static_cast<size_t>(slot.index)];
  }
  Value& Own(int index) { return slots_[static_cast<size_t>(index)]; }

 private:
  std::vector<Value> slots_;
  Activation* const outer_;
};

class Interpreter {
 public:
  // `variables` is a dict. All must outlive it.
  Interpreter(const Template& parsed, const Value& variables, Runtime* runtime)
      : template_(parsed), variables_(variables), runtime_(*runtime) {}
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  Result<std::string> Run();
  // Where the last thing happened.
  int line() const { return line_; }

  // For macros and recursive loops.
  Result<Value> CallMacro(const Statement& macro, Activation* outer, CallArguments arguments);
  Result<Value> CallLoop(const Statement& loop, Activation* outer, const Value& iterable,
                         int depth);
  // Whether a loop's condition accepts an item; assigns it on the way.
  Result<bool> AcceptsItem(const Statement& loop, const Value& item, Activation& activation);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  Result<Flow> Execute(const Body& body, Activation& activation);
  Result<Flow> Execute(const Statement& statement, Activation& activation);
  Result<void> ExecuteOutput(const Statement& statement, Activation& activation);
  Result<Flow> ExecuteFor(const Statement& loop, Activation& activation);
  Result<Flow> ExecuteIf(const Statement& statement, Activation& activation);
  Result<void> ExecuteCallBlock(const Statement& statement, Activation& activation);
  Result<Flow> ExecuteCaptured(const Statement& statement, Activation& activation);
  Result<Flow> ExecuteWith(const Statement& statement, Activation& activation);
  Result<Flow> RunLoop(const Statement& loop, const Value& iterable, Activation& activation,
                       Activation* outer, int depth);

  Value NewMacro(const Statement& macro, Activation& activation);
  Result<void> AppendText(const Value& value);
  // Runs a function's body in `activation` and returns what it wrote.
  Result<Value> Capture(const Body& body, Activation& activation);
  Result<void> BindParameters(const Statement& macro, CallArguments arguments,
                              Activation& activation);
  void EnterScope(const Scope& scope, Activation& activation);
  static void LeaveScope(const Scope& scope, Activation& activation);
  Value Resolve(const std::string& name);
  Result<void> Assign(const Expression& target, const Value& value, Activation& activation);
  Result<void> Unpack(const Expression& target, const Value& value, Activation& activation);

  Result<Value> Evaluate(const Expression& expression, Activation& activation);
  Result<Value> EvaluateOptional(const ExpressionPtr& expression, Activation& activation);
  Result<Value> EvaluateOperation(const Expression& expression, Activation& activation);
  Result<Value> EvaluateCall(const Expression& call, Activation& activation,
                             const Value* caller = nullptr);
  Result<Value> EvaluateFilter(const Expression& filter, Activation& activation);
  Result<Value> EvaluateTest(const Expression& test, Activation& activation);
  Result<Value> EvaluateBinary(const Expression& expression, Activation& activation);
  Result<Value> EvaluateCompare(const Expression& expression, Activation& activation);
  Result<Value> EvaluateConcatenation(const Expression& expression, Activation& activation);
  Result<Value> EvaluateConditional(const Expression& expression, Activation& activation);
  Result<Value> EvaluateSlice(const Expression& expression, Activation& activation);
  Result<Value> EvaluateDict(const Expression& expression, Activation& activation);
  Result<std::vector<Value>> EvaluateItems(const Expression& expression, Activation& activation);
  Result<CallArguments> EvaluateArguments(const Arguments& arguments, Activation& activation);
  Result<void> AddMoreArguments(const Arguments& arguments, Activation& activation,
                                CallArguments* result);

  const Template& template_;
  const Value& variables_;
  Runtime& runtime_;
  std::map<std::string, Value> globals_;  // those that were asked for
  std::string* out_ = nullptr;
  Value block_text_;  // what the filter of a block applies to
  int line_ = 1;
};

}  // namespace weft::jinja
