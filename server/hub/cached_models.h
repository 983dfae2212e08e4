// What the cache has, for those who look and those who make room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/hub/hub_cache.h"
#include "server/hub/hub_name.h"
#include "server/hub/model_choice.h"

namespace weft {

struct CachedModel {
  std::string name;    // as --model takes it
  std::string kind;    // "GGUF Q4_K_M", "safetensors"
  uint64_t bytes = 0;  // of its files
  std::string commit;
  std::string path;   // of the GGUF file or the directory
  bool fits = false;  // its weights are within the room
};

// All models of the cache that Weft can load as far as their files tell, whole ones only, sorted by
// repository.
std::vector<CachedModel> ListCachedModels(const HubCache& cache, const ModelRoom& room);

struct RemovedModel {
  uint64_t freed_bytes = 0;
  int file_count = 0;  // links and contents that are gone
};

// Removes what the name means: without a selector all revisions of the repository (with
// "@REVISION": that one), with one the file, in all of them. Contents go when nothing in the
// repository refers to them any more. Errors: kNotFound if there is nothing of it, kUnavailable if
// a process is fetching some of it.
Result<RemovedModel> RemoveModel(const HubCache& cache, const HubName& name);

}  // namespace weft
