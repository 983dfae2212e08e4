// The interpreter's statements.
#include "base/quoted.h"
#include "model/tokenizer/jinja/interpreter.h"
#include "model/tokenizer/jinja/loop_object.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {

Result<std::string> Interpreter::Run() {
  const auto activation =
      std::make_shared<Activation>(&runtime_.budget(), template_.function, nullptr);
  runtime_.Keep(activation);
  std::string text;
  out_ = &text;
  EnterScope(template_.scope, *activation);
  WEFT_RETURN_IF_ERROR(Execute(template_.body, *activation));
  if (!runtime_.Spend(0)) return runtime_.Exceeded();
  return text;
}

void Interpreter::EnterScope(const Scope& scope, Activation& activation) {
  for (const Load& load : scope.loads) {
    switch (load.from) {
      case Load::From::kNothing:
        activation.Own(load.index) = Value();
        break;
      case Load::From::kOuter:
        activation.Own(load.index) = activation.At(load.outer);
        break;
      case Load::From::kContext:
        activation.Own(load.index) = Resolve(load.name);
        break;
    }
  }
}

void Interpreter::LeaveScope(const Scope& scope, Activation& activation) {
  for (const int index : scope.owned) activation.Own(index) = Value();
}

Value Interpreter::Resolve(const std::string& name) {
  if (const Value* found = variables_.dict().Find(name)) return *found;
  const auto [found, inserted] = globals_.try_emplace(name);
  if (inserted) found->second = FindGlobal(runtime_, name);
  return found->second;
}

Result<Interpreter::Flow> Interpreter::Execute(const Body& body, Activation& activation) {
  for (const StatementPtr& statement : body) {
    WEFT_ASSIGN_OR_RETURN(const Flow flow, Execute(*statement, activation));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::Execute(const Statement& statement, Activation& activation) {
  const DepthGuard guard(runtime_);
  if (!guard.ok() || !runtime_.Spend(1)) return runtime_.Exceeded();
  line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::kOutput:
      WEFT_RETURN_IF_ERROR(ExecuteOutput(statement, activation));
      return Flow::kNext;
    case StatementKind::kFor:
      return ExecuteFor(statement, activation);
    case StatementKind::kIf:
      return ExecuteIf(statement, activation);
    case StatementKind::kMacro:
      activation.At(statement.slot) = NewMacro(statement, activation);
      return Flow::kNext;
    case StatementKind::kCall:
      WEFT_RETURN_IF_ERROR(ExecuteCallBlock(statement, activation));
      return Flow::kNext;
    case StatementKind::kFilterBlock:
    case StatementKind::kSetBlock:
    case StatementKind::kScope:
      return ExecuteCaptured(statement, activation);
    case StatementKind::kWith:
      return ExecuteWith(statement, activation);
    case StatementKind::kSet: {
      WEFT_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.expressions[0], activation));
      line_ = statement.line;
      WEFT_RETURN_IF_ERROR(Assign(*statement.target, value, activation));
      return Flow::kNext;
    }
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kUnavailable:
      return Fault("'{}' needs another template, and there is none", statement.text);
  }
  return Flow::kNext;
}

Result<void> Interpreter::ExecuteOutput(const Statement& statement, Activation& activation) {
  for (const ExpressionPtr& expression : statement.expressions) {
    if (expression->kind == ExpressionKind::kConstant) {
      WEFT_RETURN_IF_ERROR(AppendStr(runtime_, expression->constant, out_));
      continue;
    }
    line_ = expression->line;
    WEFT_ASSIGN_OR_RETURN(const Value value, Evaluate(*expression, activation));
    WEFT_RETURN_IF_ERROR(AppendStr(runtime_, value, out_));
  }
  return {};
}

Result<Interpreter::Flow> Interpreter::ExecuteIf(const Statement& statement,
                                                 Activation& activation) {
  for (const auto& [condition, body] : statement.branches) {
    line_ = condition->line;
    WEFT_ASSIGN_OR_RETURN(const Value value, Evaluate(*condition, activation));
    if (Truth(value)) return Execute(body, activation);
  }
  return Execute(statement.otherwise, activation);
}

// Blocks whose text goes elsewhere first.
Result<Interpreter::Flow> Interpreter::ExecuteCaptured(const Statement& statement,
                                                       Activation& activation) {
  EnterScope(statement.scope, activation);
  if (statement.kind == StatementKind::kScope) {
    WEFT_ASSIGN_OR_RETURN(const Flow flow, Execute(statement.body, activation));
    LeaveScope(statement.scope, activation);
    return flow;
  }
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  auto flow = Execute(statement.body, activation);
  out_ = outer;
  if (!flow || *flow != Flow::kNext) return flow;
  line_ = statement.line;
  Value result = runtime_.NewString(std::move(text));
  if (statement.filter != nullptr) {
    const Value saved = std::exchange(block_text_, result);
    auto filtered = Evaluate(*statement.filter, activation);
    block_text_ = saved;
    if (!filtered) return tl::unexpected(std::move(filtered).error());
    result = *std::move(filtered);
  }
  if (statement.kind == StatementKind::kFilterBlock) {
    WEFT_RETURN_IF_ERROR(AppendText(result));
  } else {
    WEFT_RETURN_IF_ERROR(Assign(*statement.target, result, activation));
  }
  LeaveScope(statement.scope, activation);
  return Flow::kNext;
}

// What a block writes must be text already: Jinja joins it as it is.
Result<void> Interpreter::AppendText(const Value& value) {
  if (!value.is_string()) return Fault("expected a block's text, found '{}'", TypeName(value));
  return AppendStr(runtime_, value, out_);
}

