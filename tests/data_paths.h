// Where tests find their data. Kept in one translation unit, so that no other depends on where the
// clone lies (a compiler cache is then good for all clones).
#pragma once

#include <string>
#include <string_view>

namespace weft {

// A file or directory of this repository; `path` is relative to its root.
std::string SourcePath(std::string_view path);

// Of the optional data beside the clone (docs/HACKING.md); it may be absent.
std::string SharedDataPath(std::string_view path);

}  // namespace weft
