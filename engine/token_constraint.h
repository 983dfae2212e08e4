// What the text of a request must be, where sampling alone does not decide. Compiled once by
// whoever knows what it is about; the engine sees bytes.
#pragma once

#include <memory>
#include <string_view>

namespace weft {

// How far one text has come: a function of the bytes accepted so far and of nothing else, so that
// neither company nor preemption changes what may come. Const methods may be called from any
// thread, as long as none accepts.
class TokenMatcher {
 public:
  virtual ~TokenMatcher() = default;
  // Few tokens may come next: worth asking about every token of the vocabulary. Where it is false
  // nearly all may, and the one that is drawn is asked about alone.
  virtual bool IsNarrow() const = 0;
  // Whether a token of these bytes may come next; not empty.
  virtual bool Allows(std::string_view bytes) const = 0;
  // Whether the text may end here, and so whether tokens may come that add nothing to it.
  virtual bool MayEnd() const = 0;
  // They have come; they were allowed.
  virtual void Accept(std::string_view bytes) = 0;
};

// Immutable, shared by a request's choices, thread-safe.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // For a text that begins where the prompt ends; the constraint outlives it.
  virtual std::unique_ptr<TokenMatcher> NewMatcher() const = 0;
};

}  // namespace weft
