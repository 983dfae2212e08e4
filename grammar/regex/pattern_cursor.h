// The place in a pattern that is being read, and what stands for symbols there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/utf8.h"
#include "grammar/regex/pattern.h"
#include "grammar/regex/symbol_set.h"

namespace weft {

class PatternCursor {
 public:
  // `pattern` is valid UTF-8.
  PatternCursor(std::string_view pattern, PatternDialect written_in)
      : dialect(written_in), pattern_(pattern) {}

  size_t at() const { return at_; }
  bool AtEnd() const { return at_ == pattern_.size(); }
  bool Sees(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  // The byte at `ahead` from here, 0 behind the end.
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool Skip(std::string_view text) {
    if (!Sees(text)) return false;
    at_ += text.size();
    return true;
  }
  void Advance(size_t bytes) { at_ += bytes; }
  void Return(size_t at) { at_ = at; }
  // The character here, which is gone past.
  Symbol Next() {
    const Utf8Character character = DecodeUtf8(pattern_, at_);
    at_ += character.size_bytes;
    return character.code_point;
  }
  std::string_view Rest() const { return pattern_.substr(at_); }

  // "at byte 7: ...": what begins at `from` is wrong.
  template <typename... Args>
  tl::unexpected<Error> Wrong(size_t from, fmt::format_string<Args...> format,
                              Args&&... args) const {
    return Fail(ErrorCode::kInvalidArgument, "at byte {}: {}", from,
                fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  tl::unexpected<Error> Unsupported(size_t from, fmt::format_string<Args...> format,
                                    Args&&... args) const {
    return Fail(ErrorCode::kUnsupported, "at byte {}: {}", from,
                fmt::format(format, std::forward<Args>(args)...));
  }

  const PatternDialect dialect;
  bool ignore_case = false;
  bool multi_line = false;  // ^ and $ at every line
  bool dot_is_all = false;  // . is line ends, too

 private:
  std::string_view pattern_;
  size_t at_ = 0;
};

// What a class or an escape stands for.
struct SymbolAtom {
  SymbolSet set;
  bool single = false;  // it is one symbol, which may begin or end a range
  Symbol symbol = 0;

  static SymbolAtom Single(Symbol symbol) { return {SymbolSet({{symbol, symbol}}), true, symbol}; }
};

// Behind a backslash. Case is not regarded yet where it is a single symbol.
Result<SymbolAtom> ReadEscape(PatternCursor* cursor, bool in_class);
// Behind "[", through "]". As ignore_case says.
Result<SymbolSet> ReadClass(PatternCursor* cursor);

}  // namespace weft
