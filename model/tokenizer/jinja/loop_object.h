// What a template sees as `loop`.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/jinja/interpreter.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

// Mutable: one run of one loop. Walks the items, one ahead of the body where it is asked to.
class LoopObject final : public CallableObject,
                         public CyclicObject,
                         public std::enable_shared_from_this<LoopObject> {
 public:
  struct Origin {
    Interpreter* interpreter;
    const Statement* statement;
    Activation* activation;  // of the body, while the loop runs
    Activation* outer;       // of recursive loops: where their function stands
  };
  LoopObject(Budget* budget, Cursor items, Origin origin, int depth0);

  // The next item, or a missing value; becomes the current one.
  Result<Value> Advance(Runtime& runtime);
  // The loop is over: what is left cannot be looked at any more.
  void Detach();

  Result<Value> Call(Runtime& runtime, CallArguments arguments) override;
  Result<Value> Attribute(Runtime& runtime, std::string_view name) override;
  bool is_callable() const override { return true; }
  std::string Describe() const override;
  std::string_view TypeName() const override { return "LoopContext"; }
  void Empty() override;

 private:
  Result<Value> Pull(Runtime& runtime);
  Result<Value> PeekNext(Runtime& runtime);
  Result<int64_t> CountItems(Runtime& runtime);
  Result<Value> Cycle(const std::vector<Value>& values) const;
  bool Changed(Runtime& runtime, std::vector<Value> values);

  std::optional<Cursor> items_;
  Origin origin_;
  const int depth0_;
  int64_t index0_ = -1;
  std::optional<int64_t> count_;
  std::deque<Value> pulled_;  // what was walked to count
  Value after_, current_, before_;
  std::optional<std::vector<Value>> last_changed_;
};

}  // namespace weft::jinja
