#include "model/tokenizer/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/jinja/limits.h"
#include "model/tokenizer/jinja/text.h"

namespace weft::jinja {
namespace {

// Line ends as \n; one at the very end dropped.
std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> Run() {
    while (position_ < source_.size()) {
      WEFT_RETURN_IF_ERROR(Root());
    }
    tokens_.push_back({TokenKind::kEnd, line_, "", 0, 0});
    return std::move(tokens_);
  }

 private:
  template <typename... Args>
  tl::unexpected<Error> Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return Fail(ErrorCode::kCorrupt, "line {}: {}", line_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view Rest() const { return std::string_view(source_).substr(position_); }
  bool At(std::string_view text) const { return Rest().substr(0, text.size()) == text; }

  // Moves on, counting lines.
  void Advance(size_t size_bytes) {
    const auto begin = source_.begin() + static_cast<std::ptrdiff_t>(position_);
    line_ +=
        static_cast<int>(std::count(begin, begin + static_cast<std::ptrdiff_t>(size_bytes), '\n'));
    position_ += size_bytes;
    if (size_bytes > 0) line_starts_ = source_[position_ - 1] == '\n';
  }

  size_t SpaceAt(size_t offset) const {
    size_t end = offset;
    while (end < source_.size()) {
      const Utf8Character c = DecodeUtf8(source_, end);
      if (!IsPythonSpace(c.code_point)) break;
      end += c.size_bytes;
    }
    return end - offset;
  }

  void AddData(std::string_view text, int line) {
    if (!text.empty()) tokens_.push_back({TokenKind::kData, line, std::string(text), 0, 0});
  }

  // The text before a tag, as the tag's sign and lstrip_blocks leave it.
  std::string_view Trimmed(std::string_view text, char sign, bool is_variable) const {
    if (sign == '-') return Strip(text, Side::kRight);
    if (sign == '+' || is_variable) return text;
    const size_t newline = text.rfind('\n');
    const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
    if (line_begin == 0 && !line_starts_) return text;
    return Strip(text.substr(line_begin), Side::kBoth).empty() ? text.substr(0, line_begin) : text;
  }

  // {% raw %}: its length, or 0 if something else stands here.
  size_t RawBeginLength(size_t offset) const {
    size_t end = offset + 2;
    if (end < source_.size() && (source_[end] == '-' || source_[end] == '+')) ++end;
    end += SpaceAt(end);
    if (source_.compare(end, 3, "raw") != 0) return 0;
    end += 3;
    end += SpaceAt(end);
    if (source_.compare(end, 3, "-%}") == 0) return end + 3 + SpaceAt(end + 3) - offset;
    if (source_.compare(end, 2, "%}") == 0) return end + 2 - offset;
    return 0;
  }

  char SignAt(size_t offset) const {
    if (offset >= source_.size()) return 0;
    const char c = source_[offset];
    return c == '-' || c == '+' ? c : 0;
  }

  Result<void> Root() {
    size_t tag = position_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        AddData(Rest(), line_);
        Advance(source_.size() - position_);
        return {};
      }
      const char c = source_[tag + 1];
      if (c == '%' || c == '{' || c == '#') break;
      ++tag;
    }
    const char kind = source_[tag + 1];
    const char sign = SignAt(tag + 2);
    const size_t raw_length = kind == '%' ? RawBeginLength(tag) : 0;
    const std::string_view text = std::string_view(source_).substr(position_, tag - position_);
    AddData(Trimmed(text, sign, kind == '{'), line_);
    Advance(tag - position_);
    if (raw_length > 0) {
      Advance(raw_length);
      return Raw();
    }
    const int line = line_;
    Advance(sign != 0 ? 3 : 2);
    if (kind == '#') return Comment();
    tokens_.push_back(
        {kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, line, "", 0, 0});
    return Inside(kind == '%');
  }

