#include "model/tokenizer/jinja/resolver.h"

#include <algorithm>
#include <set>

#include "base/quoted.h"
#include "model/tokenizer/jinja/symbols.h"

namespace weft::jinja {
namespace {

// Copies of symbol tables, in names: what a template of the largest size needs is far below.
constexpr int64_t kMaxCopiedNames = 20'000'000;

template <typename Visit>
void ForEachOperand(const Expression& expression, Visit visit) {
  for (const ExpressionPtr& operand : expression.operands) {
    if (operand != nullptr) visit(*operand);
  }
  if (expression.arguments == nullptr) return;
  for (const ExpressionPtr& argument : expression.arguments->positional) visit(*argument);
  for (const auto& [name, argument] : expression.arguments->keyword) visit(*argument);
  if (expression.arguments->more_positional) visit(*expression.arguments->more_positional);
  if (expression.arguments->more_keyword) visit(*expression.arguments->more_keyword);
}

// Which of some names a piece of template reads without having assigned them first, in the order of
// the text: jinja2's find_undeclared. It looks into every scope.
class UndeclaredNames {
 public:
  explicit UndeclaredNames(std::set<std::string> names) : names_(std::move(names)) {}

  std::set<std::string> In(const Body& body) && {
    Visit(body);
    return std::move(undeclared_);
  }

 private:
  void Visit(const Body& body) {
    for (const StatementPtr& statement : body) Visit(*statement);
  }
  void Visit(const ExpressionPtr& expression) {
    if (expression != nullptr) Visit(*expression);
  }
  void Visit(const Expression& expression) {
    if (expression.kind == ExpressionKind::kName && names_.contains(expression.text)) {
      undeclared_.insert(expression.text);
    }
    ForEachOperand(expression, [&](const Expression& operand) { Visit(operand); });
  }
  void VisitTarget(const ExpressionPtr& target) {
    if (target == nullptr) return;
    if (target->kind == ExpressionKind::kName) names_.erase(target->text);
    for (const ExpressionPtr& item : target->operands) VisitTarget(item);
  }
  void Visit(const Statement& statement) {
    VisitTarget(statement.target);
    Visit(statement.iterable);
    Visit(statement.call);
    if (statement.parameters != nullptr) {
      for (const ExpressionPtr& name : statement.parameters->names) VisitTarget(name);
      for (const ExpressionPtr& value : statement.parameters->defaults) Visit(value);
    }
    for (const ExpressionPtr& target : statement.targets) VisitTarget(target);
    for (const ExpressionPtr& expression : statement.expressions) Visit(expression);
    if (statement.kind == StatementKind::kSetBlock) Visit(statement.filter);
    for (const auto& [condition, body] : statement.branches) {
      Visit(condition);
      Visit(body);
    }
    Visit(statement.body);
    Visit(statement.otherwise);
    if (statement.kind != StatementKind::kSetBlock) Visit(statement.filter);
  }

  std::set<std::string> names_;
  std::set<std::string> undeclared_;
};

// Notes what the statements of one scope do to names, without looking into scopes inside:
// jinja2.idtracking's FrameSymbolVisitor.
class ScopeReader {
 public:
  explicit ScopeReader(int64_t& copies_left) : copies_left_(copies_left) {}

  void Load(const Expression& expression, Symbols* symbols) const {
    if (expression.kind == ExpressionKind::kName) symbols->LoadName(expression.text);
    ForEachOperand(expression, [&](const Expression& operand) { Load(operand, symbols); });
  }
  void Load(const ExpressionPtr& expression, Symbols* symbols) const {
    if (expression != nullptr) Load(*expression, symbols);
  }
  void Store(const Expression& target, Symbols* symbols) const {
    if (target.kind == ExpressionKind::kNamespaceTarget) {
      symbols->LoadName(target.text);
    } else if (target.kind == ExpressionKind::kName) {
      symbols->StoreName(target.text);
    }
    for (const ExpressionPtr& item : target.operands) Store(*item, symbols);
  }
  void Declare(const Expression& target, Symbols* symbols) const {
    if (target.kind == ExpressionKind::kName) symbols->DeclareParameter(target.text);
    for (const ExpressionPtr& item : target.operands) Declare(*item, symbols);
  }

  void Read(const Body& body, Symbols* symbols) {
    for (const StatementPtr& statement : body) Read(*statement, symbols);
  }

