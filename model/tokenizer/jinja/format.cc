#include "model/tokenizer/jinja/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/jinja/number_format.h"
#include "model/tokenizer/jinja/operators.h"

namespace weft::jinja {
namespace {

bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }

Result<std::string> AsciiRepr(Runtime& runtime, const Value& value) {
  std::string text;
  WEFT_RETURN_IF_ERROR(AppendRepr(runtime, value, &text));
  std::string out;
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    const auto code = static_cast<uint32_t>(c);
    out.append(code < 0x80      ? std::string(bytes)
               : code < 0x100   ? fmt::format("\\x{:02x}", code)
               : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                : fmt::format("\\U{:08x}", code));
  });
  return out;
}

// "..." % values.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Value& format, const Value& arguments)
      : runtime_(runtime), format_(format), text_(format.text()), arguments_(arguments) {}

  Result<Value> Run() {
    for (size_t i = 0; i < text_.size();) {
      const size_t percent = std::min(text_.find('%', i), text_.size());
      out_.append(text_, i, percent - i);
      if (percent == text_.size()) break;
      position_ = percent + 1;
      WEFT_RETURN_IF_ERROR(Conversion());
      i = position_;
      if (!runtime_.SpendBytes(out_.size() >> 4) || !runtime_.budget().FitsString(out_.size())) {
        return runtime_.Exceeded();
      }
    }
    const bool leftovers =
        arguments_.is(Kind::kTuple)
            ? next_ < arguments_.items().size()
            : next_ == 0 && !arguments_.is(Kind::kDict) && !arguments_.is(Kind::kList);
    if (leftovers) return Fault("not all arguments converted during string formatting");
    return runtime_.NewText(std::move(out_), format_.string().is_markup);
  }

 private:
  bool At(char c) const { return position_ < text_.size() && text_[position_] == c; }

  Result<Value> NextArgument() {
    if (!arguments_.is(Kind::kTuple)) {
      if (next_++ == 0) return arguments_;
    } else if (next_ < arguments_.items().size()) {
      return arguments_.items()[next_++];
    }
    return Fault("not enough arguments for format string");
  }

  Result<Value> KeyedArgument() {
    const size_t end = text_.find(')', position_);
    if (end == std::string_view::npos) return Fault("incomplete format key");
    if (!arguments_.is(Kind::kDict)) return Fault("format requires a mapping");
    const std::string_view key = text_.substr(position_, end - position_);
    position_ = end + 1;
    const Value* found = arguments_.dict().Find(key);
    if (found == nullptr) return Fault("format: there is no key {}", Quoted(key));
    return *found;
  }

  // A number, or * for the next argument.
  Result<int64_t> Number() {
    if (At('*')) {
      ++position_;
      WEFT_ASSIGN_OR_RETURN(const Value value, NextArgument());
      return ToIndex(value, "* in a format");
    }
    int64_t number = 0;
    while (position_ < text_.size() && IsAsciiDigit(text_[position_])) {
      number = std::min<int64_t>(number * 10 + (text_[position_++] - '0'), kMaxFieldWidth + 1);
    }
    return number;
  }

  Result<void> Conversion() {
    std::optional<Value> keyed;
    if (At('(')) {
      ++position_;
      WEFT_ASSIGN_OR_RETURN(keyed, KeyedArgument());
    }
    FormatSpec spec;
    bool left = false;
    bool zero = false;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (c == '-') {
        left = true;
      } else if (c == '+' || (c == ' ' && spec.sign != '+')) {
        spec.sign = c;
      } else if (c == '#') {
        spec.alternate = true;
      } else if (c == '0') {
        zero = true;
      } else if (c != ' ') {
        break;
      }
    }
    WEFT_ASSIGN_OR_RETURN(spec.width, Number());
    if (spec.width < 0) left = true;
    spec.width = std::abs(spec.width);
    if (At('.')) {
      ++position_;
      WEFT_ASSIGN_OR_RETURN(const int64_t precision, Number());
      spec.precision = std::max<int64_t>(precision, 0);
    }
    if (spec.width > kMaxFieldWidth || spec.precision > kMaxPrecision) {
      return Fault("a field of the format is too wide");
    }
    while (At('h') || At('l') || At('L')) ++position_;
    if (position_ >= text_.size()) return Fault("incomplete format");
    spec.type = text_[position_++];
    if (spec.type == '%') {
      out_.push_back('%');
      return {};
    }
    Value value;
    if (keyed) {
      value = *keyed;
    } else {
      WEFT_ASSIGN_OR_RETURN(value, NextArgument());
    }
    spec.align = left ? '<' : 0;
    return Append(value, spec, zero && !left);
  }

  Result<void> Append(const Value& value, FormatSpec spec, bool zero) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a':
      case 'c':
        return AppendText(value, spec);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return AppendInteger(value, spec, zero);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (value.is(Kind::kUndefined)) return UndefinedFault(value);
        if (!value.is_number()) return Fault("must be real number, not {}", TypeName(value));
        if (zero && std::isfinite(value.as_float())) SetZeros(&spec);
        out_.append(LayOutNumber(
            FormatDouble(value.as_float(), spec.type, spec.precision, spec.alternate), spec));
        return {};
      default:
        return Fault("unsupported format character {}", Quoted(std::string(1, spec.type)));
    }
  }

  static void SetZeros(FormatSpec* spec) {
    spec->align = '=';
    spec->fill = "0";
  }

  Result<void> AppendText(const Value& value, const FormatSpec& spec) {
    std::string text;
    if (spec.type == 's') {
      WEFT_ASSIGN_OR_RETURN(text, Str(runtime_, value));
    } else if (spec.type == 'r') {
      WEFT_RETURN_IF_ERROR(AppendRepr(runtime_, value, &text));
    } else if (spec.type == 'a') {
      WEFT_ASSIGN_OR_RETURN(text, AsciiRepr(runtime_, value));
    } else if (value.is_string() && value.string().character_count == 1) {
      text = value.text();
    } else if (value.is_integer() && value.as_int() >= 0 && value.as_int() <= 0x10FFFF &&
               (value.as_int() < 0xD800 || value.as_int() > 0xDFFF)) {
      AppendUtf8(static_cast<char32_t>(value.as_int()), &text);
    } else {
      return Fault("%c requires a character");
    }
    if (spec.precision >= 0 && spec.type != 'c') {
      const Value whole = runtime_.NewString(text);
      text = SliceText(whole.string(),
                       {0, 1, std::min(spec.precision, whole.string().character_count)});
    }
    out_.append(LayOutText(text, spec, '>'));
    return {};
  }

  Result<void> AppendInteger(const Value& value, FormatSpec spec, bool zero) {
    if (value.is(Kind::kUndefined)) return UndefinedFault(value);
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (!value.is_integer() && !(decimal && value.is(Kind::kFloat))) {
      return Fault("%{} format: a number is required, not {}", spec.type, TypeName(value));
    }
    int64_t number = value.as_int();
    if (value.is(Kind::kFloat)) {
      const double whole = std::trunc(value.as_float());
      if (!(whole >= -0x1p63 && whole < 0x1p63)) {
        return Fault("cannot convert float {} to integer", FloatText(value.as_float()));
      }
      number = static_cast<int64_t>(whole);
    }
    if (decimal) spec.type = 'd';
    std::string text = FormatInteger(number, spec.type, spec.alternate);
    if (spec.precision > 0) {
      // At least so many digits.
      const size_t head =
          (number < 0 ? 1 : 0) + (spec.alternate && !decimal ? size_t{2} : size_t{0});
      const size_t digits = text.size() - head;
      if (digits < static_cast<size_t>(spec.precision)) {
        text.insert(head, static_cast<size_t>(spec.precision) - digits, '0');
      }
    }
    if (zero) SetZeros(&spec);
    out_.append(LayOutNumber(std::move(text), spec));
    return {};
  }

  Runtime& runtime_;
  const Value& format_;
  const std::string_view text_;
  const Value& arguments_;
  size_t position_ = 0;
  size_t next_ = 0;
  std::string out_;
};

