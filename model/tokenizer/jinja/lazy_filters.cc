// Filters that make iterators: nothing happens until somebody walks them, and they are walked once.
#include <set>

#include "base/quoted.h"
#include "model/tokenizer/jinja/filters.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

// Walks `source` and hands on what Step() makes of each item.
class Stage : public IteratorObject {
 public:
  Stage(Budget* budget, int depth, Value source)
      : IteratorObject(budget, depth), source_(std::move(source)) {}

 protected:
  // The next item of the source, or missing.
  Result<Value> Pull(Runtime& runtime) {
    if (!runtime.Spend(1)) return runtime.Exceeded();
    if (!cursor_) {
      WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(source_));
      cursor_ = std::move(cursor);
    }
    return cursor_->Next(runtime);
  }
  const Value& source() const { return source_; }

 private:
  const Value source_;
  std::optional<Cursor> cursor_;
};

int DepthAround(const Value& source, const CallArguments& arguments) {
  int depth = ShapeOf(source).depth;
  for (const Value& argument : arguments.positional) {
    depth = std::max(depth, ShapeOf(argument).depth);
  }
  for (const auto& [name, argument] : arguments.keyword) {
    depth = std::max(depth, ShapeOf(argument).depth);
  }
  return depth + 1;
}

class MapIterator final : public Stage {
 public:
  MapIterator(Budget* budget, int depth, Value source, CallArguments arguments)
      : Stage(budget, depth, std::move(source)), arguments_(std::move(arguments)) {}

  Result<Value> Next(Runtime& runtime) override {
    if (!prepared_) {
      if (!Truth(source())) return Value();
      WEFT_RETURN_IF_ERROR(Prepare(runtime));
      prepared_ = true;
    }
    WEFT_ASSIGN_OR_RETURN(const Value item, Pull(runtime));
    if (item.is(Kind::kMissing)) return item;
    if (filter_ == nullptr) return getter_.Get(runtime, item);
    return Invoke(runtime, *filter_, item, arguments_);
  }

 private:
  Result<void> Prepare(Runtime& runtime) {
    if (arguments_.positional.empty()) {
      Value attribute;
      Value fallback;
      for (const auto& [name, value] : arguments_.keyword) {
        if (name == "attribute") {
          attribute = value;
        } else if (name == "default") {
          if (!value.is(Kind::kNone)) fallback = value;
        } else {
          return Fault("map: unexpected argument {}", Quoted(name));
        }
      }
      if (attribute.is(Kind::kMissing)) return Fault("map: needs a filter or attribute=");
      WEFT_ASSIGN_OR_RETURN(getter_, AttributeGetter::Make(runtime, attribute, false, fallback));
      return {};
    }
    const Value name = arguments_.positional.front();
    filter_ = name.is_string() ? FindFilter(name.text()) : nullptr;
    if (filter_ == nullptr) {
      std::string text;
      WEFT_RETURN_IF_ERROR(AppendRepr(runtime, name, &text));
      return Fault("map: there is no filter named {}", Quoted(text));
    }
    arguments_.positional.erase(arguments_.positional.begin());
    return {};
  }

  CallArguments arguments_;
  bool prepared_ = false;
  const Builtin* filter_ = nullptr;
  AttributeGetter getter_;
};

// select, reject, selectattr, rejectattr.
class SelectIterator final : public Stage {
 public:
  SelectIterator(Budget* budget, int depth, Value source, CallArguments arguments, bool keep,
                 bool by_attribute)
      : Stage(budget, depth, std::move(source)),
        arguments_(std::move(arguments)),
        keep_(keep),
        by_attribute_(by_attribute) {}

  Result<Value> Next(Runtime& runtime) override {
    if (!prepared_) {
      if (!Truth(source())) return Value();
      WEFT_RETURN_IF_ERROR(Prepare(runtime));
      prepared_ = true;
    }
    while (true) {
      WEFT_ASSIGN_OR_RETURN(Value item, Pull(runtime));
      if (item.is(Kind::kMissing)) return item;
      WEFT_ASSIGN_OR_RETURN(const bool passes, Passes(runtime, item));
      if (passes == keep_) return item;
    }
  }

 private:
  Result<void> Prepare(Runtime& runtime) {
    std::vector<Value>& positional = arguments_.positional;
    if (by_attribute_) {
      if (positional.empty()) return Fault("missing parameter for attribute name");
      WEFT_ASSIGN_OR_RETURN(getter_, AttributeGetter::Make(runtime, positional.front(), false));
      positional.erase(positional.begin());
    }
    if (positional.empty()) return {};
    const Value name = positional.front();
    test_ = name.is_string() ? FindTest(name.text()) : nullptr;
    if (test_ == nullptr) {
      std::string text;
      WEFT_RETURN_IF_ERROR(AppendRepr(runtime, name, &text));
      return Fault("there is no test named {}", Quoted(text));
    }
    positional.erase(positional.begin());
    return {};
  }

