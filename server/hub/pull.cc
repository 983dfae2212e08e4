#include "server/hub/pull.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <fmt/core.h>
#include <sys/statvfs.h>

#include "base/format_bytes.h"
#include "server/hub/blob_download.h"
#include "server/hub/download_progress.h"
#include "server/hub/hub_cache.h"
#include "server/hub/hub_client.h"

namespace weft {
namespace {

std::string PathOf(const HubCache& cache, const HubName& name, const std::string& commit,
                   const ModelFiles& model) {
  const std::string snapshot = cache.SnapshotPath(name.repository, commit);
  return model.is_gguf ? snapshot + "/" + model.main_path : snapshot;
}

// What of the cache the name means.
Result<std::string> FindInCache(const HubCache& cache, const HubName& name, const ModelRoom& room) {
  const std::optional<std::string> commit = cache.CommitOf(name.repository, name.revision);
  if (!commit) {
    return Fail(ErrorCode::kNotFound, "{}: the cache has no revision {} of it, at {}",
                ToString(name), name.revision, cache.RepositoryPath(name.repository));
  }
  const std::vector<HubFile> files = cache.Files(name.repository, *commit);
  WEFT_ASSIGN_OR_RETURN(const ModelFiles model, ChooseModel(name, files, room));
  return PathOf(cache, name, *commit, model);
}

Result<void> CheckDisk(const HubCache& cache, const HubName& name, std::span<const HubFile> files) {
  uint64_t missing = 0;
  for (const HubFile& file : files) missing += MissingBytes(cache, name.repository, file);
  struct statvfs disk = {};
  if (statvfs(cache.path().c_str(), &disk) != 0) {
    return Fail(ErrorCode::kInternal, "{}: cannot see how much room there is: {}", cache.path(),
                std::strerror(errno));
  }
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (missing <= free_bytes) return {};
  return Fail(ErrorCode::kResourceExhausted, "{}: {} are to come, and {} has {} free",
              ToString(name), FormatBytes(missing), cache.path(), FormatBytes(free_bytes));
}

Result<void> FetchFiles(HubClient& client, const HubCache& cache, const HubName& name,
                        const std::string& commit, std::span<const HubFile> files,
                        const PullOptions& options) {
  WEFT_RETURN_IF_ERROR(cache.Prepare(name.repository));
  WEFT_RETURN_IF_ERROR(CheckDisk(cache, name, files));
  uint64_t bytes = 0;
  for (const HubFile& file : files) bytes += file.size;
  DownloadProgress progress(bytes, options.has_bar, options.say);
  const auto say = [&](const std::string& line) {
    progress.End();
    options.say(line);
  };
  for (const HubFile& file : files) {
    const Result<void> fetched = FetchFile(client, cache, name, commit, file, progress, say);
    if (!fetched) progress.End();
    WEFT_RETURN_IF_ERROR(fetched);
  }
  progress.End();
  return {};
}

Result<std::string> Fetch(HubClient& client, const HubCache& cache, const HubName& name,
                          const std::string& commit, const PullOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<HubFile> files, client.ListFiles(name, commit));
  WEFT_ASSIGN_OR_RETURN(const ModelFiles model, ChooseModel(name, files, options.room));
  if (!model.reason.empty()) options.say(model.reason);
  std::vector<HubFile> missing = model.files;
  std::erase_if(missing,
                [&](const HubFile& file) { return cache.Has(name.repository, commit, file); });
  // The weights last: without them it is no model, in whatever an interrupted pull leaves.
  std::ranges::stable_sort(missing, {}, [](const HubFile& file) {
    return file.path.ends_with(".safetensors") || file.path.ends_with(".gguf");
  });
  if (!missing.empty()) {
    WEFT_RETURN_IF_ERROR(FetchFiles(client, cache, name, commit, missing, options));
  }
  // Last: offline the revision is then one that is all there. A cache that has all of it may be one
  // that nobody can write.
  const Result<void> noted = cache.SetCommitOf(name.repository, name.revision, commit);
  if (!missing.empty()) WEFT_RETURN_IF_ERROR(noted);
  return PathOf(cache, name, commit, model);
}

}  // namespace

Result<std::string> PullModel(const HubName& name, const PullOptions& options) {
  const HubCache cache(options.settings.cache_path);
  Result<std::string> cached = FindInCache(cache, name, options.room);
  if (options.settings.is_offline) {
    if (cached) return cached;
    return Fail(cached.error().code, "{}; HF_HUB_OFFLINE forbids to ask the Hub",
                cached.error().message);
  }
  // Nothing changes what a commit is. Without a selector there may be more to choose from than what
  // the cache has.
  const bool is_fixed = IsCommit(name.revision) && !name.selector.empty();
  if (cached && is_fixed) return cached;
  HubClient client(options.settings, options.user_agent, options.say);
  const HubPatience patience = cached ? HubPatience{.attempts = 1} : HubPatience();
  const Result<std::string> commit = IsCommit(name.revision) ? Result<std::string>(name.revision)
                                                             : client.CommitOf(name, patience);
  Result<std::string> path = commit ? Fetch(client, cache, name, *commit, options) : commit;
  if (path || !cached || path.error().code != ErrorCode::kUnavailable) return path;
  options.say(fmt::format("{}; using what the cache has", path.error().message));
  return cached;
}

}  // namespace weft
