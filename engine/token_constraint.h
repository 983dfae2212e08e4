// What the text of a request must be, where sampling alone does not decide. Compiled once by
// whoever knows what it is about; the engine sees tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "model/tensor.h"

namespace weft {

// A bit a token of the vocabulary: token t's is bit t % 32 of word t / 32.
using TokenMask = std::span<uint32_t>;

constexpr size_t TokenMaskWords(int64_t vocab_size) {
  return static_cast<size_t>((vocab_size + 31) / 32);
}
inline bool IsInMask(std::span<const uint32_t> mask, TokenId token) {
  return (mask[static_cast<size_t>(token) / 32] >> (token % 32) & 1U) != 0;
}
inline void SetInMask(TokenMask mask, TokenId token, bool value) {
  const uint32_t bit = uint32_t{1} << (token % 32);
  uint32_t& word = mask[static_cast<size_t>(token) / 32];
  word = value ? word | bit : word & ~bit;
}

// How far one text has come: a function of the tokens accepted so far and of nothing else, so that
// neither company nor preemption changes what may come. Used by one thread at a time, not always
// the same; what several of them share, they guard. Errors are limits that are exceeded; they fail
// the request.
class TokenMatcher {
 public:
  virtual ~TokenMatcher() = default;
  // Another text that has come as far.
  virtual std::unique_ptr<TokenMatcher> Clone() const = 0;

  // Few tokens may come next: worth a mask. Where it is false nearly all may, and the one that is
  // drawn is asked about alone.
  virtual bool IsNarrow() const = 0;
  // Sets the bits of the tokens that may come next, in a mask of zeros. May take long. What is set
  // for tokens that end the request's text does not count: they may come where it MayEnd.
  virtual Result<void> FillMask(TokenMask mask) = 0;
  // Whether this token may come next.
  virtual bool Allows(TokenId token) = 0;
  // Whether the text may end here.
  virtual bool MayEnd() const = 0;
  // It has come; it was allowed. Where there is a way out, it begins with the token, or the token
  // LeadsOut.
  virtual Result<void> Accept(TokenId token) = 0;

  // --- For texts that must come to an end within a number of tokens; of others it is not asked.
  // Finds a short way from the beginning of the text to where it may end, without the tokens of
  // `unusable`. Once, before any token. Error: none is found, as by those that look for none.
  virtual Result<void> FindWayOut(std::span<const TokenId> /*unusable*/) {
    return Fail(ErrorCode::kUnsupported, "no way to an end of the text is looked for");
  }
  // A way from here to where the text may end; valid until the matcher changes.
  virtual std::span<const TokenId> way_out() const { return {}; }
  // Whether a way of at most `most` tokens is found from behind this one, which may come next and
  // is usable. No more is looked for than one row of logits may take. Depends on the text so far
  // and the arguments alone.
  virtual bool LeadsOut(TokenId /*token*/, int32_t /*most*/) { return false; }
};

// Immutable, shared by a request's choices, thread-safe.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // For a text that begins where the prompt ends; the constraint outlives it and its clones.
  virtual std::unique_ptr<TokenMatcher> NewMatcher() const = 0;
};

}  // namespace weft