  Result<bool> Passes(Runtime& runtime, const Value& item) const {
    Value value = item;
    if (by_attribute_) {
      WEFT_ASSIGN_OR_RETURN(value, getter_.Get(runtime, item));
    }
    if (test_ == nullptr) return Truth(value);
    WEFT_ASSIGN_OR_RETURN(const Value result, Invoke(runtime, *test_, value, arguments_));
    return Truth(result);
  }

  CallArguments arguments_;
  const bool keep_;
  const bool by_attribute_;
  bool prepared_ = false;
  const Builtin* test_ = nullptr;
  AttributeGetter getter_;
};

Value MakeSelect(Runtime& runtime, const Value& self, const BoundArguments& arguments, bool keep,
                 bool by_attribute) {
  return runtime.NewIterator<SelectIterator>(DepthAround(self, arguments.rest), self,
                                             arguments.rest, keep, by_attribute);
}

class ItemsIterator final : public Stage {
 public:
  using Stage::Stage;
  Result<Value> Next(Runtime& runtime) override {
    if (source().is(Kind::kUndefined)) return Value();
    if (!source().is(Kind::kDict)) return Fault("items: can only get item pairs from a mapping");
    const auto& entries = source().dict().entries;
    if (position_ >= entries.size()) return Value();
    const auto& [key, value] = entries[position_++];
    return runtime.NewTuple({key, value});
  }

 private:
  size_t position_ = 0;
};

class BatchIterator final : public Stage {
 public:
  BatchIterator(Budget* budget, int depth, Value source, Value line_count, Value fill)
      : Stage(budget, depth, std::move(source)),
        line_count_(std::move(line_count)),
        fill_(std::move(fill)) {}

  Result<Value> Next(Runtime& runtime) override {
    if (ended_) return Value();
    std::vector<Value> line;
    if (!next_.is(Kind::kMissing)) line.push_back(std::exchange(next_, Value()));
    while (true) {
      WEFT_ASSIGN_OR_RETURN(Value item, Pull(runtime));
      if (item.is(Kind::kMissing)) break;
      if (Equals(runtime, Value::Int(static_cast<int64_t>(line.size())), line_count_)) {
        next_ = std::move(item);
        return runtime.NewList(std::move(line));
      }
      line.push_back(std::move(item));
    }
    ended_ = true;
    if (line.empty()) return Value();
    if (!fill_.is(Kind::kNone) && !fill_.is(Kind::kMissing)) {
      WEFT_ASSIGN_OR_RETURN(const int64_t wanted, ToIndex(line_count_, "batch"));
      const int64_t missing = wanted - static_cast<int64_t>(line.size());
      if (missing > 0) {
        if (!runtime.Spend(missing) || !runtime.budget().FitsItems(static_cast<uint64_t>(wanted))) {
          return runtime.Exceeded();
        }
        line.insert(line.end(), static_cast<size_t>(missing), fill_);
      }
    }
    return runtime.NewList(std::move(line));
  }

 private:
  const Value line_count_;
  const Value fill_;
  Value next_;
  bool ended_ = false;
};

class SliceIterator final : public Stage {
 public:
  SliceIterator(Budget* budget, int depth, Value source, Value slices, Value fill)
      : Stage(budget, depth, std::move(source)),
        slices_(std::move(slices)),
        fill_(std::move(fill)) {}

  Result<Value> Next(Runtime& runtime) override {
    if (!items_) {
      WEFT_ASSIGN_OR_RETURN(count_, ToIndex(slices_, "slice"));
      WEFT_ASSIGN_OR_RETURN(items_, Collect(runtime, source()));
      if (count_ == 0) return Fault("slice: division by zero");
    }
    if (number_ >= count_) return Value();
    const auto total = static_cast<int64_t>(items_->size());
    const int64_t each = total / count_;
    const int64_t with_extra = total % count_;
    const int64_t begin = offset_ + number_ * each;
    if (number_ < with_extra) ++offset_;
    const int64_t end = offset_ + (number_ + 1) * each;
    std::vector<Value> part(items_->begin() + begin, items_->begin() + end);
    const bool has_fill = !fill_.is(Kind::kNone) && !fill_.is(Kind::kMissing);
    if (has_fill && number_ >= with_extra) part.push_back(fill_);
    ++number_;
    if (!runtime.Spend(end - begin + 1)) return runtime.Exceeded();
    return runtime.NewList(std::move(part));
  }

