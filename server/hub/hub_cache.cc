#include "server/hub/hub_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/regular_file.h"
#include "server/hub/hub_name.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "models--";
constexpr std::string_view kSeparator = "--";

std::string FolderOf(std::string_view repository) {
  const size_t slash = repository.find('/');
  return fmt::format("{}{}{}{}", kFolderPrefix, repository.substr(0, slash), kSeparator,
                     repository.substr(slash + 1));
}

Result<void> MakeFolders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return Fail(ErrorCode::kInternal, "{}: cannot make the folder: {}", path.string(),
              error.message());
}

// Replaces the file at once: whoever reads it meets the old text or the new one.
Result<void> WriteFile(const std::string& path, std::string_view text) {
  const std::string unfinished = fmt::format("{}.{}.tmp", path, getpid());
  unlink(unfinished.c_str());  // of a process before this one, or somebody's link to elsewhere
  const int descriptor =
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664);
  // Some hundred bytes: they are written at once or not at all.
  const bool is_written = descriptor >= 0 && write(descriptor, text.data(), text.size()) ==
                                                 static_cast<ssize_t>(text.size());
  if (descriptor >= 0 && close(descriptor) == 0 && is_written &&
      rename(unfinished.c_str(), path.c_str()) == 0) {
    return {};
  }
  const std::string reason = std::strerror(errno);
  unlink(unfinished.c_str());
  return Fail(ErrorCode::kInternal, "{}: cannot write it: {}", path, reason);
}

// What the link of a file of a snapshot holds.
std::string LinkTarget(const HubFile& file) {
  std::string target = "../../";
  for (auto depth = std::ranges::count(file.path, '/'); depth > 0; --depth) target += "../";
  return target + "blobs/" + file.blob_id;
}

}  // namespace

FileLock::FileLock(FileLock&& other) noexcept { *this = std::move(other); }

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<std::optional<FileLock>> FileLock::Try(const std::string& path) {
  // Of its group too, as huggingface_hub has it: users who share a cache wait for each other.
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
  if (descriptor < 0) {
    return Fail(ErrorCode::kInternal, "{}: cannot open the lock: {}", path, std::strerror(errno));
  }
  FileLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    // Whoever held it may have removed the file: then the next one locks another.
    struct stat status = {};
    const bool is_there = fstat(descriptor, &status) == 0 && status.st_nlink > 0;
    return is_there ? std::optional(std::move(lock)) : std::nullopt;
  }
  if (errno == EWOULDBLOCK || errno == EACCES) return std::optional<FileLock>();
  return Fail(ErrorCode::kInternal, "{}: cannot lock it: {}", path, std::strerror(errno));
}

std::string HubCache::RepositoryPath(std::string_view repository) const {
  return fmt::format("{}/{}", path_, FolderOf(repository));
}

std::string HubCache::SnapshotPath(std::string_view repository, std::string_view commit) const {
  return fmt::format("{}/snapshots/{}", RepositoryPath(repository), commit);
}

std::string HubCache::BlobPath(std::string_view repository, std::string_view blob_id) const {
  return fmt::format("{}/blobs/{}", RepositoryPath(repository), blob_id);
}

std::string HubCache::LockPath(std::string_view repository, std::string_view blob_id) const {
  return fmt::format("{}/.locks/{}/{}.lock", path_, FolderOf(repository), blob_id);
}

std::vector<std::string> HubCache::Repositories() const {
  std::vector<std::string> repositories;
  std::error_code error;
  for (fs::directory_iterator each(path_, error), end; !error && each != end;
       each.increment(error)) {
    const std::string folder = each->path().filename();
    if (!folder.starts_with(kFolderPrefix) || !each->is_directory(error)) continue;
    std::string repository = folder.substr(kFolderPrefix.size());
    const size_t separator = repository.find(kSeparator);
    if (separator == std::string::npos) continue;
    repository.replace(separator, kSeparator.size(), "/");
    if (ParseHubName(repository)) repositories.push_back(std::move(repository));
  }
  std::ranges::sort(repositories);
  return repositories;
}

std::vector<std::string> HubCache::Commits(std::string_view repository) const {
  std::vector<std::string> commits;
  std::error_code error;
  for (fs::directory_iterator each(RepositoryPath(repository) + "/snapshots", error), end;
       !error && each != end; each.increment(error)) {
    const std::string name = each->path().filename();
    if (IsCommit(name)) commits.push_back(name);
  }
  std::ranges::sort(commits);
  return commits;
}

