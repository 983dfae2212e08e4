// A template after parsing: statements and expressions, with every variable resolved to its place.
// Immutable after parsing; any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

// Where a variable lives: `hops` functions outwards, at `index` of that function's slots.
struct Slot {
  int hops = 0;
  int index = -1;
};

struct Arguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> keyword;
  ExpressionPtr more_positional;  // *args
  ExpressionPtr more_keyword;     // **kwargs
};

enum class ExpressionKind : uint8_t {
  kConstant,     // constant
  kName,         // text, slot
  kAttribute,    // operands[0].text; constant is the text as a value
  kItem,         // operands[0][operands[1]]
  kSlice,        // operands[0][operands[1]:operands[2]:operands[3]], absent ones null
  kCall,         // operands[0](arguments)
  kFilter,       // operands[0]|text(arguments); operands[0] is null at the head of a filter block
  kTest,         // operands[0] is text(arguments)
  kTuple,        // operands
  kList,         // operands
  kDict,         // operands: key, value, key, value
  kBinary,       // operands[0] `binary` operands[1]
  kConcatenate,  // operands, joined by ~
  kAnd,
  kOr,
  kNot,
  kNegate,
  kPlus,
  kCompare,          // operands[0] comparisons[0] operands[1] comparisons[1] operands[2] ...
  kConditional,      // operands[1] if operands[0] else operands[2], which may be null
  kNamespaceTarget,  // text.constant as the target of a set: slot is the namespace's
};

enum class CompareOperator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expression {
  ExpressionKind kind;
  int line = 0;
  int depth = 1;  // of the tree below
  std::string text;
  Value constant;
  Slot slot;
  BinaryOperator binary = BinaryOperator::kAdd;
  std::vector<CompareOperator> comparisons;
  std::vector<ExpressionPtr> operands;
  std::unique_ptr<Arguments> arguments;
  const Builtin* builtin = nullptr;  // of filters and tests; null if there is none of this name
};

// What happens to a variable where a scope begins.
struct Load {
  enum class From : uint8_t {
    kNothing,  // it has no value yet
    kOuter,    // it begins with the value of an outer scope's variable
    kContext,  // it is one of the render's variables or a global
  };
  int index = 0;  // in the function's slots
  From from = From::kNothing;
  Slot outer;
  std::string name;
};

struct Scope {
  std::vector<Load> loads;
  std::vector<int> owned;  // the slots that have no value once the scope ends
};

// A piece of template with slots of its own: the whole, a macro, a call block, a recursive loop.
struct Function {
  int slot_count = 0;
  bool has_closures = false;  // whether functions inside it may outlive a call of it
};

struct MacroParameters {
  std::vector<ExpressionPtr> names;     // kName
  std::vector<ExpressionPtr> defaults;  // of the last ones
  Slot caller, kwargs, varargs;         // index -1: the body does not use it
  bool takes_caller = false;            // `caller` is used and not one of the names
};

enum class StatementKind : uint8_t {
  kOutput,       // expressions
  kFor,          // target, iterable, filter, body, otherwise
  kIf,           // branches, otherwise
  kMacro,        // text, parameters, body
  kCall,         // call, parameters, body; {% generation %} too, then call is null
  kFilterBlock,  // filter, body
  kWith,         // targets, expressions, body
  kSet,          // target, expressions[0]
  kSetBlock,     // target, filter (may be null), body
  kBreak,
  kContinue,
  kScope,        // body ({% autoescape false %})
  kUnavailable,  // text: a tag that reaches for other templates
};

struct Statement {
  StatementKind kind;
  int line = 0;
  std::string text;
  Body body;
  Body otherwise;
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  ExpressionPtr target;
  std::vector<ExpressionPtr> targets;
  std::vector<ExpressionPtr> expressions;
  ExpressionPtr iterable;
  ExpressionPtr filter;  // of filter and set blocks; of loops: the condition
  ExpressionPtr call;
  std::unique_ptr<MacroParameters> parameters;
  bool recursive = false;

  // Resolved:
  Slot slot;                           // of a macro: its own name's
  Scope scope;                         // of the body
  Scope otherwise_scope;               // of a loop's else
  Scope filter_scope;                  // of a loop's condition
  ExpressionPtr filter_target;         // the loop's target as its condition sees it
  Slot loop;                           // of `loop`; index -1 if the body does not use it
  std::unique_ptr<Function> function;  // of macros, call blocks and recursive loops
};

struct Template {
  Body body;
  Scope scope;
  Function function;
};

}  // namespace weft::jinja