 private:
  const Value slices_;
  const Value fill_;
  std::optional<std::vector<Value>> items_;
  int64_t count_ = 0;
  int64_t number_ = 0;
  int64_t offset_ = 0;
};

class UniqueIterator final : public Stage {
 public:
  UniqueIterator(Budget* budget, int depth, Value source, bool case_sensitive, Value attribute)
      : Stage(budget, depth, std::move(source)),
        case_sensitive_(case_sensitive),
        attribute_(std::move(attribute)) {}

  Result<Value> Next(Runtime& runtime) override {
    if (!prepared_) {
      WEFT_ASSIGN_OR_RETURN(getter_, AttributeGetter::Make(runtime, attribute_, !case_sensitive_));
      prepared_ = true;
    }
    while (true) {
      WEFT_ASSIGN_OR_RETURN(Value item, Pull(runtime));
      if (item.is(Kind::kMissing)) return item;
      WEFT_ASSIGN_OR_RETURN(Value key, getter_.Get(runtime, item));
      if (!IsHashable(key)) return Fault("unhashable type: '{}'", TypeName(key));
      if (seen_.insert(std::move(key)).second) return item;
    }
  }

 private:
  struct Before {
    bool operator()(const Value& a, const Value& b) const { return CompareKeys(a, b) < 0; }
  };

  const bool case_sensitive_;
  const Value attribute_;
  bool prepared_ = false;
  AttributeGetter getter_;
  std::set<Value, Before> seen_;
};

class ReversedIterator final : public Stage {
 public:
  ReversedIterator(Budget* budget, int depth, Value source, std::vector<Value> items)
      : Stage(budget, depth, std::move(source)), items_(std::move(items)) {}
  Result<Value> Next(Runtime&) override {
    if (items_.empty()) return Value();
    Value last = std::move(items_.back());
    items_.pop_back();
    return last;
  }

 private:
  std::vector<Value> items_;
};

Value FillArgument(const BoundArguments& arguments) {
  return arguments.has(1) ? arguments[1] : Value::None();
}

}  // namespace

Result<Value> FilterMap(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return runtime.NewIterator<MapIterator>(DepthAround(self, arguments.rest), self, arguments.rest);
}

Result<Value> FilterSelect(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return MakeSelect(runtime, self, arguments, true, false);
}
Result<Value> FilterReject(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return MakeSelect(runtime, self, arguments, false, false);
}
Result<Value> FilterSelectAttr(Runtime& runtime, const Value& self,
                               const BoundArguments& arguments) {
  return MakeSelect(runtime, self, arguments, true, true);
}
Result<Value> FilterRejectAttr(Runtime& runtime, const Value& self,
                               const BoundArguments& arguments) {
  return MakeSelect(runtime, self, arguments, false, true);
}

Result<Value> FilterItems(Runtime& runtime, const Value& self, const BoundArguments&) {
  return runtime.NewIterator<ItemsIterator>(ShapeOf(self).depth + 1, self);
}

Result<Value> FilterBatch(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return runtime.NewIterator<BatchIterator>(
      std::max(ShapeOf(self).depth, ShapeOf(FillArgument(arguments)).depth) + 1, self, arguments[0],
      FillArgument(arguments));
}

Result<Value> FilterSlice(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return runtime.NewIterator<SliceIterator>(
      std::max(ShapeOf(self).depth, ShapeOf(FillArgument(arguments)).depth) + 1, self, arguments[0],
      FillArgument(arguments));
}

Result<Value> FilterUnique(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return runtime.NewIterator<UniqueIterator>(ShapeOf(self).depth + 1, self,
                                             ArgumentTruth(arguments, 0),
                                             arguments.has(1) ? arguments[1] : Value::None());
}

Result<Value> FilterReverse(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (self.is_string()) {
    if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
    const int64_t count = self.string().character_count;
    return runtime.NewText(SliceText(self.string(), {count - 1, -1, count}),
                           self.string().is_markup);
  }
  if (!IsIterable(self)) return Fault("reverse: argument must be iterable");
  WEFT_ASSIGN_OR_RETURN(std::vector<Value> items, Collect(runtime, self));
  if (self.is(Kind::kIterator)) {
    std::reverse(items.begin(), items.end());
    return runtime.NewList(std::move(items));
  }
  return runtime.NewIterator<ReversedIterator>(ShapeOf(self).depth + 1, self, std::move(items));
}

}  // namespace weft::jinja