// "...".format(...)
class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const CallArguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  Result<std::string> Run(std::string_view text, int depth) {
    if (depth < 0) return Fault("format: max string recursion exceeded");
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c != '{' && c != '}') {
        out.push_back(c);
        continue;
      }
      if (i + 1 < text.size() && text[i + 1] == c) {
        out.push_back(c);
        ++i;
        continue;
      }
      if (c == '}') return Fault("format: single '}}' encountered in format string");
      const size_t end = FieldEnd(text, i + 1);
      if (end == std::string_view::npos) return Fault("format: expected '}}' before end of string");
      WEFT_RETURN_IF_ERROR(Field(text.substr(i + 1, end - i - 1), depth, &out));
      i = end;
      if (!runtime_.SpendBytes(out.size() >> 4) || !runtime_.budget().FitsString(out.size())) {
        return runtime_.Exceeded();
      }
    }
    return out;
  }

 private:
  // The brace that closes a field.
  static size_t FieldEnd(std::string_view text, size_t from) {
    int open = 1;
    for (size_t i = from; i < text.size(); ++i) {
      if (text[i] == '{') ++open;
      if (text[i] == '}' && --open == 0) return i;
    }
    return std::string_view::npos;
  }

  Result<void> Field(std::string_view field, int depth, std::string* out) {
    const size_t bracket = field.find('[');
    size_t name_end = field.find_first_of("!:");
    // Not in [index].
    if (bracket != std::string_view::npos && bracket < name_end) {
      const size_t close = field.find(']', bracket);
      if (close != std::string_view::npos) name_end = field.find_first_of("!:", close);
    }
    const std::string_view name = field.substr(0, name_end);
    std::string_view rest = name_end == std::string_view::npos ? "" : field.substr(name_end);
    WEFT_ASSIGN_OR_RETURN(Value value, Lookup(name));
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) {
        return Fault("format: expected ':' after conversion specifier");
      }
      WEFT_ASSIGN_OR_RETURN(value, Convert(value, rest[1]));
      rest.remove_prefix(2);
    }
    std::string spec;
    if (!rest.empty()) {
      WEFT_ASSIGN_OR_RETURN(spec, Run(rest.substr(1), depth - 1));
    }
    WEFT_ASSIGN_OR_RETURN(const std::string text, FormatValue(value, spec));
    out->append(text);
    return {};
  }

  Result<Value> Convert(const Value& value, char conversion) {
    std::string text;
    switch (conversion) {
      case 's':
        return ToStringValue(runtime_, value);
      case 'r':
        WEFT_RETURN_IF_ERROR(AppendRepr(runtime_, value, &text));
        return runtime_.NewString(std::move(text));
      case 'a': {
        WEFT_ASSIGN_OR_RETURN(text, AsciiRepr(runtime_, value));
        return runtime_.NewString(std::move(text));
      }
      default:
        return Fault("format: unknown conversion {}", Quoted(std::string(1, conversion)));
    }
  }

  static std::optional<int64_t> IndexOf(std::string_view text) {
    int64_t index = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), index);
    if (text.empty() || text[0] == '-' || parsed.ec != std::errc() ||
        parsed.ptr != text.data() + text.size()) {
      return std::nullopt;
    }
    return index;
  }

  Result<Value> Lookup(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    WEFT_ASSIGN_OR_RETURN(Value value, First(name.substr(0, first_end)));
    name.remove_prefix(first_end);
    while (!name.empty()) {
      if (name[0] == '.') {
        const size_t end = std::min(name.find_first_of(".[", 1), name.size());
        if (end == 1) return Fault("format: empty attribute in format string");
        const Value attribute = runtime_.NewString(std::string(name.substr(1, end - 1)));
        WEFT_ASSIGN_OR_RETURN(value, GetAttribute(runtime_, value, attribute));
        name.remove_prefix(end);
      } else if (name[0] == '[') {
        const size_t end = name.find(']');
        if (end == std::string_view::npos || end == 1) {
          return Fault("format: missing ']' or empty index in format string");
        }
        const std::string_view key = name.substr(1, end - 1);
        const auto index = IndexOf(key);
        WEFT_ASSIGN_OR_RETURN(
            value, GetItem(runtime_, value,
                           index ? Value::Int(*index) : runtime_.NewString(std::string(key))));
        name.remove_prefix(end + 1);
      } else {
        return Fault("format: only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  Result<Value> First(std::string_view name) {
    auto index = IndexOf(name);
    if (name.empty()) {
      if (numbered_) return Fault("format: cannot switch from manual to automatic numbering");
      automatic_ = true;
      index = next_++;
    } else if (index) {
      if (automatic_) return Fault("format: cannot switch from automatic to manual numbering");
      numbered_ = true;
    }
    if (index) {
      if (*index >= static_cast<int64_t>(arguments_.positional.size())) {
        return Fault("format: there is no argument {}", *index);
      }
      return arguments_.positional[static_cast<size_t>(*index)];
    }
    for (const auto& [keyword, value] : arguments_.keyword) {
      if (keyword == name) return value;
    }
    return Fault("format: there is no argument {}", Quoted(name));
  }

  static Result<FormatSpec> ParseSpec(std::string_view text) {
    FormatSpec spec;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const size_t first = text.empty() ? 0 : DecodeUtf8(text, 0).size_bytes;
    if (text.size() > first && is_align(text[first])) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      text.remove_prefix(first + 1);
    } else if (!text.empty() && is_align(text[0])) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
    const auto take = [&](std::string_view characters) {
      if (text.empty() || characters.find(text[0]) == std::string_view::npos) return '\0';
      const char c = text[0];
      text.remove_prefix(1);
      return c;
    };
    const auto number = [&] {
      int64_t value = 0;
      while (!text.empty() && IsAsciiDigit(text[0])) {
        value = std::min<int64_t>(value * 10 + (text[0] - '0'), kMaxFieldWidth + 1);
        text.remove_prefix(1);
      }
      return value;
    };
    if (const char sign = take("+- ")) spec.sign = sign;
    spec.alternate = take("#") != 0;
    if (take("0") != 0 && spec.align == 0) {
      spec.align = '=';
      spec.fill = "0";
    }
    spec.width = number();
    spec.grouping = take(",_");
    if (take(".") != 0) {
      if (text.empty() || !IsAsciiDigit(text[0])) return Fault("format: missing precision");
      spec.precision = number();
    }
    if (!text.empty()) {
      spec.type = text[0];
      text.remove_prefix(1);
    }
    if (!text.empty()) return Fault("format: invalid format specifier");
    if (spec.width > kMaxFieldWidth || spec.precision > kMaxPrecision) {
      return Fault("format: the field is too wide");
    }
    return spec;
  }

  Result<std::string> FormatValue(const Value& value, const std::string& spec_text) {
    if (spec_text.empty()) return Str(runtime_, value);
    if (!value.is_string() && !value.is_number()) {
      return Fault("unsupported format string passed to {}.__format__", TypeName(value));
    }
    WEFT_ASSIGN_OR_RETURN(FormatSpec spec, ParseSpec(spec_text));
    if (value.is_string()) return FormatText(value, spec);
    const bool is_float_type =
        spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
    if (value.is_integer() && !is_float_type) return FormatInt(value.as_int(), spec);
    if (!is_float_type && spec.type != 0 && spec.type != 'n') {
      return Fault("format: unknown format code {} for a float", Quoted(std::string(1, spec.type)));
    }
    return LayOutNumber(FloatDigits(value.as_float(), spec), spec);
  }

  Result<std::string> FormatText(const Value& value, FormatSpec spec) {
    if (spec.type != 0 && spec.type != 's') {
      return Fault("format: unknown format code {} for a string",
                   Quoted(std::string(1, spec.type)));
    }
    if (spec.align == '=' && spec.fill == "0") {
      // {:05} of a string: zeros on the right.
      spec.align = '<';
    } else if (spec.align == '=' || spec.sign != '-' || spec.grouping != 0 || spec.alternate) {
      return Fault("format: the specifier is not allowed for strings");
    }
    std::string text(value.text());
    if (spec.precision >= 0) {
      text = SliceText(value.string(),
                       {0, 1, std::min(spec.precision, value.string().character_count)});
    }
    return LayOutText(text, spec, '<');
  }

  static Result<std::string> FormatInt(int64_t value, FormatSpec spec) {
    if (spec.precision >= 0) return Fault("format: precision not allowed for integers");
    switch (spec.type) {
      case 0:
      case 'n':
        spec.type = 'd';
        break;
      case 'd':
      case 'b':
      case 'o':
      case 'x':
      case 'X':
        break;
      case 'c': {
        if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
          return Fault("format: %c arg not in range");
        }
        std::string text;
        AppendUtf8(static_cast<char32_t>(value), &text);
        return LayOutText(text, spec, '<');
      }
      default:
        return Fault("format: unknown format code {} for an int",
                     Quoted(std::string(1, spec.type)));
    }
    return LayOutNumber(FormatInteger(value, spec.type, spec.alternate), spec);
  }

  static std::string FloatDigits(double value, const FormatSpec& spec) {
    if (spec.type != 0) {
      return FormatDouble(value, spec.type == 'n' ? 'g' : spec.type, spec.precision,
                          spec.alternate);
    }
    if (spec.precision < 0) return FloatText(value);
    // Like g, but with at least one digit after the point, and an exponent one digit earlier.
    const int64_t precision = std::max<int64_t>(spec.precision, 1);
    std::string text = FormatDouble(value, 'g', precision, spec.alternate);
    if (text.find_first_of(".en") != std::string::npos) return text;
    const auto digits = static_cast<int64_t>(text.size()) - (text[0] == '-' ? 1 : 0);
    if (digits < precision) return text + ".0";
    std::string scientific = FormatDouble(value, 'e', precision - 1, false);
    const size_t e = scientific.find('e');
    size_t end = e;
    if (scientific.find('.') < e) {
      while (scientific[end - 1] == '0') --end;
      if (scientific[end - 1] == '.') --end;
    }
    return scientific.substr(0, end) + scientific.substr(e);
  }

  Runtime& runtime_;
  const CallArguments& arguments_;
  bool automatic_ = false;
  bool numbered_ = false;
  int64_t next_ = 0;
};

}  // namespace

