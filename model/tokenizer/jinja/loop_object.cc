#include "model/tokenizer/jinja/loop_object.h"

#include <utility>

namespace weft::jinja {

LoopObject::LoopObject(Budget* budget, Cursor items, Origin origin, int depth0)
    : CallableObject(budget, sizeof(LoopObject)),
      items_(std::move(items)),
      origin_(origin),
      depth0_(depth0) {
  if (origin_.statement->filter == nullptr) count_ = items_->Count();
}

std::string LoopObject::Describe() const {
  return fmt::format("<LoopContext {}/{}>", index0_ + 1, count_ ? fmt::format("{}", *count_) : "?");
}

void LoopObject::Detach() {
  items_.reset();
  pulled_.clear();
  origin_.activation = nullptr;
}

void LoopObject::Empty() {
  Detach();
  after_ = current_ = before_ = Value();
  last_changed_.reset();
}

Result<Value> LoopObject::Pull(Runtime& runtime) {
  if (!pulled_.empty()) {
    Value next = std::move(pulled_.front());
    pulled_.pop_front();
    return next;
  }
  while (items_) {
    if (!runtime.Spend(1)) return runtime.Exceeded();
    WEFT_ASSIGN_OR_RETURN(Value next, items_->Next(runtime));
    if (next.is(Kind::kMissing) || origin_.statement->filter == nullptr) return next;
    WEFT_ASSIGN_OR_RETURN(const bool accepted, origin_.interpreter->AcceptsItem(
                                                   *origin_.statement, next, *origin_.activation));
    if (accepted) return next;
  }
  return Value();
}

Result<Value> LoopObject::Advance(Runtime& runtime) {
  Value next = std::exchange(after_, Value());
  if (next.is(Kind::kMissing)) {
    WEFT_ASSIGN_OR_RETURN(next, Pull(runtime));
  }
  if (next.is(Kind::kMissing)) return next;
  ++index0_;
  before_ = std::move(current_);
  current_ = next;
  return next;
}

Result<Value> LoopObject::PeekNext(Runtime& runtime) {
  if (after_.is(Kind::kMissing)) {
    WEFT_ASSIGN_OR_RETURN(after_, Pull(runtime));
  }
  return after_;
}

Result<int64_t> LoopObject::CountItems(Runtime& runtime) {
  if (count_) return *count_;
  std::deque<Value> rest;
  while (true) {
    WEFT_ASSIGN_OR_RETURN(Value next, Pull(runtime));
    if (next.is(Kind::kMissing)) break;
    rest.push_back(std::move(next));
  }
  pulled_ = std::move(rest);
  count_ = static_cast<int64_t>(pulled_.size()) + index0_ + 1 + (after_.is(Kind::kMissing) ? 0 : 1);
  return *count_;
}

Result<Value> LoopObject::Attribute(Runtime& runtime, std::string_view name) {
  if (name == "index") return Value::Int(index0_ + 1);
  if (name == "index0") return Value::Int(index0_);
  if (name == "first") return Value::Bool(index0_ == 0);
  if (name == "depth") return Value::Int(depth0_ + 1);
  if (name == "depth0") return Value::Int(depth0_);
  if (name == "last") {
    WEFT_ASSIGN_OR_RETURN(const Value next, PeekNext(runtime));
    return Value::Bool(next.is(Kind::kMissing));
  }
  if (name == "previtem") {
    if (index0_ == 0) return MakeUndefined("there is no previous item");
    return before_;
  }
  if (name == "nextitem") {
    WEFT_ASSIGN_OR_RETURN(Value next, PeekNext(runtime));
    if (next.is(Kind::kMissing)) return MakeUndefined("there is no next item");
    return next;
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    WEFT_ASSIGN_OR_RETURN(const int64_t count, CountItems(runtime));
    if (name == "length") return Value::Int(count);
    return Value::Int(count - index0_ - (name == "revindex0" ? 1 : 0));
  }
  if (name == "cycle") {
    return runtime.NewCallable<FunctionObject>(
        "cycle", [self = shared_from_this()](Runtime&, const CallArguments& arguments) {
          return self->Cycle(arguments.positional);
        });
  }
  if (name == "changed") {
    return runtime.NewCallable<FunctionObject>(
        "changed",
        [self = shared_from_this()](Runtime& current, CallArguments arguments) -> Result<Value> {
          return Value::Bool(self->Changed(current, std::move(arguments.positional)));
        });
  }
  return Value();
}

Result<Value> LoopObject::Cycle(const std::vector<Value>& values) const {
  if (values.empty()) return Fault("cycle: no items for cycling given");
  return values[static_cast<size_t>(index0_) % values.size()];
}

bool LoopObject::Changed(Runtime& runtime, std::vector<Value> values) {
  bool same = last_changed_ && last_changed_->size() == values.size();
  for (size_t i = 0; same && i < values.size(); ++i) {
    same = Equals(runtime, (*last_changed_)[i], values[i]);
  }
  if (!same) last_changed_ = std::move(values);
  return !same;
}

Result<Value> LoopObject::Call(Runtime&, CallArguments arguments) {
  if (!origin_.statement->recursive) {
    return Fault("the loop must have the 'recursive' marker to be called");
  }
  if (arguments.positional.size() != 1 || !arguments.keyword.empty()) {
    return Fault("loop() takes one argument");
  }
  return origin_.interpreter->CallLoop(*origin_.statement, origin_.outer, arguments.positional[0],
                                       depth0_ + 1);
}

}  // namespace weft::jinja
