// A file of a repository of the Hub. Its path comes from the network and becomes one on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct HubFile {
  std::string path;  // CheckHubPath
  uint64_t size = 0;
  // What its content is called: of LFS files the SHA-256 of it, of others git's id of the blob, in
  // hexadecimal. Empty: not known (of files in the cache).
  std::string blob_id = {};

  bool operator==(const HubFile&) const = default;
};

// An error if the path could lead out of its folder or surprise whoever sees it: "..", an absolute
// path, an empty or hidden part, a backslash, a control character, more than 512 bytes or 16 parts.
Result<void> CheckHubPath(std::string_view path);

// Whether the file, or a folder that it is in, is hidden: ".eval_results/a.json". Repositories have
// such files; Weft leaves them where they are.
bool IsHidden(std::string_view path);

// Whether Weft ever fetches a file of that name: GGUF, safetensors, JSON, tokenizers, templates.
bool IsModelFile(std::string_view path);

// "name-00002-of-00005.gguf": a part of a set.
struct SetPart {
  std::string stem;  // "name"
  int number = 0;    // from 1
  int count = 0;
};
// A file that is no part of a set is the only one of its own, with the stem that it has without its
// extension.
SetPart PartOf(std::string_view path);

}  // namespace weft