  // After a block's or a comment's end: what trim_blocks or the sign take away.
  void EndTag(size_t end, char sign) {
    size_t size_bytes = end - position_;
    if (sign == '-') {
      size_bytes += SpaceAt(end);
    } else if (sign != '+' && end < source_.size() && source_[end] == '\n') {
      ++size_bytes;
    }
    Advance(size_bytes);
  }

  Result<void> Comment() {
    if (position_ == source_.size()) return {};
    // A sign before #} belongs to the tag.
    const size_t end = source_.find("#}", position_);
    if (end == std::string::npos) return Wrong("the comment has no end '#}}'");
    const char sign = end > position_ ? SignAt(end - 1) : 0;
    EndTag(end + 2, sign);
    return {};
  }

  Result<void> Raw() {
    if (position_ == source_.size()) return {};
    for (size_t tag = source_.find("{%", position_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const char sign = SignAt(tag + 2);
      size_t end = tag + (sign != 0 ? 3 : 2);
      end += SpaceAt(end);
      if (source_.compare(end, 6, "endraw") != 0) continue;
      end += 6;
      end += SpaceAt(end);
      const char end_sign = SignAt(end);
      const size_t close = end_sign != 0 ? end + 1 : end;
      if (source_.compare(close, 2, "%}") != 0) continue;
      const std::string_view text = std::string_view(source_).substr(position_, tag - position_);
      AddData(Trimmed(text, sign, false), line_);
      EndTag(close + 2, end_sign);
      return {};
    }
    return Wrong("the raw block has no end '{{% endraw %}}'");
  }

  Result<void> Inside(bool is_block) {
    open_.clear();
    while (position_ < source_.size()) {
      if (open_.empty() && TakeEnd(is_block)) return {};
      if (const size_t space = SpaceAt(position_); space > 0) {
        Advance(space);
        continue;
      }
      WEFT_RETURN_IF_ERROR(TakeToken());
    }
    return {};
  }

  bool TakeEnd(bool is_block) {
    const std::string_view end = is_block ? "%}" : "}}";
    char sign = 0;
    if (At(end)) {
      sign = 0;
    } else if ((Rest()[0] == '-' || (is_block && Rest()[0] == '+')) && Rest().substr(1, 2) == end) {
      sign = Rest()[0];
    } else {
      return false;
    }
    tokens_.push_back({is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, line_, "", 0, 0});
    const size_t after = position_ + (sign != 0 ? 3 : 2);
    if (is_block) {
      EndTag(after, sign);
    } else {
      Advance(after - position_ + (sign == '-' ? SpaceAt(after) : 0));
    }
    return true;
  }

  Result<void> TakeToken() {
    const char c = Rest()[0];
    if (IsAsciiDigit(c)) return TakeNumber();
    if (c == '\'' || c == '"') return TakeString(c);
    const Utf8Character character = DecodeUtf8(source_, position_);
    if (IsWord(character.code_point)) return TakeName();
    return TakeOperator();
  }

  // Digits, single underscores between them allowed.
  template <typename Accept>
  size_t DigitsAt(size_t offset, Accept accept) const {
    size_t end = offset;
    while (end < source_.size()) {
      if (accept(source_[end])) {
        ++end;
      } else if (source_[end] == '_' && end > offset && end + 1 < source_.size() &&
                 accept(source_[end + 1])) {
        end += 2;
      } else {
        break;
      }
    }
    return end - offset;
  }

  // The length of a float here, or 0.
  size_t FloatLength() const {
    if (position_ > 0 && source_[position_ - 1] == '.') return 0;
    size_t length = DigitsAt(position_, IsAsciiDigit);
    const size_t whole = length;
    if (length == 0) return 0;
    const auto at = [&](size_t i) {
      return position_ + i < source_.size() ? source_[position_ + i] : '\0';
    };
    if (at(length) == '.') {
      const size_t fraction = DigitsAt(position_ + length + 1, IsAsciiDigit);
      if (fraction > 0) length += 1 + fraction;
    }
    if (at(length) == 'e' || at(length) == 'E') {
      size_t exponent = length + 1;
      if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
      const size_t digits = DigitsAt(position_ + exponent, IsAsciiDigit);
      if (digits > 0) length = exponent + digits;
    }
    return length > whole ? length : 0;
  }

  static std::string WithoutUnderscores(std::string_view text) {
    std::string out;
    std::copy_if(text.begin(), text.end(), std::back_inserter(out),
                 [](char c) { return c != '_'; });
    return out;
  }

  Result<void> TakeNumber() {
    if (const size_t length = FloatLength(); length > 0) {
      const std::string text = WithoutUnderscores(Rest().substr(0, length));
      Token token{TokenKind::kFloat, line_, text, 0, 0};
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), token.number);
      if (parsed.ec != std::errc() && parsed.ec != std::errc::result_out_of_range) {
        return Wrong("{} is not a number", Quoted(text));
      }
      if (parsed.ec == std::errc::result_out_of_range) {
        // Too large is infinite, too small is nothing: the exponent's sign tells.
        token.number = text.find("e-") != std::string::npos || text.find("E-") != std::string::npos
                           ? 0.0
                           : std::numeric_limits<double>::infinity();
      }
      Advance(length);
      tokens_.push_back(std::move(token));
      return {};
    }
    return TakeInteger();
  }

  Result<void> TakeInteger() {
    const auto accepts = [](int base) {
      return [base](char c) {
        const int digit = HexDigitValue(c);
        return digit >= 0 && digit < base;
      };
    };
    int base = 10;
    size_t prefix = 0;
    size_t length = 0;
    if (Rest()[0] == '0' && Rest().size() > 1) {
      const char marker = static_cast<char>(Rest()[1] | 0x20);
      const int marked = marker == 'b' ? 2 : marker == 'o' ? 8 : marker == 'x' ? 16 : 0;
      if (marked != 0) {
        const size_t underscore = Rest().size() > 2 && Rest()[2] == '_' ? 1 : 0;
        const size_t digits = DigitsAt(position_ + 2 + underscore, accepts(marked));
        if (digits > 0) {
          base = marked;
          prefix = 2 + underscore;
          length = prefix + digits;
        }
      }
    }
    if (length == 0) {
      // A decimal number begins with 1 to 9, or is zeros only.
      length = Rest()[0] == '0' ? DigitsAt(position_, [](char c) { return c == '0'; })
                                : DigitsAt(position_, IsAsciiDigit);
    }
    const std::string text = WithoutUnderscores(Rest().substr(prefix, length - prefix));
    Token token{TokenKind::kInteger, line_, std::string(Rest().substr(0, length)), 0, 0};
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), token.integer, base);
    if (parsed.ec != std::errc()) return Wrong("the integer {} does not fit 64 bits", Quoted(text));
    Advance(length);
    tokens_.push_back(std::move(token));
    return {};
  }

  Result<void> TakeName() {
    size_t end = position_;
    while (end < source_.size()) {
      const Utf8Character c = DecodeUtf8(source_, end);
      if (!IsWord(c.code_point)) break;
      end += c.size_bytes;
    }
    tokens_.push_back({TokenKind::kName, line_, source_.substr(position_, end - position_), 0, 0});
    Advance(end - position_);
    return {};
  }

  Result<void> TakeOperator() {
    constexpr std::array<std::string_view, 6> kLong = {"//", "**", "==", "!=", ">=", "<="};
    constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    std::string_view text;
    for (const std::string_view op : kLong) {
      if (At(op)) text = op;
    }
    if (text.empty() && kShort.find(Rest()[0]) != std::string_view::npos) {
      text = Rest().substr(0, 1);
    }
    if (text.empty()) {
      const Utf8Character c = DecodeUtf8(source_, position_);
      return Wrong("unexpected character {}", Quoted(Rest().substr(0, c.size_bytes)));
    }
    const char c = text[0];
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_.empty()) return Wrong("unexpected '{}'", c);
      if (open_.back() != c) return Wrong("unexpected '{}', expected '{}'", c, open_.back());
      open_.pop_back();
    }
    tokens_.push_back({TokenKind::kOperator, line_, std::string(text), 0, 0});
    Advance(text.size());
    return {};
  }

  Result<void> TakeString(char quote) {
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      return Wrong("unexpected character {}", Quoted(std::string(1, quote)));
    WEFT_ASSIGN_OR_RETURN(std::string text, Unescape(std::string_view(source_).substr(
                                                position_ + 1, end - position_ - 1)));
    tokens_.push_back({TokenKind::kString, line_, std::move(text), 0, 0});
    Advance(end + 1 - position_);
    return {};
  }

  // Python's escapes. A backslash before anything else stays.
  Result<std::string> Unescape(std::string_view text) const {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
      if (text[i] != '\\' || i + 1 == text.size()) {
        out.push_back(text[i++]);
        continue;
      }
      WEFT_ASSIGN_OR_RETURN(const size_t taken, AppendEscape(text.substr(i + 1), &out));
      i += 1 + taken;
    }
    return out;
  }

  // What the escape that begins with text[0] stands for; returns how many bytes it takes.
  Result<size_t> AppendEscape(std::string_view text, std::string* out) const {
    constexpr std::string_view kLetters = "\\'\"abfnrtv";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char c = text[0];
    if (const size_t found = kLetters.find(c); found != std::string_view::npos) {
      out->push_back(kMeanings[found]);
      return 1;
    }
    if (c == '\n') return 1;
    if (c >= '0' && c <= '7') {
      size_t digits = 1;
      while (digits < 3 && digits < text.size() && text[digits] >= '0' && text[digits] <= '7') {
        ++digits;
      }
      uint32_t code = 0;
      std::from_chars(text.data(), text.data() + digits, code, 8);
      AppendUtf8(code, out);
      return digits;
    }
    if (c == 'x' || c == 'u' || c == 'U') return AppendCodePoint(text, out);
    if (c == 'N') return Wrong("\\N escapes are not supported");
    if (static_cast<uint8_t>(c) >= 0x80) {
      // Jinja escapes what is not ASCII before it looks for escapes, and so undoes its own here.
      const Utf8Character character = DecodeUtf8(text, 0);
      const auto code = static_cast<uint32_t>(character.code_point);
      out->append(code < 0x100     ? fmt::format("\\x{:02x}", code)
                  : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                   : fmt::format("\\U{:08x}", code));
      return character.size_bytes;
    }
    out->push_back('\\');
    out->push_back(c);
    return 1;
  }

  Result<size_t> AppendCodePoint(std::string_view text, std::string* out) const {
    const size_t digits = text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : 8;
    const std::string_view hex = text.substr(1, digits);
    uint32_t code = 0;
    const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() != digits || parsed.ptr != hex.data() + digits) {
      return Wrong("truncated \\{} escape: expected {} hexadecimal digits", text[0], digits);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return Wrong("\\{}{} is not a character", text[0], hex);
    }
    AppendUtf8(code, out);
    return digits + 1;
  }

  const std::string source_;
  size_t position_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // whether what was taken last ended a line
  std::vector<char> open_;   // the brackets to come, innermost last
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return Fail(ErrorCode::kCorrupt, "the template has {} bytes, expected at most {}",
                source.size(), kMaxSourceBytes);
  }
  if (const size_t valid = ValidUtf8Prefix(source); valid != source.size()) {
    const auto line =
        1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
    return Fail(ErrorCode::kCorrupt, "line {}: byte {} of the template is not UTF-8", line, valid);
  }
  return Lexer(NormalizeNewlines(source)).Run();
}

}  // namespace weft::jinja
