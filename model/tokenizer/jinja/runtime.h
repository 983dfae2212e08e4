// What one render owns: its budget, its values, and what keeps them alive. One thread.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/jinja/limits.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

// A template that does what Python would not: ErrorCode::kInternal.
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> Fault(fmt::format_string<Args...> format, Args&&... args) {
  return Fail(ErrorCode::kInternal, format, std::forward<Args>(args)...);
}

class Runtime {
 public:
  // `now` is the local time that strftime_now sees.
  Runtime(const RenderLimits& limits, const std::tm& now) : budget_(limits), now_(now) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // Values of this render. What exceeds a limit makes the budget refuse the next step.
  Value NewString(std::string text) { return NewText(std::move(text), false); }
  Value NewText(std::string text, bool is_markup);
  Value NewList(std::vector<Value> items) { return NewSequence(Kind::kList, std::move(items)); }
  Value NewTuple(std::vector<Value> items) { return NewSequence(Kind::kTuple, std::move(items)); }
  Value NewGroup(Value grouper, Value list);  // groupby's tuple
  Value NewDict(std::vector<DictObject::Entry> entries);
  Value NewNamespace(std::vector<std::pair<std::string, Value>> attributes);

  template <typename Iterator, typename... Args>
  Value NewIterator(int depth, Args&&... args) {
    if (depth > kMaxValueDepth) {
      budget_.SetTooDeep();
      return Value::None();
    }
    return {Kind::kIterator,
            std::make_shared<Iterator>(&budget_, depth, std::forward<Args>(args)...)};
  }
  template <typename Callable, typename... Args>
  Value NewCallable(Args&&... args) {
    return {Kind::kCallable, std::make_shared<Callable>(&budget_, std::forward<Args>(args)...)};
  }
  // Kept until the end, then emptied.
  void Keep(std::shared_ptr<CyclicObject> object) { kept_.push_back(std::move(object)); }

  bool Spend(int64_t steps) { return budget_.Spend(steps); }
  // For work over as many bytes or values.
  bool SpendBytes(uint64_t size_bytes) {
    return budget_.Spend(static_cast<int64_t>(size_bytes >> 6) + 1);
  }
  // Why the budget refused.
  [[nodiscard]] tl::unexpected<Error> Exceeded() const {
    return Fail(ErrorCode::kResourceExhausted, "the chat template {}", budget_.Reason());
  }

  Budget& budget() { return budget_; }
  const std::tm& now() const { return now_; }
  const Value& empty_string() const { return empty_string_; }

 private:
  Value NewSequence(Kind kind, std::vector<Value> items);

  Budget budget_;
  const std::tm now_;
  const Value empty_string_ = ConstantString("");
  std::vector<std::shared_ptr<CyclicObject>> kept_;
};

// Counts one level of recursion for as long as it lives.
class DepthGuard {
 public:
  explicit DepthGuard(Runtime& runtime) : budget_(runtime.budget()), ok_(budget_.Enter()) {}
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { budget_.Leave(); }
  bool ok() const { return ok_; }

 private:
  Budget& budget_;
  const bool ok_;
};

}  // namespace weft::jinja
