// Which models lie on disk: in the folder of --models-dir and in the Hub's cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/hub/hub_cache.h"

namespace weft {

struct DiskModel {
  std::string id;                         // what requests call it
  std::vector<std::string> aliases = {};  // what else
  std::string path;                       // of the GGUF file, the first of a set, or the directory
  std::string kind;                       // "GGUF Q4_K_M", "safetensors"
  uint64_t file_bytes = 0;
  int64_t modified = 0;  // seconds since 1970
};

// Used by one thread at a time. What it finds are models as far as the names of files tell: nothing
// of them is opened. Names that are no UTF-8, links that lead out of the folder and what is no
// regular file are left out; of two models of one name the second.
class ModelCatalog {
 public:
  // `folder` empty, `cache` nullopt: there is none. Errors: the folder is none.
  static Result<ModelCatalog> Open(const std::string& folder, std::optional<HubCache> cache);

  // All that are there, sorted; nullopt if no folder has changed since it was asked last. A few
  // thousand files are looked at, at most.
  std::optional<std::vector<DiskModel>> Scan();

 private:
  // Folders with the times of their last changes, as StampOfModel.
  using Stamps = std::vector<std::pair<std::string, int64_t>>;

  ModelCatalog(std::string folder, std::optional<HubCache> cache)
      : folder_(std::move(folder)), cache_(std::move(cache)) {}

  Stamps StampsNow() const;
  void AddOfFolder(std::vector<DiskModel>& models) const;
  void AddOfCache(std::vector<DiskModel>& models) const;

  std::string folder_;  // canonical
  std::optional<HubCache> cache_;
  std::optional<Stamps> seen_;
};

// The time of the last change of a model's file, or of its directory's files, in nanoseconds since
// 1970; -1: there is nothing.
int64_t StampOfModel(const std::string& path);

}  // namespace weft
