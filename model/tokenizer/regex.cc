#include "model/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <pcre2.h>

#include "base/check.h"
#include "base/quoted.h"

namespace weft {
namespace {

constexpr size_t kMaxPatternBytes = 1 << 16;

// Oniguruma's \s is Unicode's White_Space; PCRE2's adds U+180E. Its \w has marks, which PCRE2's
// lacks, and the Latin-1 superscripts and fractions.
constexpr std::string_view kSpace = "\\p{White_Space}";
constexpr std::string_view kNotSpace = "\\P{White_Space}";
constexpr std::string_view kWord =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

tl::unexpected<Error> Unsupported(std::string_view construct, std::string_view pattern) {
  return Fail(ErrorCode::kUnsupported,
              "regular expression {}: {} means something else to PCRE2, which runs it",
              Quoted(pattern), construct);
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Run() {
    // Only \n ends a line, whatever PCRE2 was built with.
    translated_ = "(*LF)";
    while (offset_ < pattern_.size()) {
      if (pattern_[offset_] == '\\' && offset_ + 1 < pattern_.size()) {
        WEFT_RETURN_IF_ERROR(Escape());
      } else if (in_class_) {
        WEFT_RETURN_IF_ERROR(InClass());
      } else {
        OutsideClass();
      }
    }
    return std::move(translated_);
  }

 private:
  std::string_view Rest() const { return pattern_.substr(offset_); }
  void Copy(size_t count) {
    translated_.append(pattern_.substr(offset_, count));
    offset_ += count;
  }

  Result<void> Escape() {
    const char escaped = pattern_[offset_ + 1];
    switch (escaped) {
      case 's':
        translated_ += kSpace;
        break;
      case 'S':
        translated_ += kNotSpace;
        break;
      case 'w':
        translated_ += in_class_ ? std::string(kWord) : fmt::format("[{}]", kWord);
        break;
      case 'W':
        if (in_class_) return Unsupported("\\W inside a class", pattern_);
        translated_ += fmt::format("[^{}]", kWord);
        break;
      case 'b':
      case 'B':
      case 'h':
      case 'H':
        return Unsupported(pattern_.substr(offset_, 2), pattern_);
      default:
        Copy(2);
        return {};
    }
    offset_ += 2;
    return {};
  }

  Result<void> InClass() {
    if (Rest().starts_with("&&")) return Unsupported("&& inside a class", pattern_);
    if (Rest().starts_with("[:")) {
      const size_t close = Rest().find(":]");
      if (close == std::string_view::npos) return Unsupported("[ inside a class", pattern_);
      Copy(close + 2);
      return {};
    }
    if (Rest().starts_with('[')) return Unsupported("[ inside a class", pattern_);
    if (Rest().starts_with(']')) in_class_ = false;
    Copy(1);
    return {};
  }

  void OutsideClass() {
    if (!Rest().starts_with('[')) {
      Copy(1);
      return;
    }
    in_class_ = true;
    Copy(Rest().starts_with("[^") ? 2 : 1);
    if (Rest().starts_with(']')) {  // one that stands first is literal
      translated_ += "\\]";
      ++offset_;
    }
  }

  std::string_view pattern_;
  std::string translated_;
  size_t offset_ = 0;
  bool in_class_ = false;
};

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
  WEFT_ASSIGN_OR_RETURN(const std::string translated, Translator(pattern).Run());
  int error = 0;
  size_t offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<char, 128> message = {};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
    return Fail(ErrorCode::kInvalidArgument, "regular expression {}: {} at offset {}",
                Quoted(pattern), message.data(), offset);
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
