// References of schemas to schemas: RFC 3986, as far as names of resources need it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct SplitUri {
  std::string_view resource;                 // all before the first '#'
  std::optional<std::string_view> fragment;  // all behind it
};

SplitUri SplitFragment(std::string_view reference);

// What `reference`, which has no fragment, names beside `base` (RFC 3986, section 5.2.2; both may
// be relative, as where a document has no name of its own).
std::string ResolveUri(std::string_view base, std::string_view reference);

// %41 is 'A'. nullopt: a '%' without two hexadecimal digits.
std::optional<std::string> PercentDecoded(std::string_view text);

// '~' and '/' of a name in a JSON pointer, as RFC 6901 writes them, and the reverse; nullopt: a '~'
// without 0 or 1.
std::string PointerToken(std::string_view name);
std::optional<std::string> PointerTokenName(std::string_view token);

}  // namespace weft
