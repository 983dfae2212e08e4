// The methods of Python's str.
#include <algorithm>
#include <iterator>
#include <limits>

#include "model/tokenizer/jinja/format.h"
#include "model/tokenizer/jinja/methods.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

Result<std::string_view> TextArgument(const BoundArguments& arguments, size_t i,
                                      std::string_view method) {
  if (arguments[i].is(Kind::kUndefined)) return UndefinedFault(arguments[i]);
  if (!arguments[i].is_string()) {
    return Fault("{}: expected a string, not '{}'", method, TypeName(arguments[i]));
  }
  return arguments[i].text();
}

Result<int64_t> IntegerArgument(const BoundArguments& arguments, size_t i, int64_t fallback,
                                std::string_view method) {
  if (!arguments.has(i)) return fallback;
  return ToIndex(arguments[i], method);
}

Value Piece(Runtime& runtime, const Value& self, std::string_view text) {
  return runtime.NewText(std::string(text), self.string().is_markup);
}

// A list of what is left of a text after splitting it, paid for.
Result<Value> Pieces(Runtime& runtime, const Value& self,
                     const std::vector<std::string_view>& parts) {
  if (!runtime.SpendBytes(self.text().size()) ||
      !runtime.Spend(static_cast<int64_t>(parts.size())) ||
      !runtime.budget().FitsItems(parts.size() * 2)) {
    return runtime.Exceeded();
  }
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(Piece(runtime, self, part));
  return runtime.NewList(std::move(items));
}

template <std::string (*kTransform)(std::string_view)>
Result<Value> Transform(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (!runtime.SpendBytes(self.text().size()) ||
      !runtime.budget().FitsString(uint64_t{self.text().size()} * 3)) {
    return runtime.Exceeded();
  }
  return Piece(runtime, self, kTransform(self.text()));
}

template <Side kSide>
Result<Value> StripMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
  if (!arguments.has(0) || arguments[0].is(Kind::kNone)) {
    return Piece(runtime, self, Strip(self.text(), kSide));
  }
  WEFT_ASSIGN_OR_RETURN(const std::string_view characters, TextArgument(arguments, 0, "strip"));
  // Every character may be compared with all of `characters`.
  if (!runtime.SpendBytes(uint64_t{self.text().size()} * (characters.size() / 16 + 1))) {
    return runtime.Exceeded();
  }
  return Piece(runtime, self, Strip(self.text(), characters, kSide));
}

template <bool kFromRight>
Result<Value> SplitMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const int64_t max_splits, IntegerArgument(arguments, 1, -1, "split"));
  if (!runtime.SpendBytes(self.text().size()) ||
      !runtime.budget().FitsItems(self.text().size() / 4)) {
    return runtime.Exceeded();
  }
  if (!arguments.has(0) || arguments[0].is(Kind::kNone)) {
    return Pieces(runtime, self,
                  kFromRight ? SplitSpaceRight(self.text(), max_splits)
                             : SplitSpace(self.text(), max_splits));
  }
  WEFT_ASSIGN_OR_RETURN(const std::string_view separator, TextArgument(arguments, 0, "split"));
  if (separator.empty()) return Fault("split: empty separator");
  return Pieces(runtime, self,
                kFromRight ? SplitRight(self.text(), separator, max_splits)
                           : Split(self.text(), separator, max_splits));
}

Result<Value> SplitLinesMethod(Runtime& runtime, const Value& self,
                               const BoundArguments& arguments) {
  if (!runtime.budget().FitsItems(self.text().size() / 4)) return runtime.Exceeded();
  return Pieces(runtime, self, SplitLines(self.text(), arguments.has(0) && Truth(arguments[0])));
}

