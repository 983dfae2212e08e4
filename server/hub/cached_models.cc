#include "server/hub/cached_models.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

// The name of the blob that a file of a snapshot is a link to; empty: it is no such link.
std::string BlobOf(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  const bool is_blob = !error && target.parent_path().filename() == "blobs";
  return is_blob ? target.filename().string() : std::string();
}

Result<std::set<std::string>> BlobsInUse(const HubCache& cache, const std::string& repository) {
  std::set<std::string> blobs;
  std::error_code error;
  const fs::path snapshots = cache.RepositoryPath(repository) + "/snapshots";
  for (fs::recursive_directory_iterator each(snapshots, error), end; !error && each != end;
       each.increment(error)) {
    blobs.insert(BlobOf(each->path()));
  }
  if (!error || error == std::errc::no_such_file_or_directory) return blobs;
  return Fail(ErrorCode::kInternal, "{}: cannot see what is in use: {}", snapshots.string(),
              error.message());
}

// Removes one, and counts it. Contents that lie elsewhere (huggingface_hub may share them between
// repositories) stay there.
void RemoveFile(const fs::path& path, RemovedModel& removed) {
  std::error_code error;
  const bool is_link = fs::is_symlink(path, error);
  const uint64_t bytes = is_link ? 0 : fs::file_size(path, error);
  if (error || !fs::remove(path, error)) return;
  removed.freed_bytes += bytes;
  ++removed.file_count;
}

void RemoveEmptyFolders(fs::path folder, const fs::path& top) {
  std::error_code error;
  for (; folder != top && fs::is_empty(folder, error) && !error; folder = folder.parent_path()) {
    if (!fs::remove(folder, error)) return;
  }
}

// The locks of all blobs that are or were there, so that nobody writes one.
Result<std::vector<FileLock>> LockAll(const HubCache& cache, const HubName& name) {
  std::vector<FileLock> locks;
  std::error_code error;
  const fs::path folder = fs::path(cache.LockPath(name.repository, "")).parent_path();
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    WEFT_ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::Try(each->path()));
    if (!lock) {
      return Fail(ErrorCode::kUnavailable, "hf:{}: a process is fetching it", name.repository);
    }
    locks.push_back(*std::move(lock));
  }
  return locks;
}

// The whole repository, with its locks.
RemovedModel RemoveRepository(const HubCache& cache, const std::string& repository) {
  RemovedModel removed;
  const fs::path folder = cache.RepositoryPath(repository);
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (each->is_symlink() || !each->is_directory()) files.push_back(each->path());
  }
  for (const fs::path& file : files) RemoveFile(file, removed);
  fs::remove_all(folder, error);
  fs::remove_all(fs::path(cache.LockPath(repository, "")).parent_path(), error);
  return removed;
}

// The links of a snapshot that the name means.
std::vector<fs::path> LinksOf(const HubCache& cache, const HubName& name,
                              const std::string& commit) {
  const fs::path snapshot = cache.SnapshotPath(name.repository, commit);
  const std::vector<HubFile> files = cache.Files(name.repository, commit);
  std::vector<fs::path> links;
  if (name.selector.empty()) {
    for (const HubFile& file : files) links.push_back(snapshot / file.path);
    return links;
  }
  const auto model = ChooseModel(name, files, {.is_forced = true});
  if (!model) return links;
  for (const HubFile& file : model->files) links.push_back(snapshot / file.path);
  return links;
}

}  // namespace

std::vector<CachedModel> ListCachedModels(const HubCache& cache, const ModelRoom& room) {
  std::vector<CachedModel> models;
  for (const std::string& repository : cache.Repositories()) {
    const std::optional<std::string> newest = cache.CommitOf(repository, "main");
    for (const std::string& commit : cache.Commits(repository)) {
      const std::vector<HubFile> files = cache.Files(repository, commit);
      std::vector<ModelFiles> found = GgufModelsOf(files);
      std::erase_if(found, [](const ModelFiles& model) { return !IsLoadable(model.label); });
      const auto count_of = [&found](const std::string& label) {
        return std::ranges::count(found, label, &ModelFiles::label);
      };
      std::vector<std::string> selectors;
      for (const ModelFiles& model : found) {
        const bool is_named = !model.label.empty() && count_of(model.label) == 1;
        selectors.push_back(is_named ? model.label : model.main_path);
      }
      if (std::optional<ModelFiles> directory = SafetensorsModelOf(files)) {
        found.push_back(*std::move(directory));
        selectors.emplace_back();
      }
      for (size_t i = 0; i < found.size(); ++i) {
        const ModelFiles& model = found[i];
        const HubName name = {.repository = repository,
                              .selector = selectors[i],
                              .revision = commit == newest ? "main" : commit};
        const std::string snapshot = cache.SnapshotPath(repository, commit);
        const std::string label = model.label.empty() ? "" : " " + model.label;
        models.push_back({.name = ToString(name),
                          .kind = model.is_gguf ? "GGUF" + label : "safetensors",
                          .bytes = model.bytes(),
                          .commit = commit,
                          .path = model.is_gguf ? snapshot + "/" + model.main_path : snapshot,
                          .fits = model.bytes() <= room.weights});
      }
    }
  }
  return models;
}

Result<RemovedModel> RemoveModel(const HubCache& cache, const HubName& name) {
  const fs::path folder = cache.RepositoryPath(name.repository);
  std::error_code error;
  const bool is_whole = name.selector.empty() && name.revision == "main";
  if (!fs::is_directory(folder, error)) {
    return Fail(ErrorCode::kNotFound, "hf:{}: the cache has nothing of it, at {}", name.repository,
                cache.path());
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<FileLock> locks, LockAll(cache, name));
  if (is_whole) return RemoveRepository(cache, name.repository);

  std::vector<std::string> commits = cache.Commits(name.repository);
  if (name.revision != "main") {
    const std::optional<std::string> commit = cache.CommitOf(name.repository, name.revision);
    commits.clear();
    if (commit) commits.push_back(*commit);
  }
  std::vector<fs::path> links;
  for (const std::string& commit : commits) {
    std::ranges::move(LinksOf(cache, name, commit), std::back_inserter(links));
  }
  if (links.empty()) {
    return Fail(ErrorCode::kNotFound, "{}: the cache has nothing of it, at {}", ToString(name),
                folder.string());
  }
  RemovedModel removed;
  std::set<std::string> blobs;
  for (const fs::path& link : links) {
    blobs.insert(BlobOf(link));
    RemoveFile(link, removed);
    RemoveEmptyFolders(link.parent_path(), folder / "snapshots");
  }
  WEFT_ASSIGN_OR_RETURN(const std::set<std::string> in_use, BlobsInUse(cache, name.repository));
  for (const std::string& blob : blobs) {
    if (blob.empty() || in_use.contains(blob)) continue;
    RemoveFile(cache.BlobPath(name.repository, blob), removed);
  }
  if (cache.Commits(name.repository).empty()) {
    const RemovedModel rest = RemoveRepository(cache, name.repository);
    removed.freed_bytes += rest.freed_bytes;
    removed.file_count += rest.file_count;
  }
  return removed;
}

}  // namespace weft