 private:
  void Read(const Statement& statement, Symbols* symbols) {
    switch (statement.kind) {
      case StatementKind::kOutput:
      case StatementKind::kWith:
        for (const ExpressionPtr& value : statement.expressions) Load(value, symbols);
        return;
      case StatementKind::kFor:
        Load(statement.iterable, symbols);
        return;
      case StatementKind::kIf:
        ReadIf(statement, symbols);
        return;
      case StatementKind::kMacro:
        symbols->StoreName(statement.text);
        return;
      case StatementKind::kCall:
        Load(statement.call, symbols);
        return;
      case StatementKind::kFilterBlock:
        Load(statement.filter, symbols);
        return;
      case StatementKind::kSet:
        Load(statement.expressions[0], symbols);
        Store(*statement.target, symbols);
        return;
      case StatementKind::kSetBlock:
        Store(*statement.target, symbols);
        return;
      default:
        return;
    }
  }

  // Jinja keeps the elifs in the first if's node: each is read as an if of its own, all of them in
  // one copy of the names.
  void ReadIf(const Statement& statement, Symbols* symbols) {
    Load(statement.branches[0].first, symbols);
    std::vector<Symbols> copies;
    for (int i = 0; i < 3; ++i) copies.push_back(Copy(*symbols));
    Read(statement.branches[0].second, &copies[0]);
    for (size_t i = 1; i < statement.branches.size(); ++i) {
      Load(statement.branches[i].first, &copies[1]);
      std::vector<Symbols> inner;
      for (int j = 0; j < 3; ++j) inner.push_back(Copy(copies[1]));
      Read(statement.branches[i].second, &inner[0]);
      copies[1].Merge(inner);
    }
    Read(statement.otherwise, &copies[2]);
    symbols->Merge(copies);
  }

  Symbols Copy(const Symbols& symbols) {
    copies_left_ -= static_cast<int64_t>(symbols.size()) + 1;
    return copies_left_ >= 0 ? symbols : Symbols(nullptr, symbols.function());
  }

  int64_t& copies_left_;
};

class Resolver {
 public:
  Result<void> Run(Template* parsed) {
    FunctionBuilder builder{nullptr, &parsed->function, {}};
    Symbols symbols(nullptr, &builder);
    reader_.Read(parsed->body, &symbols);
    WEFT_RETURN_IF_ERROR(Resolve(parsed->body, {&symbols, false, false}));
    parsed->scope = symbols.ToScope();
    return {};
  }

 private:
  struct Frame {
    Symbols* symbols;
    bool soft;     // in a condition: what is unknown there is an error only if it is reached
    bool in_loop;  // where break and continue mean something
  };

  static tl::unexpected<Error> Wrong(int line, std::string_view message) {
    return Fail(ErrorCode::kCorrupt, "line {}: {}", line, message);
  }

  static Slot SlotOf(const std::string& name, Symbols* symbols) {
    symbols->LoadName(name);  // unknown only where Jinja itself would fail
    return symbols->SlotFrom(*symbols->Find(name));
  }

  Result<void> Resolve(Expression* expression, const Frame& frame) {
    if (expression->kind == ExpressionKind::kName ||
        expression->kind == ExpressionKind::kNamespaceTarget) {
      expression->slot = SlotOf(expression->text, frame.symbols);
    }
    const bool is_filter = expression->kind == ExpressionKind::kFilter;
    if ((is_filter || expression->kind == ExpressionKind::kTest) &&
        expression->builtin == nullptr && !frame.soft) {
      return Wrong(expression->line,
                   fmt::format("there is no {} named {}", is_filter ? "filter" : "test",
                               Quoted(expression->text)));
    }
    Frame inner = frame;
    if (expression->kind == ExpressionKind::kConditional) inner.soft = true;
    Result<void> result;
    ForEachOperand(*expression, [&](Expression& operand) {
      if (result) result = Resolve(&operand, inner);
    });
    return result;
  }
  Result<void> Resolve(const ExpressionPtr& expression, const Frame& frame) {
    if (expression == nullptr) return {};
    return Resolve(expression.get(), frame);
  }
  Result<void> Resolve(const std::vector<ExpressionPtr>& expressions, const Frame& frame) {
    for (const ExpressionPtr& expression : expressions) {
      WEFT_RETURN_IF_ERROR(Resolve(expression, frame));
    }
    return {};
  }
  Result<void> Resolve(const Body& body, const Frame& frame) {
    for (const StatementPtr& statement : body) {
      WEFT_RETURN_IF_ERROR(Resolve(statement.get(), frame));
    }
    if (copies_left_ < 0) return Wrong(1, "the template has too many conditions and names");
    return {};
  }