template <bool kFromRight>
Result<Value> Partition(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view separator, TextArgument(arguments, 0, "partition"));
  if (separator.empty()) return Fault("partition: empty separator");
  const std::string_view text = self.text();
  if (!runtime.SpendBytes(text.size())) return runtime.Exceeded();
  const size_t found = kFromRight ? text.rfind(separator) : text.find(separator);
  if (found == std::string_view::npos) {
    Value empty = Piece(runtime, self, "");
    if (kFromRight) return runtime.NewTuple({empty, empty, self});
    return runtime.NewTuple({self, empty, empty});
  }
  return runtime.NewTuple({Piece(runtime, self, text.substr(0, found)), arguments[0],
                           Piece(runtime, self, text.substr(found + separator.size()))});
}

// The part of a text that the optional arguments start and stop choose. Nothing if start lies
// behind the end.
struct Window {
  std::string_view text;
  int64_t first_character = 0;
};
Result<std::optional<Window>> WindowOf(Runtime& runtime, const Value& self,
                                       const BoundArguments& arguments, size_t i) {
  const StringObject& whole = self.string();
  if (!runtime.SpendBytes(whole.bytes.size())) return runtime.Exceeded();
  const int64_t count = whole.character_count;
  int64_t bounds[2] = {0, count};
  for (size_t j = 0; j < 2; ++j) {
    if (!arguments.has(i + j) || arguments[i + j].is(Kind::kNone)) continue;
    WEFT_ASSIGN_OR_RETURN(bounds[j], ToIndex(arguments[i + j], "slice index"));
    if (bounds[j] < 0) bounds[j] = std::max<int64_t>(0, bounds[j] < -count ? 0 : bounds[j] + count);
  }
  const int64_t stop = std::min(bounds[1], count);
  if (bounds[0] > count || bounds[0] > stop) return std::optional<Window>();
  const size_t begin = ByteOffset(whole, bounds[0]);
  const size_t end = ByteOffset(whole, stop);
  return Window{std::string_view(whole.bytes).substr(begin, end - begin), bounds[0]};
}

// startswith and endswith, with one text or a tuple of them.
template <bool kAtEnd>
Result<Value> Matches(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(runtime, self, arguments, 1));
  const auto matches = [&](std::string_view affix) {
    if (!window || affix.size() > window->text.size()) return false;
    return kAtEnd ? window->text.substr(window->text.size() - affix.size()) == affix
                  : window->text.substr(0, affix.size()) == affix;
  };
  if (arguments[0].is_string()) return Value::Bool(matches(arguments[0].text()));
  if (!arguments[0].is(Kind::kTuple)) {
    return Fault("{}: expected a string or a tuple of strings, not '{}'",
                 kAtEnd ? "endswith" : "startswith", TypeName(arguments[0]));
  }
  for (const Value& affix : arguments[0].items()) {
    if (!affix.is_string()) return Fault("startswith: the tuple must contain strings");
    if (matches(affix.text())) return Value::Bool(true);
  }
  return Value::Bool(false);
}