Result<Value> PercentFormat(Runtime& runtime, const Value& format, const Value& arguments) {
  if (!runtime.SpendBytes(format.text().size())) return runtime.Exceeded();
  return PercentFormatter(runtime, format, arguments).Run();
}

Result<Value> BraceFormat(Runtime& runtime, const Value& format, const CallArguments& arguments) {
  if (!runtime.SpendBytes(format.text().size())) return runtime.Exceeded();
  WEFT_ASSIGN_OR_RETURN(std::string text, BraceFormatter(runtime, arguments).Run(format.text(), 2));
  return runtime.NewText(std::move(text), format.string().is_markup);
}

Result<std::string> FormatTime(std::string_view format, const std::tm& time) {
  constexpr size_t kMaxFormatBytes = 4096;
  if (format.size() > kMaxFormatBytes || format.find('\0') != std::string_view::npos) {
    return Fault("strftime_now: expected a format of at most {} bytes", kMaxFormatBytes);
  }
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    // Flags such as those of %-d, and the directive.
    size_t end = i + 1;
    while (end + 1 < format.size() &&
           std::string_view("-_0^#EO").find(format[end]) != std::string_view::npos) {
      ++end;
    }
    const std::string directive(format.substr(i, end + 1 - i));
    i = end;
    if (directive == "%f") {
      out.append("000000");
      continue;
    }
    if (directive == "%z" || directive == "%Z") continue;  // a local time has no zone in Python
    std::array<char, 256> buffer{};
    // A space ends it, so that an empty result can be told from one that does not fit.
    const size_t size =
        std::strftime(buffer.data(), buffer.size(), (directive + " ").c_str(), &time);
    if (size == 0) return Fault("strftime_now: {} is not a format", Quoted(directive));
    out.append(buffer.data(), size - 1);
  }
  return out;
}

}  // namespace weft::jinja