  Result<void> Resolve(Statement* statement, const Frame& frame) {
    switch (statement->kind) {
      case StatementKind::kOutput:
        return Resolve(statement->expressions, frame);
      case StatementKind::kFor:
        return ResolveFor(statement, frame);
      case StatementKind::kIf:
        return ResolveIf(statement, frame);
      case StatementKind::kMacro:
        statement->slot = SlotOf(statement->text, frame.symbols);
        return ResolveFunction(statement, frame);
      case StatementKind::kCall:
        WEFT_RETURN_IF_ERROR(Resolve(statement->call, frame));
        return ResolveFunction(statement, frame);
      case StatementKind::kFilterBlock:
        return ResolveFilterBlock(statement, frame);
      case StatementKind::kWith:
        return ResolveWith(statement, frame);
      case StatementKind::kSet:
        WEFT_RETURN_IF_ERROR(Resolve(statement->expressions, frame));
        return Resolve(statement->target, frame);
      case StatementKind::kSetBlock:
        WEFT_RETURN_IF_ERROR(Resolve(statement->target, frame));
        return ResolveFilterBlock(statement, frame);
      case StatementKind::kScope:
        return ResolveFilterBlock(statement, frame);
      case StatementKind::kBreak:
      case StatementKind::kContinue:
        if (!frame.in_loop) {
          return Wrong(statement->line, "found 'break' or 'continue', expected it in a loop");
        }
        return {};
      case StatementKind::kUnavailable:
        return {};
    }
    return {};
  }

  Result<void> ResolveIf(Statement* statement, Frame frame) {
    frame.soft = true;
    for (const auto& [condition, body] : statement->branches) {
      WEFT_RETURN_IF_ERROR(Resolve(condition, frame));
      WEFT_RETURN_IF_ERROR(Resolve(body, frame));
    }
    return Resolve(statement->otherwise, frame);
  }

  // Filter blocks, set blocks, scopes: a scope around the body, which the filter sees too.
  Result<void> ResolveFilterBlock(Statement* statement, const Frame& frame) {
    Symbols symbols(frame.symbols, frame.symbols->function());
    reader_.Read(statement->body, &symbols);
    if (statement->kind == StatementKind::kFilterBlock) reader_.Load(statement->filter, &symbols);
    const Frame inner{&symbols, false, frame.in_loop};
    WEFT_RETURN_IF_ERROR(Resolve(statement->body, inner));
    WEFT_RETURN_IF_ERROR(Resolve(statement->filter, inner));
    statement->scope = symbols.ToScope();
    return {};
  }

  Result<void> ResolveWith(Statement* statement, const Frame& frame) {
    WEFT_RETURN_IF_ERROR(Resolve(statement->expressions, frame));
    Symbols symbols(frame.symbols, frame.symbols->function());
    for (const ExpressionPtr& target : statement->targets) reader_.Declare(*target, &symbols);
    reader_.Read(statement->body, &symbols);
    const Frame inner{&symbols, false, frame.in_loop};
    WEFT_RETURN_IF_ERROR(Resolve(statement->targets, inner));
    WEFT_RETURN_IF_ERROR(Resolve(statement->body, inner));
    statement->scope = symbols.ToScope();
    return {};
  }

  // Macros and call blocks.
  Result<void> ResolveFunction(Statement* statement, const Frame& frame) {
    statement->function = std::make_unique<Function>();
    frame.symbols->function()->function->has_closures = true;
    FunctionBuilder builder{frame.symbols->function(), statement->function.get(), {}};
    Symbols symbols(frame.symbols, &builder);
    MacroParameters& parameters = *statement->parameters;
    for (const ExpressionPtr& name : parameters.names) reader_.Declare(*name, &symbols);
    for (const ExpressionPtr& value : parameters.defaults) reader_.Load(value, &symbols);
    reader_.Read(statement->body, &symbols);
    WEFT_RETURN_IF_ERROR(DeclareSpecial(*statement, &parameters, &symbols));
    const Frame inner{&symbols, false, false};
    WEFT_RETURN_IF_ERROR(Resolve(parameters.names, inner));
    WEFT_RETURN_IF_ERROR(Resolve(parameters.defaults, inner));
    WEFT_RETURN_IF_ERROR(Resolve(statement->body, inner));
    statement->scope = symbols.ToScope();
    return {};
  }

