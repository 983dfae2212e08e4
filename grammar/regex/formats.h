// JSON Schema's formats as regular expressions.
#pragma once

#include <optional>
#include <string_view>

#include "grammar/regex/regex.h"

namespace weft {

// The texts of a format, as the document that defines it has them; nullopt: no format that is known
// here, or none that a regular expression can decide (idn-hostname, regex).
//
//   date-time, date, time, duration   RFC 3339; a leap second ends a day of UTC, in whatever offset
//   email                             RFC 5321, with its limits of length
//   idn-email                         RFC 6531; of a domain's labels, letters, marks and digits,
//   without
//                                     what IDNA says of single ones
//   hostname                          RFC 1123
//   ipv4, ipv6                        RFC 2673 section 3.2, RFC 4291 section 2.2
//   uri, uri-reference                RFC 3986
//   iri, iri-reference                RFC 3987
//   uri-template                      RFC 6570
//   uuid                              RFC 4122
//   json-pointer                      RFC 6901
//   relative-json-pointer             draft-handrews-relative-json-pointer-01
std::optional<RegexId> FormatRegex(RegexArena* arena, std::string_view format);

// Whether a format says nothing about a text: how a number is stored, how a field is shown.
bool IsAnnotationFormat(std::string_view format);

}  // namespace weft