Result<Interpreter::Flow> Interpreter::ExecuteWith(const Statement& statement,
                                                   Activation& activation) {
  EnterScope(statement.scope, activation);
  for (size_t i = 0; i < statement.targets.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.expressions[i], activation));
    line_ = statement.line;
    WEFT_RETURN_IF_ERROR(Assign(*statement.targets[i], value, activation));
  }
  WEFT_ASSIGN_OR_RETURN(const Flow flow, Execute(statement.body, activation));
  LeaveScope(statement.scope, activation);
  return flow;
}

Result<void> Interpreter::Assign(const Expression& target, const Value& value,
                                 Activation& activation) {
  if (target.kind == ExpressionKind::kName) {
    activation.At(target.slot) = value;
    return {};
  }
  if (target.kind == ExpressionKind::kTuple) return Unpack(target, value, activation);
  const Value& object = activation.At(target.slot);
  if (!object.is(Kind::kNamespace)) {
    return Fault("cannot assign attribute {} of {}: it is not a namespace",
                 Quoted(target.constant.text()), Quoted(target.text));
  }
  return SetAttribute(runtime_, object, target.constant.text(), value);
}

Result<void> Interpreter::Unpack(const Expression& target, const Value& value,
                                 Activation& activation) {
  if (!IsIterable(value)) return Fault("cannot unpack '{}' object", TypeName(value));
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(value));
  std::vector<Value> items;
  while (items.size() <= target.operands.size()) {
    WEFT_ASSIGN_OR_RETURN(Value item, cursor.Next(runtime_));
    if (item.is(Kind::kMissing)) break;
    items.push_back(std::move(item));
  }
  if (items.size() != target.operands.size()) {
    return Fault("{} values to unpack, expected {}",
                 items.size() > target.operands.size() ? "too many" : "not enough",
                 target.operands.size());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    WEFT_RETURN_IF_ERROR(Assign(*target.operands[i], items[i], activation));
  }
  return {};
}

Result<Interpreter::Flow> Interpreter::ExecuteFor(const Statement& loop, Activation& activation) {
  WEFT_ASSIGN_OR_RETURN(const Value iterable, Evaluate(*loop.iterable, activation));
  line_ = loop.line;
  if (!loop.recursive) return RunLoop(loop, iterable, activation, nullptr, 0);
  WEFT_ASSIGN_OR_RETURN(const Value text, CallLoop(loop, &activation, iterable, 0));
  WEFT_RETURN_IF_ERROR(AppendStr(runtime_, text, out_));
  return Flow::kNext;
}

Result<Value> Interpreter::CallLoop(const Statement& loop, Activation* outer, const Value& iterable,
                                    int depth) {
  // Kept: the body may define macros.
  const auto activation = std::make_shared<Activation>(&runtime_.budget(), *loop.function, outer);
  runtime_.Keep(activation);
  if (!runtime_.Spend(loop.function->slot_count)) return runtime_.Exceeded();
  std::string text;
  std::string* const saved = std::exchange(out_, &text);
  const auto flow = RunLoop(loop, iterable, *activation, outer, depth);
  out_ = saved;
  if (!flow) return tl::unexpected(flow.error());
  return runtime_.NewString(std::move(text));
}

Result<bool> Interpreter::AcceptsItem(const Statement& loop, const Value& item,
                                      Activation& activation) {
  WEFT_RETURN_IF_ERROR(Assign(*loop.filter_target, item, activation));
  WEFT_ASSIGN_OR_RETURN(const Value accepted, Evaluate(*loop.filter, activation));
  return Truth(accepted);
}

Result<Interpreter::Flow> Interpreter::RunLoop(const Statement& loop, const Value& iterable,
                                               Activation& activation, Activation* outer,
                                               int depth) {
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(iterable));
  if (loop.filter != nullptr) EnterScope(loop.filter_scope, activation);
  const auto object =
      std::make_shared<LoopObject>(&runtime_.budget(), std::move(cursor),
                                   LoopObject::Origin{this, &loop, &activation, outer}, depth);
  if (loop.loop.index >= 0) runtime_.Keep(object);
  bool completed_one = false;
  Flow flow = Flow::kNext;
  while (flow != Flow::kBreak) {
    if (!runtime_.Spend(1)) return runtime_.Exceeded();
    WEFT_ASSIGN_OR_RETURN(const Value item, object->Advance(runtime_));
    if (item.is(Kind::kMissing)) break;
    line_ = loop.line;
    WEFT_RETURN_IF_ERROR(Assign(*loop.target, item, activation));
    if (loop.loop.index >= 0) activation.At(loop.loop) = Value(Kind::kCallable, object);
    EnterScope(loop.scope, activation);
    WEFT_ASSIGN_OR_RETURN(flow, Execute(loop.body, activation));
    // As in Jinja, a round that `continue` ended does not count for `else`.
    if (flow == Flow::kNext) completed_one = true;
  }
  object->Detach();
  LeaveScope(loop.scope, activation);
  if (loop.filter != nullptr) LeaveScope(loop.filter_scope, activation);
  if (completed_one || loop.otherwise.empty()) return Flow::kNext;
  EnterScope(loop.otherwise_scope, activation);
  WEFT_ASSIGN_OR_RETURN(const Flow result, Execute(loop.otherwise, activation));
  LeaveScope(loop.otherwise_scope, activation);
  return result;
}

}  // namespace weft::jinja
