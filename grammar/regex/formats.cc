#include "grammar/regex/formats.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "grammar/regex/pattern.h"

namespace weft {
namespace {

// Parts of patterns are in parentheses where they are alternatives, so that they can be put
// together.
std::string Group(const std::string& pattern) { return "(?:" + pattern + ")"; }

constexpr char kFormatHour[] = "(?:[01][0-9]|2[0-3])";
constexpr char kFormatMinute[] = "[0-5][0-9]";
constexpr char kFormatFraction[] = "(?:\\.[0-9]+)?";

std::string DatePattern() {
  const std::string leap_year =
      "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
  return "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
         "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
         "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
         "|" +
         leap_year + "-02-29)";
}

std::string DurationPattern() {
  const std::string second = "[0-9]+S";
  const std::string minute = "[0-9]+M" + Group(second) + "?";
  const std::string hour = "[0-9]+H" + Group(minute) + "?";
  const std::string time = "T" + Group(hour + "|" + minute + "|" + second);
  const std::string day = "[0-9]+D";
  const std::string month = "[0-9]+M" + Group(day) + "?";
  const std::string year = "[0-9]+Y" + Group(month) + "?";
  return "P" +
         Group(Group(day + "|" + month + "|" + year) + Group(time) + "?|" + time + "|[0-9]+W");
}

std::string Ipv4Pattern() {
  const std::string octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return Group(octet + "(?:\\." + octet + "){3}");
}

// The nine alternatives of RFC 3986, which are those of RFC 4291.
std::string Ipv6Pattern() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string last = Group(group + ":" + group + "|" + Ipv4Pattern());
  const auto before = [&](int most) {
    return "(?:(?:" + group + ":){0," + std::to_string(most) + "}" + group + ")?";
  };
  std::string all = "(?:" + group + ":){6}" + last + "|::(?:" + group + ":){5}" + last;
  for (int most = 0; most < 5; ++most) {
    all += fmt::format("|{}::(?:{}:){{{}}}{}", before(most), group, 4 - most, last);
  }
  return Group(all + "|" + before(5) + "::" + group + "|" + before(6) + "::");
}

constexpr char kUcsChars[] =
    "\\x{A0}-\\x{D7FF}\\x{F900}-\\x{FDCF}\\x{FDF0}-\\x{FFEF}\\x{10000}-\\x{1FFFD}\\x{20000}-\\x{"
    "2FFFD}"
    "\\x{30000}-\\x{3FFFD}\\x{40000}-\\x{4FFFD}\\x{50000}-\\x{5FFFD}\\x{60000}-\\x{6FFFD}"
    "\\x{70000}-\\x{7FFFD}\\x{80000}-\\x{8FFFD}\\x{90000}-\\x{9FFFD}\\x{A0000}-\\x{AFFFD}"
    "\\x{B0000}-\\x{BFFFD}\\x{C0000}-\\x{CFFFD}\\x{D0000}-\\x{DFFFD}\\x{E1000}-\\x{EFFFD}";
constexpr char kPrivateChars[] = "\\x{E000}-\\x{F8FF}\\x{F0000}-\\x{FFFFD}\\x{100000}-\\x{10FFFD}";
constexpr char kPercentEncoded[] = "%[0-9A-Fa-f]{2}";

// URIs, or IRIs with what those have besides; with a scheme, or any reference.
std::string UriPattern(bool international, bool reference) {
  const std::string more = international ? kUcsChars : "";
  const std::string letters = "A-Za-z0-9\\-._~" + more;
  const std::string delimiters = "!$&'()*+,;=";
  const auto any_of = [&](const std::string& others) {
    return "(?:[" + letters + delimiters + others + "]|" + kPercentEncoded + ")";
  };
  const std::string character = any_of(":@");
  const std::string host = "(?:\\[(?:" + Ipv6Pattern() + "|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9\\-._~" +
                           delimiters + ":]+)\\]|" + any_of("") + "*)";
  const std::string authority = "(?:" + any_of(":") + "*@)?" + host + "(?::[0-9]*)?";
  const std::string segments = "(?:/" + character + "*)*";
  const std::string rooted =
      "//" + authority + segments + "|/(?:" + character + "+" + segments + ")?";
  const std::string query =
      "(?:\\?" + any_of(std::string(":@/?") + (international ? kPrivateChars : "")) + "*)?";
  const std::string tail = query + "(?:#" + any_of(":@/?") + "*)?";
  std::string absolute =
      "[A-Za-z][A-Za-z0-9+\\-.]*:(?:" + rooted + "|" + character + "+" + segments + "|)" + tail;
  if (!reference) return absolute;
  return absolute + "|(?:" + rooted + "|" + any_of("@") + "+" + segments + "|)" + tail;
}

std::string UriTemplatePattern() {
  const std::string literal = std::string("(?:[!#$&(-;=?-\\[\\]_a-z~") + kUcsChars + kPrivateChars +
                              "]|" + kPercentEncoded + ")";
  const std::string letter = std::string("(?:[A-Za-z0-9_]|") + kPercentEncoded + ")";
  const std::string variable = letter + "(?:\\.?" + letter + ")*(?::[1-9][0-9]{0,3}|\\*)?";
  return "(?:" + literal + "|\\{[+#./;?&=,!@|]?" + variable + "(?:," + variable + ")*\\})*";
}

constexpr char kJsonPointer[] = "(?:/(?:[^~/]|~[01])*)*";

class FormatBuilder {
 public:
  explicit FormatBuilder(RegexArena* arena) : arena_(*arena) {}

