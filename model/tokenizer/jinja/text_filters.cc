// Filters over texts.
#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "model/tokenizer/jinja/filters.h"
#include "model/tokenizer/jinja/format.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

// The input as a string value, paid for.
Result<Value> TextOf(Runtime& runtime, const Value& self) {
  WEFT_ASSIGN_OR_RETURN(Value text, ToStringValue(runtime, self));
  if (!runtime.SpendBytes(text.text().size()) ||
      !runtime.budget().FitsString(uint64_t{text.text().size()} * 3)) {
    return runtime.Exceeded();
  }
  return text;
}

template <typename Transform>
Result<Value> Transformed(Runtime& runtime, const Value& self, Transform transform) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  return runtime.NewText(std::string(transform(text.text())), text.string().is_markup);
}

// Jinja's own title case: words begin after white space and the marks - ( { [ <.
std::string JinjaTitle(std::string_view text) {
  std::string out;
  const auto is_boundary = [](char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsPythonSpace(c);
  };
  size_t word = 0;
  size_t offset = 0;
  const auto flush = [&](size_t end) {
    const std::string_view part = text.substr(word, end - word);
    if (part.empty()) return;
    const size_t first = DecodeUtf8(part, 0).size_bytes;
    out.append(ToUpper(part.substr(0, first))).append(ToLower(part.substr(first)));
  };
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    if (is_boundary(c)) {
      flush(offset);
      out.append(bytes);
      word = offset + bytes.size();
    }
    offset += bytes.size();
  });
  flush(text.size());
  return out;
}

std::string UrlQuote(std::string_view text, bool for_query) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = IsAsciiAlphanumeric(c) || c == '_' || c == '.' || c == '-' || c == '~' ||
                       (c == '/' && !for_query);
    if (plain) {
      out.push_back(c);
    } else if (c == ' ' && for_query) {
      out.push_back('+');
    } else {
      out.push_back('%');
      out.push_back(kHex[static_cast<uint8_t>(c) >> 4]);
      out.push_back(kHex[static_cast<uint8_t>(c) & 15]);
    }
  }
  return out;
}

// `indent` of json.dumps: None, a text, or a number of spaces.
Result<void> SetIndent(const Value& indent, JsonStyle* style) {
  if (indent.is(Kind::kNone)) return {};
  style->has_indent = true;
  style->item_separator = ",";
  if (indent.is_string()) {
    style->indent = indent.text();
    return {};
  }
  WEFT_ASSIGN_OR_RETURN(const int64_t width, ToIndex(indent, "tojson: indent"));
  if (width > 1000) return Fault("tojson: indent {} is larger than 1000", width);
  if (width > 0) style->indent.assign(static_cast<size_t>(width), ' ');
  return {};
}

Result<void> SetSeparators(Runtime& runtime, const Value& separators, JsonStyle* style) {
  if (separators.is(Kind::kNone)) return {};
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> both, Collect(runtime, separators));
  if (both.size() != 2 || !both[0].is_string() || !both[1].is_string()) {
    return Fault("tojson: expected two strings as separators");
  }
  style->item_separator = both[0].text();
  style->key_separator = both[1].text();
  return {};
}

}  // namespace

Result<Value> FilterCapitalize(Runtime& runtime, const Value& self, const BoundArguments&) {
  return Transformed(runtime, self, ToCapitalized);
}
Result<Value> FilterLower(Runtime& runtime, const Value& self, const BoundArguments&) {
  return Transformed(runtime, self, ToLower);
}
Result<Value> FilterUpper(Runtime& runtime, const Value& self, const BoundArguments&) {
  return Transformed(runtime, self, ToUpper);
}
Result<Value> FilterTitle(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  return runtime.NewString(JinjaTitle(text.text()));
}
Result<Value> FilterString(Runtime& runtime, const Value& self, const BoundArguments&) {
  return ToStringValue(runtime, self);
}

