#include <array>

#include "base/quoted.h"
#include "model/tokenizer/jinja/format.h"

namespace weft::jinja {

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
