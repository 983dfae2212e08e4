#include <algorithm>
#include <charconv>
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

Result<Value> BraceFormat(Runtime& runtime, const Value& format, const CallArguments& arguments) {
  if (!runtime.SpendBytes(format.text().size())) return runtime.Exceeded();
  WEFT_ASSIGN_OR_RETURN(std::string text, BraceFormatter(runtime, arguments).Run(format.text(), 2));
  return runtime.NewText(std::move(text), format.string().is_markup);
}

}  // namespace weft::jinja
