// The functions that every template has.
#include <limits>

#include "base/quoted.h"
#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/format.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

class Cycler final : public CallableObject,
                     public CyclicObject,
                     public std::enable_shared_from_this<Cycler> {
 public:
  Cycler(Budget* budget, std::vector<Value> items)
      : CallableObject(budget, sizeof(Cycler)), items_(std::move(items)) {}
  void Empty() override { items_.clear(); }
  bool is_callable() const override { return false; }
  std::string Describe() const override { return "<Cycler>"; }
  std::string_view TypeName() const override { return "Cycler"; }
  Result<Value> Call(Runtime&, CallArguments) override {
    return Fault("'Cycler' object is not callable");
  }
  Result<Value> Attribute(Runtime& runtime, std::string_view name) override {
    if (name == "current") return items_[position_];
    if (name == "pos") return Value::Int(static_cast<int64_t>(position_));
    if (name == "items") return runtime.NewTuple(items_);
    if (name == "next") {
      return runtime.NewCallable<FunctionObject>(
          "next", [self = shared_from_this()](Runtime&, const CallArguments&) -> Result<Value> {
            Value current = self->items_[self->position_];
            self->position_ = (self->position_ + 1) % self->items_.size();
            return current;
          });
    }
    if (name == "reset") {
      return runtime.NewCallable<FunctionObject>(
          "reset", [self = shared_from_this()](Runtime&, const CallArguments&) -> Result<Value> {
            self->position_ = 0;
            return Value::None();
          });
    }
    return Value();
  }

 private:
  std::vector<Value> items_;
  size_t position_ = 0;
};

class Joiner final : public CallableObject, public CyclicObject {
 public:
  Joiner(Budget* budget, Value separator)
      : CallableObject(budget, sizeof(Joiner)), separator_(std::move(separator)) {}
  void Empty() override { separator_ = Value(); }
  std::string Describe() const override { return "<Joiner>"; }
  std::string_view TypeName() const override { return "Joiner"; }
  Result<Value> Call(Runtime& runtime, CallArguments arguments) override {
    if (!arguments.positional.empty() || !arguments.keyword.empty()) {
      return Fault("a joiner takes no arguments");
    }
    if (used_) return separator_;
    used_ = true;
    return runtime.empty_string();
  }
  Result<Value> Attribute(Runtime&, std::string_view name) override {
    if (name == "sep") return separator_;
    if (name == "used") return Value::Bool(used_);
    return Value();
  }

 private:
  Value separator_;
  bool used_ = false;
};

// A function by its row in the table.
class GlobalFunction final : public CallableObject {
 public:
  GlobalFunction(Budget* budget, const Builtin* function)
      : CallableObject(budget, sizeof(GlobalFunction)), function_(*function) {}
  Result<Value> Call(Runtime& runtime, CallArguments arguments) override {
    return Invoke(runtime, function_, Value::None(), std::move(arguments));
  }
  Result<Value> Attribute(Runtime& runtime, std::string_view name) override;
  std::string Describe() const override { return "<function " + std::string(function_.name) + ">"; }

 private:
  const Builtin& function_;
};

// What dict(...) and namespace(...) take: a mapping or pairs, then names.
Result<std::vector<DictObject::Entry>> EntriesOf(Runtime& runtime, const CallArguments& arguments) {
  std::vector<DictObject::Entry> entries;
  if (arguments.positional.size() > 1) {
    return Fault("dict: takes at most 1 argument, found {}", arguments.positional.size());
  }
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::kDict)) {
      if (!runtime.Spend(static_cast<int64_t>(source.dict().entries.size()))) {
        return runtime.Exceeded();
      }
      entries = source.dict().entries;
    } else {
      WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, source));
      for (const Value& item : items) {
        WEFT_ASSIGN_OR_RETURN(const std::vector<Value> pair, Collect(runtime, item));
        if (pair.size() != 2) return Fault("dict: expected pairs, found {} values", pair.size());
        if (!IsHashable(pair[0])) return Fault("unhashable type: '{}'", TypeName(pair[0]));
        entries.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.keyword) {
    entries.emplace_back(runtime.NewString(name), value);
  }
  return entries;
}

Result<Value> Dict(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(auto entries, EntriesOf(runtime, arguments.rest));
  return runtime.NewDict(std::move(entries));
}

