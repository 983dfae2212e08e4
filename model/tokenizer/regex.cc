#include "model/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <pcre2.h>

#include "base/check.h"

namespace weft {
namespace {

constexpr size_t kMaxPatternBytes = 1 << 16;

// Oniguruma's \s is Unicode's White_Space; PCRE2's adds U+180E.
constexpr std::string_view kSpace = "\\p{White_Space}";
constexpr std::string_view kNotSpace = "\\P{White_Space}";

tl::unexpected<Error> Unsupported(std::string_view construct, std::string_view pattern) {
  return Fail(ErrorCode::kUnsupported,
              "regular expression \"{}\": {} means something else to PCRE2, which runs it", pattern,
              construct);
}

Result<std::string> TranslateFromOniguruma(std::string_view pattern) {
  std::string translated;
  translated.reserve(pattern.size());
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const std::string_view rest = pattern.substr(i);
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 'h' || escaped == 'H') return Unsupported("\\h", pattern);
      if (escaped == 's') {
        translated += kSpace;
      } else if (escaped == 'S') {
        translated += kNotSpace;
      } else {
        translated.append({'\\', escaped});
      }
      continue;
    }
    if (in_class) {
      if (rest.starts_with("&&")) return Unsupported("&& inside a class", pattern);
      if (rest.starts_with("[:")) {
        const size_t close = pattern.find(":]", i);
        if (close == std::string_view::npos) return Unsupported("[ inside a class", pattern);
        translated.append(pattern.substr(i, close + 2 - i));
        i = close + 1;
        continue;
      }
      if (c == '[') return Unsupported("[ inside a class", pattern);
      if (c == ']') in_class = false;
    } else if (c == '[') {
      in_class = true;
      // A ] that stands first in a class is literal.
      translated.push_back(c);
      if (rest.starts_with("[^")) translated.push_back(pattern[++i]);
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') {
        translated += "\\]";
        ++i;
      }
      continue;
    }
    translated.push_back(c);
  }
  return translated;
}

}  // namespace

RegexScratch::RegexScratch() : match_data_(pcre2_match_data_create(1, nullptr)) {
  WEFT_CHECK(match_data_ != nullptr);
}

RegexScratch::~RegexScratch() { pcre2_match_data_free(match_data_); }

void Regex::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<Regex> Regex::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return Fail(ErrorCode::kInvalidArgument,
                "regular expression of {} bytes, at most {} are accepted", pattern.size(),
                kMaxPatternBytes);
  }
  WEFT_ASSIGN_OR_RETURN(const std::string translated, TranslateFromOniguruma(pattern));
  int error = 0;
  size_t offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<char, 128> message = {};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
    return Fail(ErrorCode::kInvalidArgument, "regular expression \"{}\": {} at offset {}", pattern,
                message.data(), offset);
  }
  // Without JIT (a processor or a policy that forbids it) the interpreter finds the same matches.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(code);
}

std::optional<ByteRange> Regex::Find(std::string_view text, size_t offset,
                                     RegexScratch* scratch) const {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int matched = pcre2_match(code_.get(), subject, text.size(), offset, PCRE2_NO_UTF_CHECK,
                            scratch->match_data_, nullptr);
  if (matched == PCRE2_ERROR_JIT_STACKLIMIT) {
    matched = pcre2_match(code_.get(), subject, text.size(), offset,
                          PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch->match_data_, nullptr);
  }
  if (matched < 0) return std::nullopt;
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(scratch->match_data_);
  // \K may move a match's begin behind its end or before `offset`; such a match is none.
  if (range[0] > range[1] || range[0] < offset) return std::nullopt;
  return ByteRange{range[0], range[1]};
}

}  // namespace weft