template <bool kFromRight, bool kMustExist>
Result<Value> FindMethodOf(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view wanted, TextArgument(arguments, 0, "find"));
  WEFT_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(runtime, self, arguments, 1));
  size_t found = std::string_view::npos;
  if (window) found = kFromRight ? window->text.rfind(wanted) : window->text.find(wanted);
  if (found == std::string_view::npos) {
    if (kMustExist) return Fault("index: substring not found");
    return Value::Int(-1);
  }
  const int64_t before =
      std::count_if(window->text.begin(), window->text.begin() + static_cast<std::ptrdiff_t>(found),
                    [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
  return Value::Int(window->first_character + before);
}

Result<Value> CountMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view wanted, TextArgument(arguments, 0, "count"));
  WEFT_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(runtime, self, arguments, 1));
  if (!window) return Value::Int(0);
  int64_t count = 0;
  if (wanted.empty()) {
    count = 1 + std::count_if(window->text.begin(), window->text.end(),
                              [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
    return Value::Int(count);
  }
  for (size_t at = window->text.find(wanted); at != std::string_view::npos;
       at = window->text.find(wanted, at + wanted.size())) {
    ++count;
  }
  return Value::Int(count);
}

// An empty `old` stands before every character and at the end.
std::string ReplaceEmpty(std::string_view text, std::string_view replacement, int64_t limit) {
  std::string out;
  int64_t done = 0;
  ForEachCharacter(text, [&](char32_t, std::string_view bytes) {
    if (limit < 0 || done < limit) {
      out.append(replacement);
      ++done;
    }
    out.append(bytes);
  });
  if (limit < 0 || done < limit) out.append(replacement);
  return out;
}

Result<Value> ReplaceMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view old, TextArgument(arguments, 0, "replace"));
  WEFT_ASSIGN_OR_RETURN(const std::string_view replacement, TextArgument(arguments, 1, "replace"));
  WEFT_ASSIGN_OR_RETURN(const int64_t limit, IntegerArgument(arguments, 2, -1, "replace"));
  const std::string_view text = self.text();
  int64_t matches = 0;
  if (old.empty()) {
    matches = self.string().character_count + 1;
  } else {
    for (size_t at = text.find(old); at != std::string_view::npos;
         at = text.find(old, at + old.size())) {
      ++matches;
    }
  }
  if (limit >= 0) matches = std::min(matches, limit);
  const uint64_t size_bytes =
      text.size() + static_cast<uint64_t>(matches) * uint64_t{replacement.size()};
  if (!runtime.budget().FitsString(size_bytes) || !runtime.SpendBytes(text.size() + size_bytes)) {
    return runtime.Exceeded();
  }
  if (matches == 0) return self;
  if (old.empty()) return Piece(runtime, self, ReplaceEmpty(text, replacement, limit));
  std::string out;
  size_t from = 0;
  for (int64_t i = 0; i < matches; ++i) {
    const size_t at = text.find(old, from);
    out.append(text, from, at - from).append(replacement);
    from = at + old.size();
  }
  out.append(text, from, std::string_view::npos);
  return Piece(runtime, self, out);
}

Result<Value> JoinMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(arguments[0]));
  std::string out;
  for (int64_t i = 0;; ++i) {
    if (!runtime.SpendBytes(self.text().size()) || !runtime.budget().FitsString(out.size())) {
      return runtime.Exceeded();
    }
    WEFT_ASSIGN_OR_RETURN(const Value item, cursor.Next(runtime));
    if (item.is(Kind::kMissing)) break;
    if (!item.is_string()) {
      return Fault("join: sequence item {}: expected str instance, {} found", i, TypeName(item));
    }
    if (i > 0) out.append(self.text());
    WEFT_RETURN_IF_ERROR(AppendStr(runtime, item, &out));
  }
  return Piece(runtime, self, out);
}

template <bool kPrefix>
Result<Value> RemoveAffix(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view affix,
                        TextArgument(arguments, 0, kPrefix ? "removeprefix" : "removesuffix"));
  std::string_view text = self.text();
  if (!runtime.SpendBytes(text.size())) return runtime.Exceeded();
  if (affix.empty() || affix.size() > text.size()) return self;
  if (kPrefix && text.substr(0, affix.size()) == affix) {
    text.remove_prefix(affix.size());
  } else if (!kPrefix && text.substr(text.size() - affix.size()) == affix) {
    text.remove_suffix(affix.size());
  }
  return Piece(runtime, self, text);
}

// How many characters to add left and right.
using Padding = std::pair<int64_t, int64_t>;
Result<Value> Pad(Runtime& runtime, const Value& self, const BoundArguments& arguments,
                  std::string_view method, Padding (*split)(int64_t missing, int64_t width)) {
  WEFT_ASSIGN_OR_RETURN(const int64_t width, ToIndex(arguments[0], method));
  std::string_view fill = " ";
  if (arguments.has(1)) {
    WEFT_ASSIGN_OR_RETURN(fill, TextArgument(arguments, 1, method));
    if (arguments[1].string().character_count != 1) {
      return Fault("{}: the fill must be one character", method);
    }
  }
  const int64_t missing = width - std::min(width, self.string().character_count);
  if (missing <= 0) return self;
  if (missing > (int64_t{1} << 40) ||
      !runtime.budget().FitsString(static_cast<uint64_t>(missing) * fill.size()) ||
      !runtime.SpendBytes(static_cast<uint64_t>(missing) * 8)) {
    runtime.budget().FitsString(std::numeric_limits<uint64_t>::max() >> 1);
    return runtime.Exceeded();
  }
  const auto [left, right] = split(missing, width);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(self.text());
  for (int64_t i = 0; i < right; ++i) out.append(fill);
  return Piece(runtime, self, out);
}

