// The files of the page at `/`, which are part of the binary.
#pragma once

#include <span>
#include <string_view>

namespace weft {

struct PageFile {
  std::string_view name;  // "app.js" of /page/app.js; empty: the page itself, at /
  std::string_view content_type;
  std::string_view etag;  // a digest of the text, in the quotes that the header wants
  std::string_view text;
};

std::span<const PageFile> PageFiles();

// nullptr: there is none of this name.
const PageFile* FindPageFile(std::string_view name);

}  // namespace weft
