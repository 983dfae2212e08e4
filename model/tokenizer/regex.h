// Regular expressions of tokenizer files, which are written for Oniguruma, run by PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace weft {

struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

// Where one caller's matches are kept; one thread.
class RegexScratch {
 public:
  RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;
  ~RegexScratch();

 private:
  friend class Regex;
  pcre2_real_match_data_8* match_data_;
};

// A compiled pattern, for texts that went through WithStandIns (unicode.h); any number of threads
// may search with it.
class Regex {
 public:
  // \s, \d, \w and \p{...} are Unicode's, ^ and $ match at line ends. What the two engines read
  // differently is translated (\s, \w, \b, {1,3}+, classes inside classes and their intersections)
  // or refused by name (\h, and inside a class \W, \b, a negated class).
  static Result<Regex> Compile(std::string_view pattern);

  // The first match at or behind `offset` in valid UTF-8; it may be empty. A search that exceeds
  // PCRE2's limits finds nothing.
  std::optional<ByteRange> Find(std::string_view text, size_t offset, RegexScratch* scratch) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  explicit Regex(pcre2_real_code_8* code) : code_(code) {}

  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
};

}  // namespace weft
