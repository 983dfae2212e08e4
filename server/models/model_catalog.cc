#include "server/models/model_catalog.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>

#include <sys/stat.h>

#include "base/log.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "server/hub/cached_models.h"
#include "server/hub/hub_file.h"
#include "server/hub/model_choice.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 16'384;  // files and folders that are looked at
constexpr int kMaxDepth = 4;  // folders below the first: snapshots/COMMIT/FOLDER of caches

constexpr int64_t kNanoseconds = 1'000'000'000;  // of a second

int64_t ChangeOf(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return -1;
  return int64_t{status.st_mtim.tv_sec} * kNanoseconds + status.st_mtim.tv_nsec;
}

bool IsSaneName(std::string_view name) {
  return ValidUtf8Prefix(name) == name.size() &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

// Whether what the path leads to lies in the folder.
bool LiesIn(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return !error && real.string().starts_with(folder.string() + "/");
}

// Regular files of a folder, by their paths in it. With `depth` also those of the folders in it.
std::vector<HubFile> FilesOf(const fs::path& root, const fs::path& folder, int depth) {
  std::vector<HubFile> files;
  std::error_code error;
  size_t seen = 0;
  // Links to folders are not followed.
  for (fs::recursive_directory_iterator each(folder, error), end;
       !error && each != end && seen < kMaxEntries; each.increment(error), ++seen) {
    std::error_code unreadable;
    if (each.depth() >= depth) each.disable_recursion_pending();
    if (!each->is_regular_file(unreadable) || !LiesIn(root, each->path())) continue;
    std::string path = each->path().string().substr(folder.string().size() + 1);
    const uint64_t size = each->file_size(unreadable);
    if (!unreadable && IsSaneName(path)) files.push_back({.path = std::move(path), .size = size});
  }
  std::ranges::sort(files, {}, &HubFile::path);
  return files;
}

void AddFolders(const fs::path& folder, int depth,
                std::vector<std::pair<std::string, int64_t>>& stamps) {
  if (stamps.size() >= kMaxEntries) return;
  stamps.emplace_back(folder, ChangeOf(folder));
  if (depth == 0) return;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code unreadable;
    const std::string name = each->path().filename();
    if (name == "blobs" || name.starts_with('.')) continue;
    if (each->is_directory(unreadable)) AddFolders(each->path(), depth - 1, stamps);
  }
}

std::string KindOf(const ModelFiles& model) {
  if (!model.is_gguf) return "safetensors";
  return model.label.empty() ? "GGUF" : "GGUF " + model.label;
}

// Of two of one name the first stays, and an alias that several have is nobody's.
void DropAmbiguous(std::vector<DiskModel>& models) {
  std::map<std::string, int> uses;
  std::erase_if(models, [&](const DiskModel& model) {
    if (++uses[model.id] == 1) return false;
    Log(LogLevel::kWarning, "{} is left out: another model is called {}, too", model.path,
        Quoted(model.id));
    return true;
  });
  for (const DiskModel& model : models) {
    for (const std::string& alias : model.aliases) ++uses[alias];
  }
  for (DiskModel& model : models) {
    std::erase_if(model.aliases, [&](const std::string& alias) { return uses[alias] > 1; });
  }
}

}  // namespace

Result<ModelCatalog> ModelCatalog::Open(const std::string& folder, std::optional<HubCache> cache) {
  if (folder.empty()) return ModelCatalog({}, std::move(cache));
  std::error_code error;
  const fs::path canonical = fs::canonical(folder, error);
  if (error || !fs::is_directory(canonical, error)) {
    return Fail(ErrorCode::kNotFound, "--models-dir {}: {}", folder,
                error ? error.message() : "it is no directory");
  }
  return ModelCatalog(canonical, std::move(cache));
}

ModelCatalog::Stamps ModelCatalog::StampsNow() const {
  Stamps stamps;
  if (!folder_.empty()) AddFolders(folder_, 2, stamps);
  if (cache_) AddFolders(cache_->path(), kMaxDepth, stamps);
  return stamps;
}

std::optional<std::vector<DiskModel>> ModelCatalog::Scan() {
  Stamps now = StampsNow();
  if (seen_ == now) return std::nullopt;
  seen_ = std::move(now);
  std::vector<DiskModel> models;
  if (!folder_.empty()) AddOfFolder(models);
  if (cache_) AddOfCache(models);
  DropAmbiguous(models);
  for (DiskModel& model : models) model.modified = StampOfModel(model.path) / kNanoseconds;
  std::ranges::sort(models, {}, &DiskModel::id);
  return models;
}

void ModelCatalog::AddOfFolder(std::vector<DiskModel>& models) const {
  for (const ModelFiles& model : GgufModelsOf(FilesOf(folder_, folder_, 0))) {
    models.push_back({.id = PartOf(model.main_path).stem,
                      .path = folder_ + "/" + model.main_path,
                      .kind = KindOf(model),
                      .file_bytes = model.bytes()});
  }
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator each(folder_, error), end;
       !error && each != end && folders.size() < kMaxEntries; each.increment(error)) {
    std::error_code unreadable;
    const bool is_folder = each->is_directory(unreadable) && LiesIn(folder_, each->path());
    if (is_folder && IsSaneName(each->path().filename().string())) folders.push_back(each->path());
  }
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    const auto model = SafetensorsModelOf(FilesOf(folder_, folder, 1));
    if (!model) continue;
    models.push_back({.id = folder.filename(),
                      .path = folder,
                      .kind = KindOf(*model),
                      .file_bytes = model->bytes()});
  }
}

// Their names without "hf:", which is one of their aliases.
void ModelCatalog::AddOfCache(std::vector<DiskModel>& models) const {
  constexpr std::string_view kPrefix = "hf:";
  const ModelRoom any_room = {.weights = std::numeric_limits<uint64_t>::max()};
  for (const CachedModel& model : ListCachedModels(*cache_, any_room)) {
    const std::string id = model.name.substr(kPrefix.size());
    models.push_back({.id = id,
                      .aliases = {model.name, id.substr(id.find('/') + 1)},
                      .path = model.path,
                      .kind = model.kind,
                      .file_bytes = model.bytes});
  }
}

int64_t StampOfModel(const std::string& path) {
  int64_t stamp = ChangeOf(path);
  std::error_code error;
  size_t seen = 0;
  for (fs::directory_iterator each(path, error), end; !error && each != end && seen < kMaxEntries;
       each.increment(error), ++seen) {
    stamp = std::max(stamp, ChangeOf(each->path()));
  }
  return stamp;
}

}  // namespace weft