Result<Value> CenterMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return Pad(runtime, self, arguments, "center", [](int64_t missing, int64_t width) {
    const int64_t left = missing / 2 + (missing & width & 1);
    return Padding(left, missing - left);
  });
}
Result<Value> LeftJustify(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return Pad(runtime, self, arguments, "ljust",
             [](int64_t missing, int64_t) { return Padding(0, missing); });
}
Result<Value> RightJustify(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return Pad(runtime, self, arguments, "rjust",
             [](int64_t missing, int64_t) { return Padding(missing, 0); });
}

Result<Value> ZeroFill(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const int64_t width, ToIndex(arguments[0], "zfill"));
  const int64_t missing = width - std::min(width, self.string().character_count);
  if (missing <= 0) return self;
  if (!runtime.budget().FitsString(static_cast<uint64_t>(missing)) ||
      !runtime.SpendBytes(static_cast<uint64_t>(missing))) {
    return runtime.Exceeded();
  }
  const std::string_view text = self.text();
  const bool has_sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  std::string out(text.substr(0, has_sign ? 1 : 0));
  out.append(static_cast<size_t>(missing), '0').append(text.substr(has_sign ? 1 : 0));
  return Piece(runtime, self, out);
}

Result<Value> ExpandTabs(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  WEFT_ASSIGN_OR_RETURN(const int64_t tab_size, IntegerArgument(arguments, 0, 8, "expandtabs"));
  if (tab_size > 1000) return Fault("expandtabs: tab size {} is larger than 1000", tab_size);
  if (!runtime.SpendBytes(uint64_t{self.text().size()} * 64) ||
      !runtime.budget().FitsString(uint64_t{self.text().size()} *
                                   static_cast<uint64_t>(std::max<int64_t>(tab_size, 1)))) {
    return runtime.Exceeded();
  }
  std::string out;
  int64_t column = 0;
  ForEachCharacter(self.text(), [&](char32_t c, std::string_view bytes) {
    if (c == '\t') {
      const int64_t spaces = tab_size > 0 ? tab_size - column % tab_size : 0;
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
      return;
    }
    out.append(bytes);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  });
  return Piece(runtime, self, out);
}

// Whether there are characters and all of them are of the class.
template <bool (*kClass)(char32_t), bool kEmptyIs = false>
Result<Value> AllAre(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
  bool all = kEmptyIs || !self.text().empty();
  ForEachCharacter(self.text(), [&](char32_t c, std::string_view) { all = all && kClass(c); });
  return Value::Bool(all);
}

bool IsAlphanumeric(char32_t c) {
  return IsAlphabetic(c) || IsDecimal(c) || IsDigit(c) || IsNumericCharacter(c);
}
bool IsAsciiCharacter(char32_t c) { return c < 0x80; }

template <bool (*kWanted)(char32_t), bool (*kOther)(char32_t)>
Result<Value> CaseIs(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
  bool any = false;
  bool all = true;
  ForEachCharacter(self.text(), [&](char32_t c, std::string_view) {
    any = any || kWanted(c);
    all = all && !kOther(c) && !IsTitleCase(c);
  });
  return Value::Bool(any && all);
}

Result<Value> IsTitle(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
  bool any = false;
  bool good = true;
  bool after_cased = false;
  ForEachCharacter(self.text(), [&](char32_t c, std::string_view) {
    const bool upper = IsUpper(c) || IsTitleCase(c);
    const bool lower = IsLower(c);
    if ((upper && after_cased) || (lower && !after_cased)) good = false;
    after_cased = upper || lower;
    any = any || after_cased;
  });
  return Value::Bool(any && good);
}