Result<Value> DictFromKeys(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> keys, Collect(runtime, arguments[0]));
  std::vector<DictObject::Entry> entries;
  for (const Value& key : keys) {
    if (!IsHashable(key)) return Fault("unhashable type: '{}'", TypeName(key));
    entries.emplace_back(key, arguments.has(1) ? arguments[1] : Value::None());
  }
  return runtime.NewDict(std::move(entries));
}

Result<Value> Namespace(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(auto entries, EntriesOf(runtime, arguments.rest));
  const Value result = runtime.NewNamespace({});
  for (const auto& [key, value] : entries) {
    if (!key.is_string()) return Fault("namespace: names must be strings, not '{}'", TypeName(key));
    WEFT_RETURN_IF_ERROR(SetAttribute(runtime, result, key.text(), value));
  }
  return result;
}

Result<Value> MakeCycler(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  if (arguments.rest.positional.empty()) {
    return Fault("cycler: at least one item has to be provided");
  }
  if (!arguments.rest.keyword.empty()) return Fault("cycler: takes no named arguments");
  auto object = std::make_shared<Cycler>(&runtime.budget(), arguments.rest.positional);
  runtime.Keep(object);
  return Value(Kind::kCallable, std::move(object));
}

Result<Value> MakeJoiner(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  auto object = std::make_shared<Joiner>(&runtime.budget(),
                                         arguments.has(0) ? arguments[0] : runtime.NewString(", "));
  runtime.Keep(object);
  return Value(Kind::kCallable, std::move(object));
}

Result<Value> RaiseException(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string message, Str(runtime, arguments[0]));
  return Fail(ErrorCode::kInvalidArgument, "{}", message);
}

Result<Value> StrftimeNow(Runtime& runtime, const Value&, const BoundArguments& arguments) {
  if (!arguments[0].is_string()) return Fault("strftime_now: expected the format as a string");
  WEFT_ASSIGN_OR_RETURN(std::string text, FormatTime(arguments[0].text(), runtime.now()));
  return runtime.NewString(std::move(text));
}

Result<Value> Range(Runtime&, const Value&, const BoundArguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  const size_t given = arguments.has(2) ? 3 : arguments.has(1) ? 2 : 1;
  for (size_t i = 0; i < given; ++i) {
    WEFT_ASSIGN_OR_RETURN(bounds[given == 1 ? 1 : i], ToIndex(arguments[i], "range"));
  }
  const auto [start, stop, step] = bounds;
  if (step == 0) return Fault("range: step must not be zero");
  // Distances do not fit 64 bits signed, their halves do.
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t distance = empty      ? 0
                            : step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                       : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = empty ? 0 : (distance - 1) / stride + 1;
  if (count > uint64_t{kMaxRangeItems}) {
    return Fault("range: {} items, but the sandbox allows at most {}", count, kMaxRangeItems);
  }
  return Value(Kind::kRange,
               std::make_shared<RangeObject>(start, stop, step, static_cast<int64_t>(count)));
}

constexpr Builtin kGlobals[] = {
    {"cycler", MakeCycler, "*"},
    {"dict", Dict, "*"},
    {"joiner", MakeJoiner, "sep"},
    {"namespace", Namespace, "*"},
    {"raise_exception", RaiseException, "message", 1},
    {"range", Range, "start stop step", 1, false},
    {"strftime_now", StrftimeNow, "format", 1},
};
constexpr Builtin kFromKeys = {"fromkeys", DictFromKeys, "iterable value", 1, false};

Result<Value> GlobalFunction::Attribute(Runtime& runtime, std::string_view name) {
  if (function_.name == "dict" && name == "fromkeys") {
    return runtime.NewCallable<GlobalFunction>(&kFromKeys);
  }
  return Value();
}

}  // namespace

Value FindGlobal(Runtime& runtime, std::string_view name) {
  for (const Builtin& function : kGlobals) {
    if (function.name == name) return runtime.NewCallable<GlobalFunction>(&function);
  }
  return {};
}

Result<void> SetAttribute(Runtime& runtime, const Value& object, std::string_view name,
                          const Value& value) {
  if (!name.empty() && name[0] == '_') {
    return Fault("a namespace cannot have the attribute {}: it begins with an underscore",
                 Quoted(name));
  }
  NamespaceObject& attributes = object.name_space();
  if (Value* found = attributes.Find(name)) {
    *found = value;
    return {};
  }
  if (!runtime.Spend(static_cast<int64_t>(attributes.attributes.size()))) {
    return runtime.Exceeded();
  }
  attributes.attributes.emplace_back(std::string(name), value);
  return {};
}

}  // namespace weft::jinja
