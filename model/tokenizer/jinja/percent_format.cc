#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/jinja/format.h"
#include "model/tokenizer/jinja/number_format.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"
#include "model/tokenizer/jinja/text.h"

namespace weft::jinja {
namespace {

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

}  // namespace

Result<Value> PercentFormat(Runtime& runtime, const Value& format, const Value& arguments) {
  if (!runtime.SpendBytes(format.text().size())) return runtime.Exceeded();
  return PercentFormatter(runtime, format, arguments).Run();
}

}  // namespace weft::jinja
