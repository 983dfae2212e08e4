// The frame of an HTML report: one file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// For text and for attributes in double quotes. Bytes that are no UTF-8, and control characters,
// become U+FFFD.
std::string EscapeHtml(std::string_view text);

// A document with the style sheet of the reports. `body` is HTML.
std::string HtmlPage(std::string_view title, std::string_view body);

// A number worth a card at the top: "Output" "1,234" "tokens/s".
std::string HtmlCard(std::string_view name, std::string_view value, std::string_view unit,
                     std::string_view note);

}  // namespace weft
