#include "model/tokenizer/jinja/runtime.h"

namespace weft::jinja {

Runtime::~Runtime() {
  for (const auto& object : kept_) object->Empty();
}

Value Runtime::NewText(std::string text, bool is_markup) {
  if (text.empty() && !is_markup) return empty_string_;
  return {Kind::kString, std::make_shared<StringObject>(&budget_, std::move(text), is_markup)};
}

Value Runtime::NewSequence(Kind kind, std::vector<Value> items) {
  const Shape shape = ShapeAround(items);
  if (shape.depth > kMaxValueDepth) {
    budget_.SetTooDeep();
    return Value::None();
  }
  return {kind, std::make_shared<SequenceObject>(&budget_, std::move(items), shape, false)};
}

Value Runtime::NewGroup(Value grouper, Value list) {
  std::vector<Value> items = {std::move(grouper), std::move(list)};
  const Shape shape = ShapeAround(items);
  if (shape.depth > kMaxValueDepth) {
    budget_.SetTooDeep();
    return Value::None();
  }
  return {Kind::kTuple, std::make_shared<SequenceObject>(&budget_, std::move(items), shape, true)};
}

Value Runtime::NewDict(std::vector<DictObject::Entry> entries) {
  Shape shape;
  for (const auto& [key, value] : entries) {
    for (const Shape part : {ShapeOf(key), ShapeOf(value)}) {
      shape.depth = std::max(shape.depth, part.depth);
      if (__builtin_add_overflow(shape.weight, part.weight, &shape.weight)) shape.weight = ~0ULL;
    }
  }
  if (++shape.depth > kMaxValueDepth) {
    budget_.SetTooDeep();
    return Value::None();
  }
  return {Kind::kDict, std::make_shared<DictObject>(&budget_, std::move(entries), shape)};
}

Value Runtime::NewNamespace(std::vector<std::pair<std::string, Value>> attributes) {
  auto object = std::make_shared<NamespaceObject>(&budget_);
  object->attributes = std::move(attributes);
  kept_.push_back(object);
  return {Kind::kNamespace, std::move(object)};
}

}  // namespace weft::jinja