std::optional<std::string> HubCache::CommitOf(std::string_view repository,
                                              std::string_view revision) const {
  std::string commit(revision);
  if (!IsCommit(revision)) {
    constexpr size_t kMaxBytes = 128;
    const std::string path = fmt::format("{}/refs/{}", RepositoryPath(repository), revision);
    const auto text = ReadFileIfPresent(path, kMaxBytes);
    if (!text || !*text) return std::nullopt;
    commit = Trimmed(**text, kAsciiSpace);
  }
  std::error_code error;
  const bool is_there =
      IsCommit(commit) && fs::is_directory(SnapshotPath(repository, commit), error);
  return is_there ? std::optional(commit) : std::nullopt;
}

std::vector<HubFile> HubCache::Files(std::string_view repository, std::string_view commit) const {
  std::vector<HubFile> files;
  const std::string root = SnapshotPath(repository, commit);
  std::error_code error;
  // Links to folders are not followed.
  for (fs::recursive_directory_iterator each(root, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code unreadable;
    if (each->is_directory(unreadable)) continue;
    std::string path = each->path().string().substr(root.size() + 1);
    if (!CheckHubPath(path) || !each->is_regular_file(unreadable)) continue;
    const uint64_t size = each->file_size(unreadable);
    if (!unreadable) files.push_back({.path = std::move(path), .size = size});
  }
  std::ranges::sort(files, {}, &HubFile::path);
  return files;
}

bool HubCache::Has(std::string_view repository, std::string_view commit,
                   const HubFile& file) const {
  std::error_code error;
  const fs::path link = fs::path(SnapshotPath(repository, commit)) / file.path;
  const bool is_link = fs::read_symlink(link, error) == LinkTarget(file) && !error;
  return is_link && fs::file_size(link, error) == file.size && !error;
}

Result<void> HubCache::Prepare(std::string_view repository) const {
  const fs::path folder = RepositoryPath(repository);
  for (const char* const part : {"blobs", "refs", "snapshots"}) {
    WEFT_RETURN_IF_ERROR(MakeFolders(folder / part));
  }
  WEFT_RETURN_IF_ERROR(MakeFolders(fs::path(LockPath(repository, "")).parent_path()));
  const std::string tag = path_ + "/CACHEDIR.TAG";
  std::error_code error;
  if (fs::exists(tag, error)) return {};
  // The first line is the mark: https://bford.info/cachedir/
  return WriteFile(tag,
                   "Signature: 8a477f597d28d172789f06886806bc55\n"
                   "# This is a cache directory: what is in it can be fetched again.\n");
}

Result<void> HubCache::SetCommitOf(std::string_view repository, std::string_view revision,
                                   std::string_view commit) const {
  if (revision == commit) return {};
  const std::string path = fmt::format("{}/refs/{}", RepositoryPath(repository), revision);
  constexpr size_t kMaxBytes = 128;
  const auto known = ReadFileIfPresent(path, kMaxBytes);
  if (known && *known && **known == commit) return {};
  WEFT_RETURN_IF_ERROR(MakeFolders(fs::path(path).parent_path()));
  return WriteFile(path, commit);
}

Result<void> HubCache::Link(std::string_view repository, std::string_view commit,
                            const HubFile& file) const {
  const fs::path link = fs::path(SnapshotPath(repository, commit)) / file.path;
  WEFT_RETURN_IF_ERROR(MakeFolders(link.parent_path()));
  const std::string target = LinkTarget(file);
  std::error_code error;
  if (fs::read_symlink(link, error) == target && !error) return {};
  fs::remove(link, error);
  fs::create_symlink(target, link, error);
  if (!error) return {};
  return Fail(ErrorCode::kInternal, "{}: cannot make the link: {}", link.string(), error.message());
}

Result<FileLock> HubCache::Lock(std::string_view repository, std::string_view blob_id,
                                const std::function<void()>& on_wait) const {
  constexpr std::chrono::milliseconds kPause{100};
  const std::string path = LockPath(repository, blob_id);
  for (bool is_first = true;; is_first = false) {
    WEFT_ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::Try(path));
    if (lock) return *std::move(lock);
    if (is_first) on_wait();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace weft
