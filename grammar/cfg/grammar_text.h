// The text of a grammar while it is read, and where in it something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "grammar/regex/symbol_set.h"

namespace weft {

// Which special tokens there are, by what a grammar calls them; the answer is the index of the
// token's symbol (symbol_set.h). Without a function there are none.
struct SpecialTokenLookup {
  std::function<std::optional<int32_t>(std::string_view name)> by_name;  // "<think>"
  std::function<std::optional<int32_t>(int64_t token)> by_id;
};

// How much a text of a grammar may be.
struct GrammarTextLimits {
  size_t max_bytes = 4U << 20U;
  int max_depth = 200;            // of groups
  int64_t max_count = 1'000'000;  // in a repetition
};

class GrammarText {
 public:
  // `text` stays where it is. `kind` is what messages begin with.
  GrammarText(std::string_view kind, std::string_view text) : kind_(kind), text_(text) {}

  size_t offset() const { return offset_; }
  void Seek(size_t offset) { offset_ = offset; }
  bool AtEnd() const { return offset_ == text_.size(); }
  // The byte `ahead` from here; 0 behind the end.
  char Peek(size_t ahead = 0) const {
    return ahead < text_.size() - offset_ ? text_[offset_ + ahead] : '\0';
  }
  std::string_view rest() const { return text_.substr(offset_); }
  std::string_view Since(size_t begin) const { return text_.substr(begin, offset_ - begin); }
  void Skip(size_t bytes) { offset_ += bytes; }
  // Skips `token` if it comes next.
  bool Take(std::string_view token);
  // A character, as it stands.
  Result<Symbol> TakeCharacter();
  // A backslash and one of `escapes`: \t, \r, \n, \f and \b are control characters, \xHH, \uHHHH
  // and \UHHHHHHHH are numbers of characters, all others stand for themselves.
  Result<Symbol> TakeEscape(std::string_view escapes);
  // A decimal number, at most `max`.
  Result<int64_t> TakeNumber(int64_t max);

  // Fails at the place where the text is now, or at `offset`: "gbnf:3:14: ...".
  tl::unexpected<Error> Wrong(std::string_view message) const { return WrongAt(offset_, message); }
  tl::unexpected<Error> WrongAt(size_t offset, std::string_view message) const;
  // What comes next, for messages.
  std::string Found() const;

 private:
  Result<Symbol> TakeHexadecimal(int digits);

  std::string_view kind_;
  std::string_view text_;
  size_t offset_ = 0;
};

}  // namespace weft