  RegexId Pattern(const std::string& pattern) {
    const Result<RegexId> id = ParsePattern(&arena_, pattern, PatternDialect::kRe2);
    // All patterns are ours: only a limit of the arena can be in the way, and that is kept there.
    WEFT_CHECK(id.has_value() || !arena_.status().has_value());
    return id.value_or(RegexId::kNothing);
  }

  RegexId Time() {
    const std::string offset =
        std::string("(?:[Zz]|[+-]") + kFormatHour + ":" + kFormatMinute + ")";
    return arena_.Or(Pattern(std::string(kFormatHour) + ":" + kFormatMinute + ":" + kFormatMinute +
                             kFormatFraction + offset),
                     LeapSecond());
  }

  RegexId Hostname(const std::string& first_or_last, const std::string& inner) {
    const std::string label = first_or_last + "(?:" + inner + "{0,61}" + first_or_last + ")?";
    return arena_.And(Pattern(label + "(?:\\." + label + ")*"), Pattern("(?s).{1,253}"));
  }
  RegexId Hostname() { return Hostname("[A-Za-z0-9]", "[A-Za-z0-9\\-]"); }

  RegexId Email(const std::string& more, RegexId domain) {
    const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-" + more + "]+";
    const std::string quoted = "\"(?:[ !#-\\[\\]-~" + more + "]|\\\\[ -~])*\"";
    const RegexId local =
        arena_.And(Pattern(atom + "(?:\\." + atom + ")*|" + quoted), Pattern("(?s).{1,64}"));
    const RegexId address = Pattern("\\[(?:" + Ipv4Pattern() + "|IPv6:" + Ipv6Pattern() + ")\\]");
    const std::array parts = {local, arena_.Literal("@"), arena_.Or(domain, address)};
    return arena_.Concat(parts);
  }

  RegexId Concat(const std::string& first, RegexId second) {
    return arena_.Concat(Pattern(first), second);
  }

 private:
  // The minute before midnight, UTC. Elsewhere an hour decides the offset's hour and a minute the
  // offset's minute, each on its own; but one minute before a full hour the offset's hour is the
  // next.
  RegexId LeapSecond() {
    std::string hours_ahead, hours_ahead_full, hours_behind, minutes_ahead, minutes_behind;
    const auto add = [](std::string* all, const std::string& one) {
      *all += (all->empty() ? "" : "|") + one;
    };
    const std::string second = std::string(":60") + kFormatFraction;
    const std::string any = "[0-9]{2}";
    for (int hour = 0; hour < 24; ++hour) {
      add(&hours_ahead, fmt::format("{0:02}:{1}{2}\\+{0:02}:{1}", hour, any, second));
      add(&hours_ahead_full, fmt::format("{:02}:59{}\\+{:02}:00", hour, second, (hour + 1) % 24));
      add(&hours_behind, fmt::format("{0:02}:{2}{3}-{1:02}:{2}", hour, 23 - hour, any, second));
    }
    for (int minute = 0; minute < 60; ++minute) {
      const std::string begin = fmt::format("{}:{:02}{}", any, minute, second);
      if (minute < 59) add(&minutes_ahead, fmt::format("{}\\+{}:{:02}", begin, any, minute + 1));
      add(&minutes_behind, fmt::format("{}-{}:{:02}", begin, any, 59 - minute));
    }
    return arena_.Or(std::array{Pattern("23:59" + second + "[Zz]"), Pattern(hours_ahead_full),
                                arena_.And(Pattern(hours_ahead), Pattern(minutes_ahead)),
                                arena_.And(Pattern(hours_behind), Pattern(minutes_behind))});
  }

  RegexArena& arena_;
};

}  // namespace

std::optional<RegexId> FormatRegex(RegexArena* arena, std::string_view format) {
  FormatBuilder build(arena);
  if (format == "date") return build.Pattern(DatePattern());
  if (format == "time") return build.Time();
  if (format == "date-time") return build.Concat(DatePattern() + "[Tt]", build.Time());
  if (format == "duration") return build.Pattern(DurationPattern());
  if (format == "email") return build.Email("", build.Hostname());
  if (format == "idn-email") {
    return build.Email("\\x{80}-\\x{10FFFF}",
                       build.Hostname("[\\pL\\p{Nd}]", "[\\pL\\pM\\p{Nd}\\-]"));
  }
  if (format == "hostname") return build.Hostname();
  if (format == "ipv4") return build.Pattern(Ipv4Pattern());
  if (format == "ipv6") return build.Pattern(Ipv6Pattern());
  if (format == "uri") return build.Pattern(UriPattern(false, false));
  if (format == "uri-reference") return build.Pattern(UriPattern(false, true));
  if (format == "iri") return build.Pattern(UriPattern(true, false));
  if (format == "iri-reference") return build.Pattern(UriPattern(true, true));
  if (format == "uri-template") return build.Pattern(UriTemplatePattern());
  if (format == "uuid") {
    return build.Pattern("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
  }
  if (format == "json-pointer") return build.Pattern(kJsonPointer);
  if (format == "relative-json-pointer") {
    return build.Pattern(std::string("(?:0|[1-9][0-9]*)(?:#|") + kJsonPointer + ")");
  }
  return std::nullopt;
}

bool IsAnnotationFormat(std::string_view format) {
  constexpr std::array<std::string_view, 17> kFormats = {
      "int8",   "int16",  "int32",  "int64",     "uint",          "uint8",
      "uint16", "uint32", "uint64", "float",     "double",        "password",
      "binary", "byte",   "path",   "file-path", "directory-path"};
  return std::ranges::find(kFormats, format) != kFormats.end();
}

}  // namespace weft