  // caller, kwargs and varargs exist where the body reads them.
  static Result<void> DeclareSpecial(const Statement& statement, MacroParameters* parameters,
                                     Symbols* symbols) {
    const std::set<std::string> used =
        UndeclaredNames({"caller", "kwargs", "varargs"}).In(statement.body);
    const auto position = [&](std::string_view name) {
      const auto found = std::find_if(parameters->names.begin(), parameters->names.end(),
                                      [&](const ExpressionPtr& p) { return p->text == name; });
      return static_cast<size_t>(found - parameters->names.begin());
    };
    const size_t count = parameters->names.size();
    const auto declare = [&](const std::string& name, Slot* slot) {
      if (!used.contains(name) || position(name) < count) return;
      symbols->DeclareParameter(name);
      *slot = SlotOf(name, symbols);
    };
    parameters->takes_caller = used.contains("caller");
    if (parameters->takes_caller && position("caller") + parameters->defaults.size() < count) {
      return Wrong(statement.line, "the parameter 'caller' must have a default");
    }
    declare("caller", &parameters->caller);
    declare("kwargs", &parameters->kwargs);
    declare("varargs", &parameters->varargs);
    return {};
  }

  Result<void> ResolveFor(Statement* loop, const Frame& frame) {
    if (AssignsLoop(*loop)) return Wrong(loop->line, "'loop' cannot be assigned inside of a loop");
    WEFT_RETURN_IF_ERROR(Resolve(loop->iterable, frame));
    FunctionBuilder* function = frame.symbols->function();
    FunctionBuilder own{function, nullptr, {}};
    if (loop->recursive) {
      function->function->has_closures = true;
      loop->function = std::make_unique<Function>();
      own.function = loop->function.get();
      function = &own;
    }
    WEFT_RETURN_IF_ERROR(ResolveLoopBody(loop, frame, function));
    if (loop->filter != nullptr) {
      WEFT_RETURN_IF_ERROR(ResolveLoopFilter(loop, frame, function));
    }
    Symbols symbols(frame.symbols, function);
    reader_.Read(loop->otherwise, &symbols);
    WEFT_RETURN_IF_ERROR(
        Resolve(loop->otherwise, {&symbols, false, frame.in_loop && !loop->recursive}));
    loop->otherwise_scope = symbols.ToScope();
    return {};
  }

  Result<void> ResolveLoopBody(Statement* loop, const Frame& frame, FunctionBuilder* function) {
    Symbols symbols(frame.symbols, function);
    const bool uses_loop = loop->recursive || !UndeclaredNames({"loop"}).In(loop->body).empty();
    if (uses_loop) symbols.DeclareParameter("loop");
    reader_.Declare(*loop->target, &symbols);
    reader_.Read(loop->body, &symbols);
    const Frame inner{&symbols, false, true};
    WEFT_RETURN_IF_ERROR(Resolve(loop->target, inner));
    WEFT_RETURN_IF_ERROR(Resolve(loop->body, inner));
    if (uses_loop) loop->loop = SlotOf("loop", &symbols);
    loop->scope = symbols.ToScope();
    return {};
  }

  // The condition runs ahead of the body, on variables of its own.
  Result<void> ResolveLoopFilter(Statement* loop, const Frame& frame, FunctionBuilder* function) {
    Symbols symbols(frame.symbols, function, /*apart=*/true);
    reader_.Declare(*loop->target, &symbols);
    reader_.Load(loop->filter, &symbols);
    loop->filter_target = CopyTarget(*loop->target);
    const Frame inner{&symbols, false, false};
    WEFT_RETURN_IF_ERROR(Resolve(loop->filter_target, inner));
    WEFT_RETURN_IF_ERROR(Resolve(loop->filter, inner));
    loop->filter_scope = symbols.ToScope();
    return {};
  }

  static ExpressionPtr CopyTarget(const Expression& target) {
    auto copy = std::make_unique<Expression>();
    copy->kind = target.kind;
    copy->line = target.line;
    copy->text = target.text;
    for (const ExpressionPtr& item : target.operands) copy->operands.push_back(CopyTarget(*item));
    return copy;
  }

  static bool AssignsLoop(const ExpressionPtr& target) {
    if (target == nullptr) return false;
    if (target->kind == ExpressionKind::kName && target->text == "loop") return true;
    return std::any_of(target->operands.begin(), target->operands.end(),
                       [](const ExpressionPtr& item) { return AssignsLoop(item); });
  }
  static bool AssignsLoop(const Body& body) {
    return std::any_of(body.begin(), body.end(),
                       [](const StatementPtr& inner) { return AssignsLoop(*inner); });
  }
  static bool AssignsLoop(const Statement& statement) {
    return AssignsLoop(statement.target) || AssignsLoop(statement.body) ||
           AssignsLoop(statement.otherwise) ||
           std::any_of(statement.branches.begin(), statement.branches.end(),
                       [](const auto& branch) { return AssignsLoop(branch.second); });
  }

  int64_t copies_left_ = kMaxCopiedNames;
  ScopeReader reader_{copies_left_};
};

}  // namespace

Result<void> ResolveVariables(Template* parsed) { return Resolver().Run(parsed); }

}  // namespace weft::jinja
