// Coroutines that read a text which arrives in pieces: a parser written as if the whole text were
// there, which pauses wherever it is not. What it does cannot depend on how the text was cut.
#pragma once

#include <coroutine>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

// The text, and the coroutines that read it: the innermost one runs until it wants a byte that is
// not there. Coroutines never resume one another, so the stack stays flat however long the text is.
// Outlives its coroutines' runs; one thread.
class ParseInput {
 public:
  static constexpr int kEnd = -1;

  struct ByteAwaiter {
    ParseInput& input;
    size_t offset;
    bool await_ready() const { return input.Has(offset); }
    void await_suspend(std::coroutine_handle<> waiting) const {
      input.next_ = waiting;
      input.wanted_offset_ = offset;
      input.waits_ = true;
    }
    int await_resume() const { return input.At(offset); }
  };

  // co_await gives the byte `offset` places from here, which stays unread, or kEnd.
  ByteAwaiter Peek(size_t offset = 0) { return {*this, offset}; }
  // So many bytes have been read; no more than Peek has seen.
  void Skip(size_t count) { begin_ += count; }
  // The bytes seen or not that are there and unread.
  std::string_view unread() const { return std::string_view(text_).substr(begin_); }

  void Feed(std::string_view text) {
    text_.erase(0, begin_);
    begin_ = 0;
    text_ += text;
    Run();
  }
  // There is no more text.
  void Finish() {
    finished_ = true;
    Run();
  }
  // `next` runs as soon as the coroutine that calls this has suspended; for ParseTask.
  void RunNext(std::coroutine_handle<> next) {
    next_ = next;
    waits_ = false;
  }

 private:
  bool Has(size_t offset) const { return finished_ || begin_ + offset < text_.size(); }
  int At(size_t offset) const {
    if (begin_ + offset >= text_.size()) return kEnd;
    return static_cast<unsigned char>(text_[begin_ + offset]);
  }
  void Run() {
    while (next_ && (!waits_ || Has(wanted_offset_))) std::exchange(next_, {}).resume();
  }

  std::string text_;
  size_t begin_ = 0;
  bool finished_ = false;
  std::coroutine_handle<> next_;
  bool waits_ = false;  // next_ waits for a byte
  size_t wanted_offset_ = 0;
};

struct NoValue {};

// A coroutine that reads a ParseInput and returns a T; it runs when it is awaited by another one,
// or started. Keep `co_await` out of conditions: g++ 12 destroys temporaries there twice.
template <typename T = NoValue>
class ParseTask {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle done) const noexcept {
      promise_type& promise = done.promise();
      if (promise.continuation) promise.input->RunNext(promise.continuation);
    }
    void await_resume() const noexcept {}
  };

  struct promise_type {
    ParseTask get_return_object() { return ParseTask(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() { throw; }  // out of memory: to whoever fed the input
    void return_value(T result) { value = std::move(result); }

    ParseInput* input = nullptr;
    std::coroutine_handle<> continuation;
    T value{};
  };

  ParseTask() = default;
  ParseTask(ParseTask&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  ParseTask& operator=(ParseTask&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~ParseTask() {
    if (handle_) handle_.destroy();
  }

  // Makes this the outermost coroutine of `input`; it begins with the next Feed or Finish.
  void Start(ParseInput& input) {
    handle_.promise().input = &input;
    input.RunNext(handle_);
  }

  bool await_ready() const noexcept { return false; }
  template <typename ParentPromise>
  void await_suspend(std::coroutine_handle<ParentPromise> parent) const {
    promise_type& promise = handle_.promise();
    promise.input = parent.promise().input;
    promise.continuation = parent;
    promise.input->RunNext(handle_);
  }
  T await_resume() const { return std::move(handle_.promise().value); }

 private:
  explicit ParseTask(Handle handle) : handle_(handle) {}
  Handle handle_;
};

}  // namespace weft