Result<Value> IsIdentifier(Runtime& runtime, const Value& self, const BoundArguments&) {
  if (!runtime.SpendBytes(self.text().size())) return runtime.Exceeded();
  bool first = true;
  bool good = !self.text().empty();
  ForEachCharacter(self.text(), [&](char32_t c, std::string_view) {
    good = good && (first ? c == '_' || IsAlphabetic(c) : IsWord(c));
    first = false;
  });
  return Value::Bool(good);
}

Result<Value> FormatMethod(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  return BraceFormat(runtime, self, arguments.rest);
}

Result<Value> FormatMap(Runtime& runtime, const Value& self, const BoundArguments& arguments) {
  if (!arguments[0].is(Kind::kDict)) return Fault("format_map: expected a dict");
  CallArguments given;
  for (const auto& [key, value] : arguments[0].dict().entries) {
    if (key.is_string()) given.keyword.emplace_back(std::string(key.text()), value);
  }
  return BraceFormat(runtime, self, given);
}

constexpr Builtin kStringMethods[] = {
    {"capitalize", Transform<ToCapitalized>},
    {"casefold", Transform<ToCaseFolded>},
    {"center", CenterMethod, "width fillchar", 1, false},
    {"count", CountMethod, "sub start end", 1, false},
    {"endswith", Matches<true>, "suffix start end", 1, false},
    {"expandtabs", ExpandTabs, "tabsize"},
    {"find", FindMethodOf<false, false>, "sub start end", 1, false},
    {"format", FormatMethod, "*"},
    {"format_map", FormatMap, "mapping", 1, false},
    {"index", FindMethodOf<false, true>, "sub start end", 1, false},
    {"isalnum", AllAre<IsAlphanumeric>},
    {"isalpha", AllAre<IsAlphabetic>},
    {"isascii", AllAre<IsAsciiCharacter, true>},
    {"isdecimal", AllAre<IsDecimal>},
    {"isdigit", AllAre<IsDigit>},
    {"isidentifier", IsIdentifier},
    {"islower", CaseIs<IsLower, IsUpper>},
    {"isnumeric", AllAre<IsNumericCharacter>},
    {"isprintable", AllAre<IsPrintable, true>},
    {"isspace", AllAre<IsPythonSpace>},
    {"istitle", IsTitle},
    {"isupper", CaseIs<IsUpper, IsLower>},
    {"join", JoinMethod, "iterable", 1, false},
    {"ljust", LeftJustify, "width fillchar", 1, false},
    {"lower", Transform<ToLower>},
    {"lstrip", StripMethod<Side::kLeft>, "chars", 0, false},
    {"partition", Partition<false>, "sep", 1, false},
    {"removeprefix", RemoveAffix<true>, "prefix", 1, false},
    {"removesuffix", RemoveAffix<false>, "suffix", 1, false},
    {"replace", ReplaceMethod, "old new count", 2, false},
    {"rfind", FindMethodOf<true, false>, "sub start end", 1, false},
    {"rindex", FindMethodOf<true, true>, "sub start end", 1, false},
    {"rjust", RightJustify, "width fillchar", 1, false},
    {"rpartition", Partition<true>, "sep", 1, false},
    {"rsplit", SplitMethod<true>, "sep maxsplit"},
    {"rstrip", StripMethod<Side::kRight>, "chars", 0, false},
    {"split", SplitMethod<false>, "sep maxsplit"},
    {"splitlines", SplitLinesMethod, "keepends"},
    {"startswith", Matches<false>, "prefix start end", 1, false},
    {"strip", StripMethod<Side::kBoth>, "chars", 0, false},
    {"swapcase", Transform<ToSwappedCase>},
    {"title", Transform<ToTitle>},
    {"upper", Transform<ToUpper>},
    {"zfill", ZeroFill, "width", 1, false},
};

}  // namespace

const Builtin* FindStringMethod(std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(kStringMethods), std::end(kStringMethods), name,
                       [](const Builtin& method, std::string_view n) { return method.name < n; });
  return found != std::end(kStringMethods) && found->name == name ? found : nullptr;
}

}  // namespace weft::jinja