Result<Value> FilterTrim(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  if (!arguments.has(0) || arguments[0].is(Kind::kNone)) {
    return Transformed(runtime, self,
                       [](std::string_view text) { return Strip(text, Side::kBoth); });
  }
  if (!arguments[0].is_string()) return Fault("trim: expected the characters as a string");
  return Transformed(runtime, self, [&](std::string_view text) {
    return Strip(text, arguments[0].text(), Side::kBoth);
  });
}

Result<Value> FilterCenter(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  CallArguments width;
  width.positional.push_back(arguments.has(0) ? arguments[0] : Value::Int(80));
  return Invoke(runtime, *FindMethod(Kind::kString, "center"), text, std::move(width));
}

Result<Value> FilterReplace(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, Str(runtime, self));
  CallArguments values;
  for (size_t i = 0; i < 2; ++i) {
    WEFT_ASSIGN_OR_RETURN(Value value, ToStringValue(runtime, arguments[i]));
    values.positional.push_back(std::move(value));
  }
  if (arguments.has(2) && !arguments[2].is(Kind::kNone)) {
    values.positional.push_back(arguments[2]);
  }
  return Invoke(runtime, *FindMethod(Kind::kString, "replace"), runtime.NewString(text),
                std::move(values));
}

Result<Value> FilterSafe(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  return runtime.NewText(std::string(text.text()), true);
}

Result<Value> FilterEscape(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  if (self.is_string() && self.string().is_markup) return self;
  return FilterForceEscape(runtime, self, arguments);
}

Result<Value> FilterForceEscape(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  if (!runtime.budget().FitsString(uint64_t{text.text().size()} * 5)) return runtime.Exceeded();
  return runtime.NewText(EscapeHtml(text.text()), true);
}

Result<Value> FilterFormat(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  const CallArguments& given = arguments.rest;
  if (given.keyword.empty()) {
    return PercentFormat(runtime, text, runtime.NewTuple(given.positional));
  }
  if (!given.positional.empty()) {
    return Fault("format: takes arguments either by position or by name");
  }
  std::vector<DictObject::Entry> entries;
  for (const auto& [name, value] : given.keyword) {
    entries.emplace_back(runtime.NewString(name), value);
  }
  return PercentFormat(runtime, text, runtime.NewDict(std::move(entries)));
}

Result<Value> FilterIndent(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  if (self.is(Kind::kUndefined)) return UndefinedFault(self);
  if (!self.is_string()) return Fault("indent: expected a string, not '{}'", TypeName(self));
  std::string indention(4, ' ');
  if (arguments.has(0) && arguments[0].is_string()) {
    indention = arguments[0].text();
  } else if (arguments.has(0)) {
    WEFT_ASSIGN_OR_RETURN(const int64_t width, ToIndex(arguments[0], "indent: width"));
    if (width > 100000) return Fault("indent: width {} is larger than 100000", width);
    indention.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool first = ArgumentTruth(arguments, 1);
  const bool blank = ArgumentTruth(arguments, 2);
  const std::string text = std::string(self.text()) + "\n";
  if (!runtime.SpendBytes(text.size())) return runtime.Exceeded();
  std::string out;
  bool is_first = true;
  for (const std::string_view line : SplitLines(text, false)) {
    if (!is_first) out.push_back('\n');
    if (is_first ? first : (blank || !line.empty())) out.append(indention);
    out.append(line);
    is_first = false;
    if (!runtime.SpendBytes(indention.size()) || !runtime.budget().FitsString(out.size())) {
      return runtime.Exceeded();
    }
  }
  return runtime.NewText(std::move(out), self.string().is_markup);
}

Result<Value> FilterTruncate(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  int64_t length = 255;
  int64_t leeway = 5;
  if (arguments.has(0)) {
    WEFT_ASSIGN_OR_RETURN(length, ToIndex(arguments[0], "truncate: length"));
  }
  if (arguments.has(3) && !arguments[3].is(Kind::kNone)) {
    WEFT_ASSIGN_OR_RETURN(leeway, ToIndex(arguments[3], "truncate: leeway"));
  }
  const Value end = arguments.has(2) ? arguments[2] : ConstantString("...");
  if (!end.is_string()) return Fault("truncate: expected the end as a string");
  const int64_t end_count = end.string().character_count;
  if (length < end_count) return Fault("truncate: length {} is below {}", length, end_count);
  if (leeway < 0) return Fault("truncate: leeway {} is negative", leeway);
  WEFT_ASSIGN_OR_RETURN(const int64_t count, Length(self));
  if (count <= length || count - length <= leeway) return self;
  if (!self.is_string()) return Fault("truncate: expected a string, not '{}'", TypeName(self));
  if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
  std::string text = SliceText(self.string(), {0, 1, length - end_count});
  if (!ArgumentTruth(arguments, 1)) {
    const size_t space = text.rfind(' ');
    if (space != std::string::npos) text.resize(space);
  }
  text.append(end.text());
  return runtime.NewText(std::move(text), self.string().is_markup);
}

Result<Value> FilterUrlEncode(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (self.is_string() || !IsIterable(self)) {
    WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
    return runtime.NewString(UrlQuote(text.text(), false));
  }
  Value pairs = self;
  if (self.is(Kind::kDict)) {
    WEFT_ASSIGN_OR_RETURN(pairs, Invoke(runtime, *FindMethod(Kind::kDict, "items"), self, {}));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, pairs));
  std::string out;
  for (const Value& item : items) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<Value> pair, Collect(runtime, item));
    if (pair.size() != 2) return Fault("urlencode: expected pairs, found {} values", pair.size());
    WEFT_ASSIGN_OR_RETURN(const Value key, TextOf(runtime, pair[0]));
    WEFT_ASSIGN_OR_RETURN(const Value value, TextOf(runtime, pair[1]));
    if (!out.empty()) out.push_back('&');
    out.append(UrlQuote(key.text(), true)).append("=").append(UrlQuote(value.text(), true));
    if (!runtime.budget().FitsString(out.size())) return runtime.Exceeded();
  }
  return runtime.NewString(std::move(out));
}

Result<Value> FilterWordCount(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  int64_t count = 0;
  bool in_word = false;
  ForEachCharacter(text.text(), [&](char32_t c, std::string_view) {
    const bool word = IsWord(c);
    if (word && !in_word) ++count;
    in_word = word;
  });
  return Value::Int(count);
}

Result<Value> FilterStripTags(Runtime& runtime, const Value& self, const BoundArguments&) {
  WEFT_ASSIGN_OR_RETURN(const Value text, TextOf(runtime, self));
  std::string kept(text.text());
  // Comments first, then tags, as markupsafe does.
  for (const auto& [open, close] : {std::pair("<!--", "-->"), std::pair("<", ">")}) {
    std::string rest;
    size_t from = 0;
    while (true) {
      const size_t begin = kept.find(open, from);
      const size_t end = begin == std::string::npos ? begin : kept.find(close, begin);
      if (end == std::string::npos) break;
      rest.append(kept, from, begin - from);
      from = end + std::string_view(close).size();
    }
    rest.append(kept, from, std::string::npos);
    kept = std::move(rest);
  }
  std::string out;
  for (const std::string_view word : SplitSpace(kept, -1)) {
    if (!out.empty()) out.push_back(' ');
    out.append(word);
  }
  return runtime.NewString(std::move(out));
}

// transformers' own: json.dumps without Jinja's escaping for HTML.
Result<Value> FilterToJson(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  JsonStyle style;
  style.ensure_ascii = ArgumentTruth(arguments, 0);
  style.sort_keys = ArgumentTruth(arguments, 3);
  if (arguments.has(1)) {
    WEFT_RETURN_IF_ERROR(SetIndent(arguments[1], &style));
  }
  if (arguments.has(2)) {
    WEFT_RETURN_IF_ERROR(SetSeparators(runtime, arguments[2], &style));
  }
  WEFT_ASSIGN_OR_RETURN(std::string text, ToJson(runtime, self, style));
  return runtime.NewString(std::move(text));
}

}  // namespace weft::jinja
